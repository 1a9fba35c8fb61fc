// The functions of a file and how they reach one another: one linear pass over each function.
//
// A function starts at an FDE, a FUNC or IFUNC symbol, a global NOTYPE symbol in text (assembler), an initialiser, an IFUNC
// resolver, or a relocated code pointer outside every known range. Calls, jumps and address-taking into what then is still
// a gap start further ones, until none is left. (How data is told from code: sweep.h.) A function ends at the next start and at
// the end of its FDE or symbol. One that has neither ends at the first return or jump past its furthest forward branch: a
// linear sweep from there would run into the next function, or into data (NASM code without FDE in libdav1d).
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "decode.h"
#include "image.h"
#include "isa-audit/base/parallel.h"

namespace isa_audit::host {

// The instruction classes that occur in a function: one bit for each index.
class ClassSet {
public:
  void insert(uint16_t klass) { words_[klass >> 6] |= uint64_t{1} << (klass & 63); }
  bool contains(uint16_t klass) const { return words_[klass >> 6] >> (klass & 63) & 1; }
  // Calls visit(index) for each class that is in both sets.
  template <typename Visit> void for_each_in(const ClassSet &o, Visit visit) const {
    for (size_t i = 0; i < words_.size(); ++i)
      for (uint64_t word = words_[i] & o.words_[i]; word; word &= word - 1)
        visit(static_cast<uint16_t>(i * 64 + static_cast<size_t>(std::countr_zero(word))));
  }
  ClassSet &operator|=(const ClassSet &o) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= o.words_[i];
    return *this;
  }
  bool operator==(const ClassSet &) const = default;

private:
  std::array<uint64_t, kMaxClasses / 64> words_{};
};

// Features without which one of the classes is an invalid opcode, and those without which one runs as something else. Only
// what x86-64-v1 lacks.
IsaSet faulting(const ClassSet &classes);
IsaSet silent(const ClassSet &classes);

enum class EdgeKind : uint8_t {
  call,    // call, direct or through a relocated slot
  jump,    // jump out of the function: tail call, shared tail, cold part
  address, // the address of a function is taken
};

struct Edge {
  uint64_t target = 0; // address; with `external`, an index of the dynamic symbols
  uint32_t site = 0;   // offset of the instruction in its function
  EdgeKind kind = EdgeKind::call;
  bool conditional = false; // a conditional jump
  bool external = false;
  bool guarded = false; // behind a check of the CPU: set by the analysis of guards
};

struct Function {
  uint64_t start = 0, end = 0;
  uint32_t first_edge = 0, edge_count = 0;
  uint32_t decoded = 0;  // bytes of valid instructions
  bool detects = false;  // executes CPUID, XGETBV or RDSSP
  bool open = false;     // end found by decoding
  bool has_data = false; // some of its bytes are no code
  bool referred = false; // nothing calls it or says that it is a function: only its address is known
  bool returns = false;  // has a return, or a jump out
  bool indirect = false; // calls or jumps through a register or memory that is no relocated slot
  ClassSet classes;
};

// A function's instruction refers to an address in writable memory.
struct Reference {
  uint64_t address = 0;
  uint32_t function = 0;
};

inline constexpr uint32_t kNoFunction = UINT32_MAX;

class Program {
public:
  // `watched`: addresses of data that is only read, to which references are of interest; sorted.
  Program(const Image &image, const ParallelFor &parallel, std::vector<uint64_t> watched = {});

  const Image &image() const { return *image_; }
  const std::vector<Function> &functions() const { return functions_; } // sorted by start
  std::span<const Edge> edges() const { return edges_; }
  std::span<const Edge> edges(const Function &f) const { return {edges_.data() + f.first_edge, f.edge_count}; }
  std::span<Edge> edges(const Function &f) { return {edges_.data() + f.first_edge, f.edge_count}; }
  // The function that holds `address`.
  uint32_t function_at(uint64_t address) const;
  // True if `address` needs no function of its own: it is the start of one, or within one of known size. For the sweep.
  bool is_inside(uint64_t address) const;
  std::span<const uint8_t> bytes(const Function &f) const;
  // `at`, an offset in `f`, or the end of the data that is there. Whoever decodes a function anew asks before each instruction.
  uint32_t skip_data(const Function &f, uint32_t at) const { return f.has_data ? end_of_data(f, at) : at; }
  const std::vector<uint64_t> &watched() const { return watched_; }
  // References from code to writable memory and watched data, and to what relocated slots point at there; by address.
  std::span<const Reference> references(uint64_t address, uint64_t size) const;

  // What a call or jump to `target` reaches, through PLT stubs: an address of the file, or an external symbol.
  struct Callee {
    uint64_t target = 0;
    bool external = false;
    bool known = false;
  };
  Callee resolve(uint64_t target) const;
  // The same for a pointer in memory that the loader fills.
  Callee resolve_slot(uint64_t slot) const;

private:
  void find_starts();
  void make_functions();
  void fill_gaps(std::vector<uint64_t> called, std::vector<uint64_t> taken);
  void end_at_data(size_t first);
  void sweep(size_t first, const ParallelFor &parallel, std::vector<uint64_t> &called, std::vector<uint64_t> &taken);
  void keep_gaps(std::vector<uint64_t> &addresses) const;
  void index_functions();
  uint32_t candidate_at(uint64_t address) const;
  uint32_t end_of_data(const Function &f, uint32_t at) const;
  void index_references();

  struct Start {
    uint64_t start, end; // end 0: unknown
  };

  const Image *image_;
  std::vector<Start> starts_;
  std::vector<Extent> data_;  // OBJECT symbols in text
  std::vector<Extent> holes_; // data within functions
  std::vector<Function> functions_;
  size_t indexed_ = 0; // functions that index_ knows of
  std::vector<Edge> edges_;
  std::vector<std::pair<uint64_t, uint64_t>> found_; // references, until functions have their final numbers
  std::vector<Reference> references_;
  std::vector<uint64_t> watched_;
  // For each block of code, the last function that starts at or before its beginning.
  struct Index {
    uint64_t start, end;
    std::vector<uint32_t> first;
  };
  std::vector<Index> index_;
  struct Stubs {
    uint64_t start, end;
    std::vector<Callee> callees; // by 8 bytes
  };
  std::vector<Stubs> stubs_;
};

// Calls visit(offset, class) for each instruction of `f` that is more than x86-64-v1.
template <typename F> void for_each_use(const Program &program, const Function &f, F visit) {
  const std::span<const uint8_t> code = program.bytes(f);
  for (uint32_t at = 0; (at = program.skip_data(f, at)) < code.size();) {
    Insn insn;
    if (!decode(code.subspan(at), insn)) {
      ++at;
      continue;
    }
    if (insn.klass) visit(at, insn_class(insn.klass));
    at += insn.length;
  }
}

} // namespace isa_audit::host
