// The pass over the instructions of functions: what leads out of them, which classes of instructions occur.
//
// Two functions are decoded at a time, in turns: where one instruction ends is known only after it has been looked at, and
// while the processor waits for that in one function it works on the other. What is found worth a look is put down and
// looked at afterwards, function by function. Functions without a known end, and those whose bytes are not all
// instructions, are decoded alone.
//
// Data in code: no compiler emits bytes that are no instruction, so what lies between the last place where control cannot go
// on and such bytes is data, unless a branch leads into it. A place of which only the address is known (it may be a table)
// counts as code if it reads as code to its end.
#pragma once

#include <memory>

#include "classify.h"
#include "program.h"

namespace isa_audit::host {

class Sweeper {
public:
  // What the pass found. Addresses in no function: such as are called or jumped to, and such as are only referred to.
  struct Found {
    std::vector<Edge> edges;
    std::vector<uint64_t> called, taken;
    std::vector<std::pair<uint64_t, uint64_t>> references; // address, start of the function
    std::vector<Extent> data;                              // within functions
  };

  Sweeper(const Program &program, Found &found) : program_(program), image_(program.image()), found_(found) {}

  // Sweeps those of `functions` that `todo` names, in that order; first_edge counts from the start of found.edges.
  void run(std::span<Function> functions, std::span<const uint32_t> todo);

private:
  struct Mark { // an instruction that is worth a look
    const uint8_t *at;
    Step step;
  };
  struct Lane;
  enum class Tail : uint8_t { open, called, ended }; // how the last instruction goes on

  struct State { // what has been found up to an address
    uint64_t address;
    size_t edges, called, taken, references;
    uint32_t decoded;
    ClassSet classes;
    bool detects, returns, indirect;
  };

  static void decode_in_turns(Lane &a, Lane &b);
  void begin(Function &f);
  State state(uint64_t address) const;
  void go_back(const State &to);
  void replay(Function &f, std::span<const Mark> marks);
  void decode_alone(Function &f);
  void skip_data(uint64_t &address, uint64_t limit);
  bool is_plausible(const Step &step, const uint8_t *at, uint64_t address) const;
  void finish();

  void look(const Step &step, const uint8_t *at, uint64_t address);
  void look_at_scan(const Step &step, const uint8_t *at, uint64_t address);
  void branch(uint64_t target, uint64_t address, EdgeKind kind, bool conditional);
  void slot(uint64_t slot, uint64_t address, EdgeKind kind);
  void take(uint64_t target, uint64_t address);
  void refer(uint64_t target);
  void add(const Program::Callee &callee, uint64_t address, EdgeKind kind, bool conditional);

  const Program &program_;
  const Image &image_;
  Found &found_;

  Function *f_ = nullptr;
  const CodeRange *range_ = nullptr;
  Tail tail_ = Tail::open;
  // Of a function that is decoded alone.
  bool alone_ = false;
  std::vector<uint64_t> ahead_; // a heap: targets of branches within the function, the nearest first
  uint64_t furthest_ = 0, entered_ = 0;
};

} // namespace isa_audit::host
