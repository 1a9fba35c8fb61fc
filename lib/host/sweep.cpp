#include "sweep.h"

#include <algorithm>

#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit::host {

namespace ELF = llvm::ELF;

namespace {

constexpr uint64_t kLaneBytes = 1 << 20; // a larger function is decoded alone: its marks might take 16 times its size
constexpr int kFlagReach = 6;            // instructions after a TZCNT in which a reader of its flags is looked for

// JB, JAE, JE, JNE, JBE, JA, their SETcc and CMOVcc, ADC, SBB, RCL, RCR, LAHF and PUSHF: readers of the flags that TZCNT sets
// and BSF does not.
bool reads_carry_or_zero(const Insn &i) {
  const uint8_t condition = i.opcode & 15;
  const bool of_interest = condition >= 2 && condition <= 7;
  if (i.map == Map::one) {
    if ((i.opcode & 0xf0) == 0x70) return of_interest;
    if (i.opcode >= 0x10 && i.opcode < 0x20) return (i.opcode & 7) < 6;
    if (i.opcode == 0x80 || i.opcode == 0x81 || i.opcode == 0x83) return i.reg() == 2 || i.reg() == 3;
    if (i.opcode >= 0xd0 && i.opcode <= 0xd3) return i.reg() == 2 || i.reg() == 3;
    return i.opcode == 0x9c || i.opcode == 0x9f;
  }
  const uint8_t row = i.opcode & 0xf0;
  return i.map == Map::x0f && (row == 0x80 || row == 0x90 || row == 0x40) && of_interest;
}

// Moves and the like, which leave the flags as they are.
bool keeps_flags(const Insn &i) {
  if (i.map == Map::one)
    return (i.opcode >= 0x88 && i.opcode <= 0x8d) || (i.opcode & 0xf0) == 0xb0 || i.opcode == 0xc6 || i.opcode == 0xc7 ||
           (i.opcode & 0xf0) == 0x50 || i.opcode == 0x63 || i.opcode == 0x90 || i.opcode == 0x98 || i.opcode == 0x99;
  if (i.map != Map::x0f) return i.map >= Map::vex1 && i.map <= Map::vex2 && i.opcode < 0xf0;
  return i.opcode == 0x1f || (i.opcode & 0xfe) == 0xb6 || (i.opcode & 0xfe) == 0xbe || (i.opcode & 0xf0) == 0x40 ||
         (i.opcode & 0xf0) == 0x90 || (i.opcode >= 0x10 && i.opcode <= 0x17) || i.opcode == 0x28 || i.opcode == 0x29 ||
         i.opcode == 0x6e || i.opcode == 0x6f || i.opcode == 0x7e || i.opcode == 0x7f || i.opcode == 0xef || i.opcode == 0x57;
}

// Instructions that no compiler emits for a program, and that bytes of tables often look like.
bool is_odd(const Insn &i) {
  const uint8_t op = i.opcode;
  if (i.map == Map::one) // ADD [RAX], AL is two zeros; then port, string port, far, flag and decimal instructions
    return (op == 0x00 && i.modrm == 0) || (op >= 0x6c && op <= 0x6f) || op == 0x9d || (op >= 0xa0 && op <= 0xa3) ||
           op == 0xc8 || op == 0xca || op == 0xcb || (op >= 0xcd && op <= 0xcf) || op == 0xd7 || (op >= 0xe4 && op <= 0xe7) ||
           (op >= 0xec && op <= 0xef) || op == 0xf1 || op == 0xf4 || op == 0xf5 || op == 0xfa || op == 0xfb;
  if (i.map == Map::x0f) // system instructions, 3DNow!
    return op == 0x00 || op == 0x02 || op == 0x03 || (op >= 0x06 && op <= 0x09) || op == 0x0e || op == 0x0f ||
           (op >= 0x20 && op <= 0x26) || op == 0x30 || (op >= 0x32 && op <= 0x37);
  return false;
}

uint64_t relative_target(const uint8_t *at, const Step &step, uint64_t next) {
  if (step.imm_size() == 1)
    return next + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(at[step.length() - 1])));
  if (step.imm_size() == 4) return next + static_cast<uint64_t>(static_cast<int64_t>(read_le<int32_t>(at + step.length() - 4)));
  return next + static_cast<uint64_t>(static_cast<int64_t>(read_le<int16_t>(at + step.length() - 2)));
}

// What an instruction relative to RIP refers to.
uint64_t referred(const uint8_t *at, const Step &step, uint64_t next) {
  const uint8_t *displacement = at + step.length() - step.imm_size() - 4;
  return next + static_cast<uint64_t>(static_cast<int64_t>(read_le<int32_t>(displacement)));
}

} // namespace

// ------------------------------------------------------------------ two at a time

// One of the two ways through the functions of a job.
struct Sweeper::Lane {
  struct Result {
    uint32_t first = 0, last = 0; // marks
    bool whole = false;           // every byte belongs to an instruction
  };
  std::span<Function> functions;
  std::span<const uint32_t> todo;
  std::span<Result> results;
  const Image *image;
  std::unique_ptr<Mark[]> marks;

  size_t index = 0;
  const uint8_t *at = nullptr, *end = nullptr; // of the function that is being decoded
  Mark *mark = nullptr;
  bool active = false;

  void prepare() {
    uint64_t size = 1;
    for (const uint32_t i : todo)
      if (is_for_lane(functions[i])) size += functions[i].end - functions[i].start;
    marks = std::make_unique_for_overwrite<Mark[]>(size);
    mark = marks.get();
    enter(0);
  }
  bool is_for_lane(const Function &f) const {
    const CodeRange *range = f.open ? nullptr : image->code_at(f.start);
    return range && f.end > f.start && f.end <= range->end && range->end - f.end >= kStepRoom && f.end - f.start <= kLaneBytes;
  }
  // Goes to the next function that can be decoded here.
  void enter(size_t from) {
    for (index = from; index < todo.size(); ++index) {
      const Function &f = functions[todo[index]];
      results[index].first = results[index].last = static_cast<uint32_t>(mark - marks.get());
      if (!is_for_lane(f)) continue;
      const CodeRange *range = image->code_at(f.start);
      at = range->bytes + (f.start - range->start);
      end = at + (f.end - f.start);
      active = true;
      return;
    }
    active = false;
  }
  void leave(const uint8_t *stopped, Mark *next) {
    mark = next;
    results[index].last = static_cast<uint32_t>(mark - marks.get());
    results[index].whole = stopped == end;
    enter(index + 1);
  }
};

namespace {

// One instruction; false: it is none, or the last one.
template <typename Mark> [[gnu::always_inline]] inline bool advance(const uint8_t *&at, const uint8_t *end, Mark *&mark) {
  const Step step = classify_insn(at);
  mark->at = at;
  mark->step = step;
  mark += step.worth_a_look();
  at += step.length();
  return step.length() != 0 && at < end;
}

} // namespace

void Sweeper::decode_in_turns(Lane &a, Lane &b) {
  while (a.active && b.active) {
    // Copies: they have to stay in registers.
    const uint8_t *at = a.at, *const end = a.end, *other_at = b.at, *const other_end = b.end;
    Mark *mark = a.mark, *other_mark = b.mark;
    bool more = true, other_more = true;
    while (more && other_more) {
      more = advance(at, end, mark);
      other_more = advance(other_at, other_end, other_mark);
    }
    a.at = at;
    a.mark = mark;
    b.at = other_at;
    b.mark = other_mark;
    if (!more) a.leave(at, mark);
    if (!other_more) b.leave(other_at, other_mark);
  }
  for (Lane *lane : {&a, &b}) {
    while (lane->active) {
      const uint8_t *at = lane->at;
      Mark *mark = lane->mark;
      while (advance(at, lane->end, mark)) {
      }
      lane->leave(at, mark);
    }
  }
}

void Sweeper::run(std::span<Function> functions, std::span<const uint32_t> todo) {
  std::vector<Lane::Result> results(todo.size());
  uint64_t size = 0, half = 0;
  for (const uint32_t i : todo) size += functions[i].end - functions[i].start;
  size_t cut = 0;
  while (cut < todo.size() && half < size / 2) {
    half += functions[todo[cut]].end - functions[todo[cut]].start;
    ++cut;
  }
  const std::span<Lane::Result> all(results);
  Lane a{functions, todo.first(cut), all.first(cut), &image_, {}},
      b{functions, todo.subspan(cut), all.subspan(cut), &image_, {}};
  a.prepare();
  b.prepare();
  decode_in_turns(a, b);

  for (size_t i = 0; i < todo.size(); ++i) {
    Function &f = functions[todo[i]];
    const Lane &lane = i < cut ? a : b;
    f.first_edge = static_cast<uint32_t>(found_.edges.size());
    if (results[i].whole)
      replay(f, {lane.marks.get() + results[i].first, lane.marks.get() + results[i].last});
    else
      decode_alone(f);
    f.edge_count = static_cast<uint32_t>(found_.edges.size()) - f.first_edge;
  }
}

// ------------------------------------------------------------------ one function

void Sweeper::begin(Function &f) {
  f_ = &f;
  range_ = image_.code_at(f.start);
  tail_ = Tail::open;
  alone_ = false;
  ahead_.clear();
  furthest_ = entered_ = 0;
}

void Sweeper::replay(Function &f, std::span<const Mark> marks) {
  begin(f);
  const uint8_t *code = range_->bytes + (f.start - range_->start);
  const uint8_t *after = code;
  for (const Mark &m : marks) {
    if (m.at != after) tail_ = Tail::open;
    look(m.step, m.at, f.start + static_cast<uint64_t>(m.at - code));
    after = m.at + m.step.length();
  }
  f.decoded = static_cast<uint32_t>(f.end - f.start);
  if (after != code + f.decoded) tail_ = Tail::open;
  finish();
}

Sweeper::State Sweeper::state(uint64_t address) const {
  return {address,     found_.edges.size(), found_.called.size(), found_.taken.size(), found_.references.size(),
          f_->decoded, f_->classes,         f_->detects,          f_->returns,         f_->indirect};
}

void Sweeper::go_back(const State &to) {
  found_.edges.resize(to.edges);
  found_.called.resize(to.called);
  found_.taken.resize(to.taken);
  found_.references.resize(to.references);
  f_->decoded = to.decoded;
  f_->classes = to.classes;
  f_->detects = to.detects;
  f_->returns = to.returns;
  f_->indirect = to.indirect;
  tail_ = Tail::ended;
}

void Sweeper::decode_alone(Function &f) {
  begin(f);
  if (!range_) return;
  alone_ = true;
  const uint64_t limit = std::min(f.end, range_->end);
  const State nothing = state(f.start);
  State solid = nothing; // as of the last place where control cannot go on
  bool is_code = true;
  for (uint64_t address = f.start; address < limit && is_code;) {
    const uint8_t *at = range_->bytes + (address - range_->start);
    const Step step = classify_insn(at, static_cast<size_t>(range_->end - address));
    if (step.length() == 0 || step.length() > limit - address) {
      is_code = !f.referred;
      uint64_t next = address;
      skip_data(next, limit);
      if (entered_ < solid.address && solid.address > f.start) {
        go_back(solid);
        if (f.open) f.end = solid.address;
      }
      if (f.open) {
        f.end = std::min(f.end, address);
        break;
      }
      found_.data.push_back({entered_ < solid.address && solid.address > f.start ? solid.address : address, next});
      f.has_data = true;
      address = next;
      continue;
    }
    is_code = !f.referred || is_plausible(step, at, address);
    f.decoded += step.length();
    if (step.worth_a_look())
      look(step, at, address);
    else
      tail_ = Tail::open;
    address += step.length();
    if (tail_ != Tail::ended) continue;
    if (f.open && address > furthest_) {
      f.end = address;
      break;
    }
    solid = state(address);
  }
  if (f.referred && (!is_code || tail_ != Tail::ended)) {
    go_back(nothing);
    f.end = f.start;
    return;
  }
  finish();
}

// Of a place that may be a table.
bool Sweeper::is_plausible(const Step &step, const uint8_t *at, uint64_t address) const {
  Insn insn;
  if (!decode({at, static_cast<size_t>(range_->end - address)}, insn) || is_odd(insn)) return false;
  const Action action = step.action();
  return (action != Action::call && action != Action::jump && action != Action::branch) ||
         image_.code_at(relative_target(at, step, address + step.length()));
}

// From bytes that are no code to the next target of a branch. Keeps the last target before them.
void Sweeper::skip_data(uint64_t &address, uint64_t limit) {
  while (!ahead_.empty() && ahead_.front() <= address) {
    entered_ = std::max(entered_, ahead_.front());
    std::ranges::pop_heap(ahead_, std::greater<>());
    ahead_.pop_back();
  }
  address = ahead_.empty() ? limit : std::min(limit, ahead_.front());
}

void Sweeper::finish() {
  // A second entry in the middle of a function: the first part runs into the second.
  if (!f_->open && tail_ == Tail::open && f_->end < range_->end && f_->decoded == f_->end - f_->start)
    add({f_->end, false, true}, f_->end - 1, EdgeKind::jump, false);
}

// ------------------------------------------------------------------ one instruction

void Sweeper::add(const Program::Callee &callee, uint64_t address, EdgeKind kind, bool conditional) {
  if (!callee.known) return;
  if (!callee.external && !image_.code_at(callee.target)) return;
  Edge e;
  e.target = callee.target;
  e.site = static_cast<uint32_t>(address - f_->start);
  e.kind = kind;
  e.conditional = conditional;
  e.external = callee.external;
  if (kind == EdgeKind::jump) f_->returns = true;
  found_.edges.push_back(e);
  if (callee.external || program_.is_inside(callee.target)) return;
  (kind == EdgeKind::address ? found_.taken : found_.called).push_back(callee.target);
}

void Sweeper::branch(uint64_t target, uint64_t address, EdgeKind kind, bool conditional) {
  if (target >= f_->start && target < f_->end) {
    if (alone_ && target > address) {
      ahead_.push_back(target);
      std::ranges::push_heap(ahead_, std::greater<>());
      furthest_ = std::max(furthest_, target);
    }
    if (kind == EdgeKind::jump || target != f_->start) return;
  }
  add(program_.resolve(target), address, kind, conditional);
}

void Sweeper::slot(uint64_t slot, uint64_t address, EdgeKind kind) {
  if (image_.may_have_relocation(slot)) add(program_.resolve_slot(slot), address, kind, false);
}

// The address of code, or of something between code, is taken.
void Sweeper::take(uint64_t target, uint64_t address) {
  if (image_.code_at(target) && !(target > f_->start && target < f_->end))
    add(program_.resolve(target), address, EdgeKind::address, false);
}

// A place in memory that an instruction reads, writes or takes the address of.
void Sweeper::refer(uint64_t target) {
  if (!image_.is_writable(target)) {
    if (std::ranges::binary_search(program_.watched(), target)) found_.references.emplace_back(target, f_->start);
    return;
  }
  if (image_.may_have_relocation(target)) {
    const std::optional<uint64_t> pointer = image_.pointer_at(target);
    if (pointer && image_.code_at(*pointer)) return;
    if (pointer && image_.is_writable(*pointer)) found_.references.emplace_back(*pointer, f_->start);
  }
  found_.references.emplace_back(target, f_->start);
}

// The class of TZCNT, which is BSF without BMI1. For a zero source the destination differs, which programs that care about test
// for; the carry and zero flags differ always, so what counts is whether someone looks at them.
void Sweeper::look_at_scan(const Step &step, const uint8_t *at, uint64_t address) {
  const uint64_t limit = std::min(f_->end, range_->end);
  for (int i = 0; i < kFlagReach; ++i) {
    Insn insn;
    if (i == 0) {
      at += step.length();
      address += step.length();
    }
    if (address >= limit || !decode({at, static_cast<size_t>(range_->end - address)}, insn)) return;
    if (reads_carry_or_zero(insn)) return f_->classes.insert(step.klass());
    if (!keeps_flags(insn)) return;
    at += insn.length;
    address += insn.length;
  }
}

void Sweeper::look(const Step &step, const uint8_t *at, uint64_t address) {
  const uint64_t next = address + step.length();
  const Tail before = tail_;
  tail_ = Tail::open;
  if (step.klass() && step.action() != Action::scan) f_->classes.insert(step.klass());
  switch (step.action()) {
  case Action::none: break;
  case Action::scan:
    if (step.klass()) look_at_scan(step, at, address);
    break;
  case Action::pad:
    if (before == Tail::ended) tail_ = before;
    break;
  case Action::call:
    tail_ = Tail::called;
    branch(relative_target(at, step, next), address, EdgeKind::call, false);
    break;
  case Action::jump:
    tail_ = Tail::ended;
    branch(relative_target(at, step, next), address, EdgeKind::jump, false);
    break;
  case Action::branch: branch(relative_target(at, step, next), address, EdgeKind::jump, true); break;
  case Action::ret: f_->returns = true; [[fallthrough]];
  case Action::stop: tail_ = Tail::ended; break;
  case Action::group5: {
    const uint8_t reg = step.modrm() >> 3 & 7;
    if (reg != 2 && reg != 4) break;
    tail_ = reg == 4 ? Tail::ended : Tail::called;
    f_->returns |= reg == 4;
    f_->indirect |= !step.rip_relative();
    if (step.rip_relative()) slot(referred(at, step, next), address, reg == 4 ? EdgeKind::jump : EdgeKind::call);
    break;
  }
  case Action::lea:
    if (step.rip_relative()) take(referred(at, step, next), address);
    break;
  case Action::load:
    if (step.rip_relative()) slot(referred(at, step, next), address, EdgeKind::address);
    break;
  case Action::move:
    if (step.imm_size() == 4 && image_.elf().type() == ELF::ET_EXEC) take(read_le<uint32_t>(at + step.length() - 4), address);
    break;
  case Action::detect: {
    Insn insn;
    if (!decode({at, step.length()}, insn)) break;
    const bool cpuid = insn.opcode == 0xa2, xgetbv = insn.opcode == 0x01 && insn.modrm == 0xd0;
    const bool rdssp = insn.opcode == 0x1e && insn.pp == 2 && insn.mod() == 3 && insn.reg() == 1;
    f_->detects |= cpuid || xgetbv || rdssp;
    break;
  }
  }
  if (step.rip_relative() && step.action() != Action::group5) refer(referred(at, step, next)); // but a call through a slot
}

} // namespace isa_audit::host
