// Which code runs only after a question about the CPU was answered with yes.
//
// Starts from the functions that execute CPUID, XGETBV or RDSSP or use a detector of libc or libgcc, follows what they learn
// through registers, stack objects, globals, results and parameters (values.h, interpret.h), and marks the edges that lie
// behind a branch on it. Works across files: a detector may be in another library of the set.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

#include "graph.h"
#include "interpret.h"

namespace isa_audit::host {

class Guards : private World {
public:
  explicit Guards(Graph &graph);

  // Finds all guards.
  void run();
  // Interprets more functions (those of an import path), to learn what their calls through registers reach. Only the callers
  // among functions that were announced by `follow` are looked at again when a callee turns out to call what it is given.
  void follow(Node node) { followed_[node] = true; }
  void explore(const std::vector<Node> &nodes);
  // True if the function was looked at, or has nothing that could be learnt from it.
  bool is_explored(Node node) const;
  // True if the function calls pointers that it is given.
  bool calls_arguments(Node node) const;

  // Calls through registers with known targets, as explored.
  struct Indirect {
    uint32_t site = 0;
    Node target = kNoNode;
    auto operator<=>(const Indirect &) const = default;
  };
  const std::vector<Indirect> &indirect(Node node) const;
  // What of a function is outside of guarded blocks.
  const ClassSet &unguarded_classes(Node node) const;
  // True if the edge, or an instruction at this offset, lies behind a check.
  bool is_guarded(Node node, uint32_t site) const;
  bool has_guards(Node node) const { return guarding_[node]; }
  // The features that the checks on every path to a block of the function prove; none if not known.
  std::optional<IsaSet> tested(Node node, uint32_t block) const;
  // The branch that protects it, as an address in the function's file; 0 if none is known.
  uint64_t guard_of(Node node) const;
  // The control flow of a function: of one with checks it is kept, of another made anew.
  std::shared_ptr<const Cfg> cfg(Node node) const;
  // How often a function of the file was left out because too many had been looked at.
  size_t skipped(size_t file) const { return skipped_[file]; }
  bool never_returns(size_t file, const Edge &edge) const;

private:
  struct Info {
    std::shared_ptr<const Cfg> cfg;
    Summary summary, known;
    std::vector<Indirect> indirect;
    std::vector<bool> guarded;                 // blocks
    std::vector<std::optional<IsaSet>> tested; // blocks: as in Outcome
    std::vector<Outcome::Branch> branches;
    std::vector<uint32_t> tainted_addresses;
    ClassSet unguarded;
    bool has_guards = false, queued = false, visited = false;
    bool asked = false; // for what it reads through its arguments
    int visits = 0;
  };

  void seed();
  void enqueue(Node node);
  void drain();
  void process(Node node);
  void release();
  void mark(Node node);
  std::span<const Node> callers(Node node) const;
  void learn(Node callee, const Call &call);
  void look_into(Node callee, const Call &call);
  static Value read_through(const Value &pointer, bool bits);

  Value load_global(uint64_t address, bool indexed) override;
  void store_global(uint64_t address, const Value &value, uint8_t size) override;
  bool is_detector_object(uint32_t symbol) override;
  Summary call(const Call &call) override;

  Graph &graph_;
  std::unordered_map<Node, Info> info_;
  std::deque<Node> todo_;
  std::vector<Node> processed_;                           // since the last release()
  std::vector<bool> followed_, guarding_, with_indirect_; // functions: the last for indirect() alone
  struct Global {
    Value value;
    uint8_t size = 0; // bytes
  };
  std::vector<std::map<uint64_t, Global>> globals_; // of each file
  std::vector<size_t> skipped_;                     // of each file
  std::vector<uint32_t> caller_start_;
  std::vector<Node> callers_;
  Node current_ = kNoNode;
  size_t file_ = 0;
};

} // namespace isa_audit::host
