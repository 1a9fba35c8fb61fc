// The control flow within one function: basic blocks, the blocks that every run to a return passes, and the blocks that only
// a run across given edges reaches.
//
// Jump tables of the usual form (table address by lea, entries of 32 bits relative to it) are read; the blocks of those that
// are not hang below the indirect jump. What is still unreached is a landing pad: an entry of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "program.h"

namespace isa_audit::host {

struct Block {
  uint32_t first = 0, last = 0; // instructions [first, last)
  uint32_t taken = UINT32_MAX;  // block after a taken branch, of a jump within the function
  uint32_t next = UINT32_MAX;   // block that it falls into
  std::vector<uint32_t> table;  // targets of an indirect jump
  bool returns = false;         // ends in a return or leaves by a jump
  bool conditional = false;     // ends in a conditional jump; `taken` may be outside
  bool indirect = false;        // ends in an indirect jump
};

inline constexpr uint32_t kNoBlock = UINT32_MAX;

class Cfg {
public:
  // `never_returns(edge)` tells of a call whether it is known not to come back.
  template <typename NeverReturns>
  Cfg(const Program &program, const Function &f, NeverReturns never_returns) : program_(&program), f_(&f) {
    decode_all();
    std::vector<bool> stops(insns_.size());
    for (const Edge &e : program.edges(f))
      if (e.kind == EdgeKind::call && never_returns(e)) stops[index_of(e.site)] = true;
    build(stops);
  }

  struct At {
    uint32_t offset;
    Insn insn;
  };
  const std::vector<At> &insns() const { return insns_; }
  const std::vector<Block> &blocks() const { return blocks_; }
  // Blocks where control enters: the first, then landing pads.
  const std::vector<uint32_t> &entries() const { return entries_; }
  const uint8_t *code() const { return code_.data(); }
  uint32_t block_of(uint32_t offset) const;
  // The instruction at `offset`.
  uint32_t index_of(uint32_t offset) const;

  // Calls visit(successor, is_taken) for each block that follows `block`.
  template <typename Visit> void successors(uint32_t block, Visit visit) const {
    const Block &b = blocks_[block];
    if (b.next != kNoBlock) visit(b.next, false);
    if (b.taken != kNoBlock) visit(b.taken, true);
    for (const uint32_t t : b.table) visit(t, true);
  }

  // Blocks that lie on every path from the entry to a return.
  std::vector<bool> unavoidable() const;
  // Blocks that some runs leave out, as bits: the way to the next block, the way of the taken jump, the block itself.
  enum Cut : uint8_t { kNext = 1, kTaken = 2, kBlock = 4 };
  using Cuts = std::vector<uint8_t>; // by block
  // Blocks from which some return can be reached.
  std::vector<bool> returning(const Cuts &cuts = {}) const;
  // Blocks on some path from the entry to a return that stays off `cuts`.
  std::vector<bool> normal(const Cuts &cuts) const;

private:
  void decode_all();
  void build(const std::vector<bool> &stops);
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> read_tables() const;
  uint64_t checked_size(uint32_t jump) const;
  uint64_t referred(const At &a) const;

  const Program *program_;
  const Function *f_;
  std::span<const uint8_t> code_;
  std::vector<At> insns_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> entries_;
  std::vector<uint32_t> block_start_; // offset of each block
};

} // namespace isa_audit::host
