#include "cfg.h"

#include <algorithm>

namespace isa_audit::host {

namespace {

constexpr uint64_t kMaxTable = 4096;
// Instructions before an indirect jump in which the address of its table, and its range check, are looked for.
constexpr uint32_t kLeaReach = 12, kCheckReach = 12;

enum class Flow : uint8_t { next, jump, branch, stop, indirect, ret };

Flow flow_of(const Insn &i) {
  if (i.map == Map::one) {
    switch (i.opcode) {
    case 0xe9:
    case 0xeb: return Flow::jump;
    case 0xc3:
    case 0xc2:
    case 0xcb:
    case 0xcf: return Flow::ret;
    case 0xcc:
    case 0xf4: return Flow::stop;
    case 0xff: return i.reg() == 4 ? Flow::indirect : Flow::next;
    default: return (i.opcode & 0xf0) == 0x70 || (i.opcode & 0xfc) == 0xe0 ? Flow::branch : Flow::next;
    }
  }
  if (i.map == Map::x0f) {
    if ((i.opcode & 0xf0) == 0x80) return Flow::branch;
    if (i.opcode == 0x0b) return Flow::stop;
  }
  return Flow::next;
}

bool is_nop(const Insn &i) {
  return (i.map == Map::one && i.opcode == 0x90 && !(i.rex & 1)) || (i.map == Map::x0f && i.opcode == 0x1f);
}

bool is_lea(const Insn &i) { return i.map == Map::one && i.opcode == 0x8d && i.rip_relative(); }

} // namespace

void Cfg::decode_all() {
  code_ = program_->bytes(*f_);
  insns_.reserve(code_.size() / 4 + 1);
  for (uint32_t at = 0; (at = program_->skip_data(*f_, at)) < code_.size();) {
    At entry{at, {}};
    if (!decode(code_.subspan(at), entry.insn)) {
      ++at;
      continue;
    }
    insns_.push_back(entry);
    at += entry.insn.length;
  }
}

uint32_t Cfg::index_of(uint32_t offset) const {
  const auto it = std::ranges::lower_bound(insns_, offset, {}, &At::offset);
  return it == insns_.end() ? static_cast<uint32_t>(insns_.empty() ? 0 : insns_.size() - 1)
                            : static_cast<uint32_t>(it - insns_.begin());
}

uint32_t Cfg::block_of(uint32_t offset) const {
  const auto it = std::ranges::upper_bound(block_start_, offset);
  return it == block_start_.begin() ? kNoBlock : static_cast<uint32_t>(it - block_start_.begin()) - 1;
}

// How many entries the jump table of instruction `jump` has at most, by the range check before it: CMP with a number, then JA
// or JAE.
uint64_t Cfg::checked_size(uint32_t jump) const {
  for (uint32_t steps = 1; steps < kCheckReach && steps < jump; ++steps) {
    const At &branch = insns_[jump - steps], &compare = insns_[jump - steps - 1];
    const Flow flow = flow_of(branch.insn);
    if (flow == Flow::ret || flow == Flow::indirect || flow == Flow::jump) break;
    if (flow != Flow::branch) continue;
    const uint8_t condition = branch.insn.opcode & 15;
    const Insn &c = compare.insn;
    const bool with_number =
        c.map == Map::one &&
        (((c.opcode == 0x83 || c.opcode == 0x81 || c.opcode == 0x80) && c.reg() == 7) || c.opcode == 0x3c || c.opcode == 0x3d);
    if (!with_number || (condition != 7 && condition != 3)) continue;
    const int64_t number = immediate(code_.data() + compare.offset, c);
    if (number < 0) continue;
    return static_cast<uint64_t>(number) + (condition == 7 ? 1 : 0);
  }
  return kMaxTable;
}

// Tables of 32-bit distances from the table itself, whose address is near the jump. One ends where its range check says, where
// the next one starts, and where an entry leads out of the function.
std::vector<std::pair<uint32_t, std::vector<uint32_t>>> Cfg::read_tables() const {
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> tables;
  std::vector<uint64_t> addresses; // that the function takes
  for (uint32_t i = 0; i < insns_.size(); ++i) {
    const Insn &jump = insns_[i].insn;
    if (flow_of(jump) != Flow::indirect || jump.rip_relative()) continue;
    if (addresses.empty()) {
      for (const At &a : insns_)
        if (is_lea(a.insn)) addresses.push_back(referred(a));
      std::ranges::sort(addresses);
    }
    uint64_t table = 0;
    for (uint32_t steps = 1; steps <= i && steps < kLeaReach && !table; ++steps)
      if (is_lea(insns_[i - steps].insn)) table = referred(insns_[i - steps]);
    if (!table) continue;
    uint64_t count = checked_size(i);
    if (const auto next = std::ranges::upper_bound(addresses, table); next != addresses.end())
      count = std::min(count, (*next - table + 3) / 4);
    std::vector<uint32_t> targets;
    for (uint64_t k = 0; k < std::min(count, kMaxTable); ++k) {
      const uint8_t *entry = program_->image().bytes_at(table + 4 * k, 4);
      if (!entry) break;
      const uint64_t target = table + static_cast<uint64_t>(static_cast<int64_t>(read_le<int32_t>(entry))) - f_->start;
      if (target >= code_.size()) break;
      targets.push_back(static_cast<uint32_t>(target));
    }
    std::ranges::sort(targets);
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    if (!targets.empty()) tables.emplace_back(i, std::move(targets));
  }
  return tables;
}

uint64_t Cfg::referred(const At &a) const {
  return f_->start + a.offset + a.insn.length + static_cast<uint64_t>(displacement(code_.data() + a.offset, a.insn));
}

void Cfg::build(const std::vector<bool> &stops) {
  if (insns_.empty()) return;
  const auto size = static_cast<uint64_t>(code_.size());
  const auto target_of = [&](const At &a) {
    return static_cast<uint64_t>(a.offset) + a.insn.length + static_cast<uint64_t>(immediate(code_.data() + a.offset, a.insn));
  };
  std::vector<uint32_t> leaders{insns_[0].offset};
  for (size_t i = 0; i < insns_.size(); ++i) {
    const Flow flow = flow_of(insns_[i].insn);
    if (flow == Flow::next && !stops[i]) continue;
    if ((flow == Flow::jump || flow == Flow::branch) && target_of(insns_[i]) < size)
      leaders.push_back(static_cast<uint32_t>(target_of(insns_[i])));
    if (i + 1 < insns_.size()) leaders.push_back(insns_[i + 1].offset);
  }
  // Targets of jump tables are leaders too: read them before the blocks are cut.
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> tables = read_tables(); // by instruction
  for (const auto &[insn, targets] : tables) leaders.insert(leaders.end(), targets.begin(), targets.end());
  std::ranges::sort(leaders);
  leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());

  for (const uint32_t offset : leaders) {
    const uint32_t first = index_of(offset);
    if (insns_[first].offset != offset) continue; // a target in the middle of an instruction: data, or an overlapping trick
    if (!blocks_.empty()) blocks_.back().last = first;
    Block b;
    b.first = first;
    blocks_.push_back(b);
    block_start_.push_back(offset);
  }
  blocks_.back().last = static_cast<uint32_t>(insns_.size());

  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    Block &block = blocks_[b];
    const uint32_t end = block.last - 1;
    const Flow flow = flow_of(insns_[end].insn);
    const uint32_t following = b + 1 < blocks_.size() ? b + 1 : kNoBlock;
    switch (flow) {
    case Flow::jump:
    case Flow::branch: {
      const uint64_t target = target_of(insns_[end]);
      const uint32_t to = target < size ? block_of(static_cast<uint32_t>(target)) : kNoBlock;
      if (to != kNoBlock && block_start_[to] == target)
        block.taken = to;
      else if (flow == Flow::jump)
        block.returns = true;
      block.conditional = flow == Flow::branch;
      if (block.conditional) block.next = following;
      break;
    }
    case Flow::ret: block.returns = true; break;
    case Flow::stop: break;
    case Flow::indirect: block.indirect = true; break;
    case Flow::next:
      if (!stops[end]) {
        block.next = following;
        block.returns = following == kNoBlock; // runs into the next function
      }
      break;
    }
  }
  for (const auto &[insn, targets] : tables) {
    Block &block = blocks_[block_of(insns_[insn].offset)];
    for (const uint32_t t : targets)
      if (const uint32_t to = block_of(t); to != kNoBlock && block_start_[to] == t) block.table.push_back(to);
  }

  // What nothing leads to: cases of a table that could not be read, or landing pads.
  std::vector<bool> seen(blocks_.size());
  std::vector<uint32_t> todo;
  const auto reach = [&](uint32_t from) {
    if (!seen[from]) todo.push_back(from);
    seen[from] = true;
    while (!todo.empty()) {
      const uint32_t b = todo.back();
      todo.pop_back();
      successors(b, [&](uint32_t s, bool) {
        if (!seen[s]) todo.push_back(s);
        seen[s] = true;
      });
    }
  };
  entries_.push_back(0);
  reach(0);
  // Nor does anything lead to the padding before an aligned target of a jump, which would seem to run into it.
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    const Block &block = blocks_[b];
    const auto first = insns_.begin() + block.first, last = insns_.begin() + block.last;
    if (!seen[b] && std::all_of(first, last, [](const At &a) { return is_nop(a.insn); })) seen[b] = true;
  }
  uint32_t jump = kNoBlock;
  for (uint32_t b = 0; b < blocks_.size(); ++b)
    if (blocks_[b].indirect && blocks_[b].table.empty() && seen[b] && jump == kNoBlock) jump = b;
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    if (seen[b]) continue;
    if (jump != kNoBlock)
      blocks_[jump].table.push_back(b);
    else
      entries_.push_back(b);
    reach(b);
  }
  for (Block &b : blocks_)
    if (b.indirect && b.table.empty()) b.returns = true; // a tail call through a register
}

std::vector<bool> Cfg::normal(const Cuts &cuts) const {
  const std::vector<bool> live = returning(cuts);
  std::vector<bool> seen(blocks_.size());
  std::vector<uint32_t> todo;
  if (!blocks_.empty() && live[0]) {
    seen[0] = true;
    todo.push_back(0);
  }
  while (!todo.empty()) {
    const uint32_t b = todo.back();
    todo.pop_back();
    successors(b, [&](uint32_t s, bool taken) {
      if (seen[s] || !live[s] || (!cuts.empty() && cuts[b] & (taken ? kTaken : kNext))) return;
      seen[s] = true;
      todo.push_back(s);
    });
  }
  return seen;
}

std::vector<bool> Cfg::returning(const Cuts &cuts) const {
  // Predecessors: those of block b are before[first[b]] to before[first[b + 1]].
  std::vector<uint32_t> first(blocks_.size() + 2), before, todo;
  std::vector<bool> seen(blocks_.size());
  const auto is_cut = [&](uint32_t b, int what) { return !cuts.empty() && (cuts[b] & what); };
  const auto for_each_edge = [&](auto visit) {
    for (uint32_t b = 0; b < blocks_.size(); ++b)
      if (!is_cut(b, kBlock))
        successors(b, [&](uint32_t s, bool taken) {
          if (!is_cut(b, taken ? kTaken : kNext)) visit(b, s);
        });
  };
  for_each_edge([&](uint32_t, uint32_t s) { ++first[s + 2]; });
  for (size_t i = 2; i < first.size(); ++i) first[i] += first[i - 1];
  before.resize(first.back());
  for_each_edge([&](uint32_t b, uint32_t s) { before[first[s + 1]++] = b; });
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    if (is_cut(b, kBlock)) continue;
    const bool leaves = blocks_[b].returns || (blocks_[b].conditional && blocks_[b].taken == kNoBlock && !is_cut(b, kTaken));
    if (!leaves) continue;
    seen[b] = true;
    todo.push_back(b);
  }
  while (!todo.empty()) {
    const uint32_t b = todo.back();
    todo.pop_back();
    for (uint32_t i = first[b]; i < first[b + 1]; ++i) {
      const uint32_t p = before[i];
      if (seen[p]) continue;
      seen[p] = true;
      todo.push_back(p);
    }
  }
  return seen;
}

// The post-dominators of the entry, as an intersection over paths: walking from the entry, a block is unavoidable when, with
// it taken away, no return can be reached. One pass: blocks in depth-first order from the entry along returning blocks;
// the candidates are the blocks of one shortest path to a return, each of which is tried.
std::vector<bool> Cfg::unavoidable() const {
  std::vector<bool> result(blocks_.size());
  if (blocks_.empty()) return result;
  const std::vector<bool> live = returning();
  const auto leaves = [&](uint32_t b) {
    return blocks_[b].returns || (blocks_[b].conditional && blocks_[b].taken == kNoBlock);
  };
  // A path from the entry to a return; only its blocks can lie on every path.
  std::vector<uint32_t> parent(blocks_.size(), kNoBlock), queue{0};
  std::vector<bool> seen(blocks_.size());
  seen[0] = true;
  uint32_t end = kNoBlock;
  for (size_t at = 0; at < queue.size() && end == kNoBlock; ++at) {
    const uint32_t b = queue[at];
    if (leaves(b)) end = b;
    successors(b, [&](uint32_t s, bool) {
      if (seen[s] || !live[s]) return;
      seen[s] = true;
      parent[s] = b;
      queue.push_back(s);
    });
  }
  if (end == kNoBlock) { // never returns: what is on the straight way in is certain
    for (uint32_t b = 0; b != kNoBlock && !result[b]; b = blocks_[b].conditional || blocks_[b].indirect ? kNoBlock
                                                          : blocks_[b].taken != kNoBlock                ? blocks_[b].taken
                                                                                                        : blocks_[b].next)
      result[b] = true;
    return result;
  }
  std::vector<uint32_t> path;
  for (uint32_t b = end; b != kNoBlock; b = parent[b]) path.push_back(b);
  std::ranges::reverse(path);
  std::vector<uint32_t> place(blocks_.size(), kNoBlock);
  for (uint32_t i = 0; i < path.size(); ++i) place[path[i]] = i;
  // Path blocks that a detour from an earlier one jumps over are avoidable. Walk outwards in path order, keeping the furthest
  // path block that any detour so far has reached.
  std::vector<bool> visited(blocks_.size());
  uint32_t furthest = 0;
  std::vector<uint32_t> todo;
  for (uint32_t i = 0; i < path.size(); ++i) {
    if (furthest <= i) result[path[i]] = true;
    const bool may_leave = leaves(path[i]);
    todo.push_back(path[i]);
    while (!todo.empty()) {
      const uint32_t b = todo.back();
      todo.pop_back();
      if (b != path[i] && leaves(b)) furthest = static_cast<uint32_t>(path.size());
      successors(b, [&](uint32_t s, bool) {
        if (!live[s] || visited[s]) return;
        if (place[s] != kNoBlock) {
          furthest = std::max(furthest, place[s]);
          return;
        }
        visited[s] = true;
        todo.push_back(s);
      });
    }
    if (may_leave) furthest = static_cast<uint32_t>(path.size());
  }
  return result;
}

} // namespace isa_audit::host
