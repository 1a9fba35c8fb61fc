#include "interpret.h"

#include <algorithm>

#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit::host {

namespace {

constexpr int kRax = 0, kRcx = 1, kRdx = 2, kRbx = 3, kRsp = 4, kRbp = 5;
constexpr int kArgumentRegisters[] = {7, 6, 2, 1, 8, 9}; // rdi rsi rdx rcx r8 r9
constexpr int kVisits = 4;                               // of each block
constexpr int64_t kSmall = 4096;                         // constants that may be flags or levels
constexpr int64_t kFieldReach = 512;                     // bytes of a stack object that a callee is told of
constexpr size_t kMaxSlots = 512;

struct State {
  std::array<Value, 16> r{};
  std::array<Value, 32> x{};
  std::vector<std::pair<int64_t, Value>> stack; // by offset
  Flags flags;
  bool live = false;

  const Value *slot(int64_t offset) const {
    const auto it = std::ranges::lower_bound(stack, offset, {}, &std::pair<int64_t, Value>::first);
    return it != stack.end() && it->first == offset ? &it->second : nullptr;
  }
  void set_slot(int64_t offset, const Value &v) {
    const auto it = std::ranges::lower_bound(stack, offset, {}, &std::pair<int64_t, Value>::first);
    if (it != stack.end() && it->first == offset)
      it->second = v;
    else if (v.kind != Kind::unknown && stack.size() < kMaxSlots)
      stack.insert(it, {offset, v});
  }
  // True if anything changed.
  bool merge(const State &o) {
    if (!live) {
      *this = o;
      live = true;
      return true;
    }
    bool changed = false;
    const auto mix = [&](Value &a, const Value &b) {
      const Value v = join(a, b);
      changed |= !(v == a);
      a = v;
    };
    for (size_t i = 0; i < r.size(); ++i) mix(r[i], o.r[i]);
    for (size_t i = 0; i < x.size(); ++i) mix(x[i], o.x[i]);
    for (auto &[offset, v] : stack) {
      const Value *other = o.slot(offset);
      mix(v, other ? *other : Value{});
    }
    for (const auto &[offset, v] : o.stack)
      if (v.tainted() && !slot(offset)) {
        const Value m = join(v, {});
        if (m.kind != Kind::unknown) {
          set_slot(offset, m);
          changed = true;
        }
      }
    if (!(flags == o.flags)) {
      const Flags f = flags.of == Flags::Of::nothing ? o.flags : flags;
      const Flags merged =
          o.flags.of == Flags::Of::nothing || flags.of == Flags::Of::nothing ? Flags{} : Flags{Flags::Of::unclear, f.inverted};
      changed |= !(merged == flags);
      flags = merged;
    }
    return changed;
  }
};

class Interpreter {
public:
  Interpreter(const Program &program, const Function &f, const Cfg &cfg, const Summary &known, World &world)
      : program_(program), image_(program.image()), f_(f), cfg_(cfg), known_(known), world_(world) {}

  Outcome run();

private:
  struct Address {
    Value base;           // constant, stack, argument, external or taint; unknown otherwise
    bool indexed = false; // plus an unknown index
    bool by_taint = false;
  };

  void pass();
  void run_block(uint32_t block, State &s);
  void step(const Cfg::At &at, uint32_t block, State &s);
  void step_one(const Insn &i, const uint8_t *p, uint64_t next, uint32_t site, State &s);
  void step_0f(const Insn &i, const uint8_t *p, uint64_t next, uint32_t site, State &s);
  void step_vector(const Insn &i, const uint8_t *p, uint64_t next, State &s);
  void call(const Insn &i, const uint8_t *p, uint64_t next, uint32_t site, bool jump, State &s);
  void apply(const Summary &effect, const World::Call &call, State &s);
  void finish_return(const Value &result);
  void cpuid(State &s);
  std::vector<bool> find_guarded() const;

  Address address_of(const Insn &i, const uint8_t *p, uint64_t next, const State &s) const;
  Value load(const Address &a, State &s, bool pointer_size);
  void store(const Address &a, Value v, State &s);
  Value read_rm(const Insn &i, const uint8_t *p, uint64_t next, State &s);
  void write_rm(const Insn &i, const uint8_t *p, uint64_t next, const Value &v, State &s);
  Value small(int64_t n) const; // a constant, weak taint behind a check
  void set(State &s, int reg, const Value &v) { s.r[static_cast<size_t>(reg)] = v; }

  static int reg_of(const Insn &i) { return i.reg() | (i.rex & 4 ? 8 : 0); }
  static int rm_of(const Insn &i) { return i.rm() | (i.rex & 1 ? 8 : 0); }
  const Edge *edge_at(uint32_t site) const;

  const Program &program_;
  const Image &image_;
  const Function &f_;
  const Cfg &cfg_;
  const Summary &known_;
  World &world_;
  Outcome out_;
  std::vector<State> in_;
  std::vector<Polarity> taken_; // of each block's branch
  std::vector<bool> guarded_;
  bool in_guarded_ = false;
  bool any_return_ = false;
  Value result_;
};

Value Interpreter::small(int64_t n) const {
  if (in_guarded_ && n >= 0 && n < kSmall) {
    Value v = Value::taint();
    v.weak = true;
    return v;
  }
  return Value::constant(n);
}

const Edge *Interpreter::edge_at(uint32_t site) const {
  const std::span<const Edge> edges = program_.edges(f_);
  const auto it = std::ranges::lower_bound(edges, site, {}, &Edge::site);
  return it != edges.end() && it->site == site ? &*it : nullptr;
}

// ------------------------------------------------------------------ memory

Interpreter::Address Interpreter::address_of(const Insn &i, const uint8_t *p, uint64_t next, const State &s) const {
  Address a;
  if (i.segment) return a;
  const int64_t disp = displacement(p, i);
  if (i.rip_relative()) {
    a.base = Value::constant(static_cast<int64_t>(next) + disp);
    return a;
  }
  int base = rm_of(i);
  bool has_base = true;
  if (i.rm() == 4) {
    const uint8_t sib = p[i.modrm_at + 1];
    base = (sib & 7) | (i.rex & 1 ? 8 : 0);
    has_base = (sib & 7) != 5 || i.mod() != 0;
    const int index = ((sib >> 3) & 7) | (i.rex & 2 ? 8 : 0);
    if (index != 4) {
      a.indexed = true;
      const Value &v = s.r[static_cast<size_t>(index)];
      a.by_taint = v.tainted();
      // lea table, [base + constant index]: rare; but [table + index*8] with the table as index register is not.
      if (has_base && s.r[static_cast<size_t>(base)].kind == Kind::unknown && v.kind == Kind::constant && (sib >> 6) == 0)
        base = index;
    }
  }
  if (!has_base) {
    a.base = Value::constant(disp);
    return a;
  }
  a.base = s.r[static_cast<size_t>(base)];
  switch (a.base.kind) {
  case Kind::constant:
  case Kind::stack:
  case Kind::argument: a.base.number += disp; break;
  case Kind::external: break;
  default: break;
  }
  return a;
}

Value Interpreter::load(const Address &a, State &s, bool pointer_size) {
  switch (a.base.kind) {
  case Kind::constant: {
    const auto address = static_cast<uint64_t>(a.base.number);
    const Value v = world_.load_global(address, a.indexed);
    if (v.tainted()) return v;
    if (a.by_taint) return Value::taint();
    if (a.indexed || !pointer_size || !image_.may_have_relocation(address)) return {};
    if (const Relocation *r = image_.relocation_at(address); r && r->symbol) {
      const std::optional<DynamicSymbol> symbol = image_.symbol(r->symbol);
      if (symbol && !symbol->defined) return {Kind::external, 0, false, false, false, static_cast<int64_t>(r->symbol)};
    }
    if (const std::optional<uint64_t> pointer = image_.pointer_at(address))
      return Value::constant(static_cast<int64_t>(*pointer));
    return {};
  }
  case Kind::stack: {
    if (a.indexed) {
      for (const auto &[offset, v] : s.stack)
        if (v.tainted() && offset >= a.base.number && offset < a.base.number + kFieldReach) return v;
      return {};
    }
    const Value *v = s.slot(a.base.number);
    return v ? *v : Value{};
  }
  case Kind::argument: {
    const auto offset = static_cast<int32_t>(a.base.number);
    const Summary::Field field{a.base.arg, offset};
    if (std::ranges::find(known_.fields, field) != known_.fields.end()) return Value::taint();
    if (a.indexed) {
      for (const Summary::Field &k : known_.fields)
        if (k.arg == field.arg && k.offset >= offset) return Value::taint();
      return {};
    }
    return {Kind::loaded, a.base.arg, false, false, false, a.base.number};
  }
  case Kind::external: return world_.is_detector_object(static_cast<uint32_t>(a.base.number)) ? Value::taint() : Value{};
  default: return a.by_taint ? Value::taint() : Value{};
  }
}

void Interpreter::store(const Address &a, Value v, State &s) {
  if (v.kind == Kind::unknown && out_.asks_features && a.base.kind != Kind::stack) v = Value::taint();
  switch (a.base.kind) {
  case Kind::constant:
    if (v.tainted()) world_.store_global(static_cast<uint64_t>(a.base.number), v);
    break;
  case Kind::stack:
    if (!a.indexed) s.set_slot(a.base.number, v);
    break;
  case Kind::argument:
    if (v.tainted() && !v.may && !a.indexed) {
      const Summary::Field field{a.base.arg, static_cast<int32_t>(a.base.number)};
      if (std::ranges::find(out_.summary.writes, field) == out_.summary.writes.end()) out_.summary.writes.push_back(field);
    }
    break;
  default: break;
  }
}

Value Interpreter::read_rm(const Insn &i, const uint8_t *p, uint64_t next, State &s) {
  if (i.mod() == 3) return s.r[static_cast<size_t>(rm_of(i))];
  return load(address_of(i, p, next, s), s, (i.rex & 8) != 0);
}

void Interpreter::write_rm(const Insn &i, const uint8_t *p, uint64_t next, const Value &v, State &s) {
  if (i.mod() == 3)
    set(s, rm_of(i), v);
  else
    store(address_of(i, p, next, s), v, s);
}

// ------------------------------------------------------------------ calls

void Interpreter::finish_return(const Value &v) {
  const bool fits = v.tainted() ? !v.may : v.kind == Kind::constant;
  const Value value = fits ? v : Value{};
  if (!any_return_)
    result_ = value;
  else if (result_.kind == Kind::unknown || value.kind == Kind::unknown)
    result_ = {};
  else if (result_.tainted() || value.tainted())
    result_ = join(result_.tainted() ? result_ : value, result_.tainted() ? value : result_);
  else if (!(result_ == value))
    result_ = Value::constant(0); // some constant
  any_return_ = true;
}

void Interpreter::call(const Insn &i, const uint8_t *p, uint64_t next, uint32_t site, bool jump, State &s) {
  World::Call c;
  c.site = site;
  c.jump = jump;
  c.edge = edge_at(site);
  for (size_t k = 0; k < 6; ++k) {
    const Value &v = s.r[static_cast<size_t>(kArgumentRegisters[k])];
    c.arguments[k] = v;
    if (v.kind == Kind::stack) {
      for (const auto &[offset, slot] : s.stack)
        if (slot.tainted() && offset >= v.number && offset < v.number + kFieldReach)
          c.fields[k].push_back({static_cast<uint8_t>(k), static_cast<int32_t>(offset - v.number)});
    } else if (v.kind == Kind::argument) {
      for (const Summary::Field &field : known_.fields)
        if (field.arg == v.arg && field.offset >= v.number && field.offset < v.number + kFieldReach)
          c.fields[k].push_back({static_cast<uint8_t>(k), static_cast<int32_t>(field.offset - v.number)});
    }
  }
  Summary effect;
  if (c.edge) {
    effect = world_.call(c);
  } else if (i.opcode == 0xff && i.map == Map::one) {
    // Through a register or memory: the value may be known, or be the caller's business.
    const Value target = i.mod() == 3 ? s.r[static_cast<size_t>(rm_of(i))] : load(address_of(i, p, next, s), s, true);
    if (target.kind == Kind::constant && target.number) {
      c.target = static_cast<uint64_t>(target.number);
      effect = world_.call(c);
    } else if (target.kind == Kind::loaded || target.kind == Kind::argument) {
      const Summary::Field field{target.arg,
                                 target.kind == Kind::argument ? Summary::kItself : static_cast<int32_t>(target.number)};
      if (std::ranges::find(out_.summary.calls, field) == out_.summary.calls.end()) out_.summary.calls.push_back(field);
    }
  }
  apply(effect, c, s);
  if (jump) finish_return(effect.result);
}

void Interpreter::apply(const Summary &effect, const World::Call &c, State &s) {
  for (const Summary::Field &w : effect.writes) {
    const Value &v = c.arguments[w.arg];
    Address a;
    a.base = v;
    if (v.kind != Kind::constant && v.kind != Kind::stack && v.kind != Kind::argument) continue;
    a.base.number += w.offset;
    store(a, Value::taint(), s);
  }
  for (const Summary::Field &w : effect.calls) {
    const Value &v = c.arguments[w.arg];
    Value target = v;
    if (w.offset != Summary::kItself) {
      if (v.kind != Kind::constant && v.kind != Kind::stack && v.kind != Kind::argument) continue;
      Address a;
      a.base = v;
      a.base.number += w.offset;
      target = load(a, s, true);
    }
    if (target.kind == Kind::constant && target.number) {
      World::Call indirect;
      indirect.site = c.site;
      indirect.target = static_cast<uint64_t>(target.number);
      world_.call(indirect);
    } else if (target.kind == Kind::loaded || (target.kind == Kind::argument && target.number == 0)) {
      const Summary::Field field{target.arg,
                                 target.kind == Kind::argument ? Summary::kItself : static_cast<int32_t>(target.number)};
      if (std::ranges::find(out_.summary.calls, field) == out_.summary.calls.end() && out_.summary.calls.size() < 8)
        out_.summary.calls.push_back(field);
    }
  }
  for (const int reg : {0, 1, 2, 6, 7, 8, 9, 10, 11}) set(s, reg, {});
  s.x = {};
  s.flags = {};
  set(s, kRax, effect.result);
}

void Interpreter::cpuid(State &s) {
  const Value &leaf = s.r[kRax];
  bool features = true;
  if (leaf.kind == Kind::constant) {
    switch (static_cast<uint32_t>(leaf.number)) {
    case 1:
    case 7:
    case 0xd:
    case 0x14:
    case 0x19:
    case 0x1d:
    case 0x1e:
    case 0x24:
    case 0x80000001:
    case 0x80000008: break;
    default: features = false; // maximum leaf, caches, topology, names
    }
  }
  for (const int reg : {kRax, kRbx, kRcx, kRdx}) set(s, reg, features ? Value::taint() : Value{});
  out_.asks_features |= features;
}

// ------------------------------------------------------------------ instructions

void Interpreter::step(const Cfg::At &at, uint32_t block, State &s) {
  const Insn &i = at.insn;
  const uint8_t *p = cfg_.code() + at.offset;
  const uint64_t next = f_.start + at.offset + i.length;
  const uint8_t condition = i.opcode & 15;
  const bool branch = (i.map == Map::one && (i.opcode & 0xf0) == 0x70) || (i.map == Map::x0f && (i.opcode & 0xf0) == 0x80);
  if (branch) {
    const Polarity pol = polarity(s.flags, condition);
    if (pol != Polarity::none) taken_[block] = pol;
    if (const Edge *e = edge_at(at.offset); e && e->conditional) {
      State aside = s; // the path that leaves
      call(i, p, next, at.offset, true, aside);
    }
    return;
  }
  if (i.map == Map::one) return step_one(i, p, next, at.offset, s);
  if (i.map == Map::x0f) return step_0f(i, p, next, at.offset, s);
  step_vector(i, p, next, s);
}

void Interpreter::step_one(const Insn &i, const uint8_t *p, uint64_t next, uint32_t site, State &s) {
  const uint8_t op = i.opcode;
  const int reg = reg_of(i);
  const auto test_flags = [&](const Value &v) { s.flags = v.tainted() ? Flags{Flags::Of::bits, v.inverted} : Flags{}; };
  const auto combine = [](const Value &a, const Value &b) { return a.tainted() ? a : b.tainted() ? b : Value{}; };
  switch (op) {
  case 0x88:
  case 0x89: return write_rm(i, p, next, s.r[static_cast<size_t>(reg)], s);
  case 0x8a:
  case 0x8b: return set(s, reg, read_rm(i, p, next, s));
  case 0x63: return set(s, reg, read_rm(i, p, next, s));
  case 0x8d: {
    const Address a = address_of(i, p, next, s);
    return set(s, reg, a.indexed ? Value{} : a.base.tainted() ? Value{} : a.base);
  }
  case 0xc6:
  case 0xc7: return write_rm(i, p, next, small(immediate(p, i)), s);
  case 0xe8: return call(i, p, next, site, false, s);
  case 0xe9:
  case 0xeb:
    if (edge_at(site)) call(i, p, next, site, true, s);
    return;
  case 0xff:
    if (i.reg() == 2) return call(i, p, next, site, false, s);
    if (i.reg() == 4) {
      const Value v = i.mod() == 3 ? s.r[static_cast<size_t>(rm_of(i))] : Value{};
      if (v.tainted() || (i.mod() != 3 && address_of(i, p, next, s).by_taint)) out_.tainted_addresses.push_back(site);
      call(i, p, next, site, true, s);
      return;
    }
    if (i.reg() == 6) {
      const Value v = read_rm(i, p, next, s);
      Value &sp = s.r[kRsp];
      if (sp.kind == Kind::stack) {
        sp.number -= 8;
        s.set_slot(sp.number, v);
      }
      return;
    }
    write_rm(i, p, next, {}, s);
    s.flags = {};
    return;
  case 0xc3:
  case 0xc2: return finish_return(s.r[kRax]);
  case 0xc9:
    set(s, kRsp, s.r[kRbp]);
    if (s.r[kRsp].kind == Kind::stack) {
      const Value *v = s.slot(s.r[kRsp].number);
      set(s, kRbp, v ? *v : Value{});
      s.r[kRsp].number += 8;
    }
    return;
  case 0x84:
  case 0x85: {
    const Value a = read_rm(i, p, next, s), b = s.r[static_cast<size_t>(reg)];
    return test_flags(combine(a, b));
  }
  case 0xa8:
  case 0xa9: return test_flags(s.r[kRax]);
  case 0x38:
  case 0x39:
  case 0x3a:
  case 0x3b: {
    const Value a = read_rm(i, p, next, s), b = s.r[static_cast<size_t>(reg)];
    const Value t = combine(a, b);
    s.flags = t.tainted() ? Flags{Flags::Of::unclear, t.inverted} : Flags{};
    const Value &other = a.tainted() ? b : a;
    if (t.tainted() && other.kind == Kind::constant) s.flags.of = other.number == 0 ? Flags::Of::bits : Flags::Of::equal;
    return;
  }
  case 0x3c:
  case 0x3d: {
    const Value &v = s.r[kRax];
    s.flags = v.tainted() ? Flags{immediate(p, i) ? Flags::Of::equal : Flags::Of::bits, v.inverted} : Flags{};
    return;
  }
  case 0x80:
  case 0x81:
  case 0x83: {
    const Value v = read_rm(i, p, next, s);
    const int64_t n = immediate(p, i);
    switch (i.reg()) {
    case 7: s.flags = v.tainted() ? Flags{n ? Flags::Of::equal : Flags::Of::bits, v.inverted} : Flags{}; return;
    case 1: // or
    case 4: // and
      if (v.kind == Kind::stack && i.reg() == 4) {
        set(s, rm_of(i), Value::stack(v.number & n));
        return;
      }
      test_flags(v);
      return write_rm(i, p, next, v.tainted() ? v : Value{}, s);
    case 6: { // xor flips
      Value flipped = v.tainted() ? v : Value{};
      flipped.inverted = v.tainted() && !v.inverted;
      test_flags(flipped);
      return write_rm(i, p, next, flipped, s);
    }
    case 0:
    case 5: // add, sub
      if (v.kind == Kind::constant || v.kind == Kind::stack || v.kind == Kind::argument) {
        Value moved = v;
        moved.number += i.reg() == 0 ? n : -n;
        write_rm(i, p, next, moved, s);
      } else {
        write_rm(i, p, next, {}, s);
      }
      s.flags = {};
      return;
    default:
      write_rm(i, p, next, {}, s);
      s.flags = {};
      return;
    }
  }
  case 0xc0:
  case 0xc1:
  case 0xd0:
  case 0xd1:
  case 0xd2:
  case 0xd3: { // shifts keep the bits
    const Value v = read_rm(i, p, next, s);
    test_flags(v);
    return write_rm(i, p, next, v.tainted() ? v : Value{}, s);
  }
  case 0xf6:
  case 0xf7: {
    const Value v = read_rm(i, p, next, s);
    if (i.reg() < 2) return test_flags(v);
    if (i.reg() == 2) { // not
      Value flipped = v.tainted() ? v : Value{};
      flipped.inverted = v.tainted() && !v.inverted;
      return write_rm(i, p, next, flipped, s);
    }
    if (i.reg() == 3) { // neg: carry says non-zero
      s.flags = v.tainted() ? Flags{Flags::Of::carry, v.inverted} : Flags{};
      return write_rm(i, p, next, v.tainted() ? v : Value{}, s);
    }
    set(s, kRax, {});
    set(s, kRdx, {});
    s.flags = {};
    return;
  }
  case 0x98:
  case 0x90: return; // cdqe, nop
  case 0x99: return set(s, kRdx, {});
  default: break;
  }
  if ((op & 0xf8) == 0x50) { // push
    Value &sp = s.r[kRsp];
    if (sp.kind != Kind::stack) return;
    sp.number -= 8;
    return s.set_slot(sp.number, s.r[static_cast<size_t>((op & 7) | (i.rex & 1 ? 8 : 0))]);
  }
  if ((op & 0xf8) == 0x58) { // pop
    Value &sp = s.r[kRsp];
    Value v;
    if (sp.kind == Kind::stack) {
      if (const Value *slot = s.slot(sp.number)) v = *slot;
      sp.number += 8;
    }
    return set(s, (op & 7) | (i.rex & 1 ? 8 : 0), v);
  }
  if (op == 0x68 || op == 0x6a) {
    if (s.r[kRsp].kind == Kind::stack) s.r[kRsp].number -= 8;
    return;
  }
  if ((op & 0xf0) == 0xb0) { // mov immediate
    const int target = (op & 7) | (i.rex & 1 ? 8 : 0);
    if (op < 0xb8 && !i.rex && (op & 7) >= 4) return; // ah, ch, dh, bh
    return set(s, target,
               small(i.imm_size == 4 ? static_cast<int64_t>(static_cast<uint32_t>(immediate(p, i))) : immediate(p, i)));
  }
  if (op >= 0x91 && op <= 0x97) {
    const auto other = static_cast<size_t>((op & 7) | (i.rex & 1 ? 8 : 0));
    return std::swap(s.r[kRax], s.r[other]);
  }
  if (op < 0x40 && (op & 7) < 6) { // add or adc sbb and sub xor
    const int group = op >> 3;
    if ((op & 7) >= 4) { // with rax and an immediate
      Value v = s.r[kRax];
      if (!v.tainted()) v = {};
      if (group == 6 && v.tainted()) v.inverted = !v.inverted;
      if (group != 1 && group != 4 && group != 6) v = {};
      set(s, kRax, v);
      return test_flags(v);
    }
    const bool to_reg = op & 2;
    const Value a = read_rm(i, p, next, s), b = s.r[static_cast<size_t>(reg)];
    Value v;
    if (i.mod() == 3 && rm_of(i) == reg && (group == 6 || group == 5))
      v = small(0);
    else if (i.mod() == 3 && rm_of(i) == reg && group == 3 && s.flags.of != Flags::Of::nothing)
      v = Value::taint(s.flags.inverted); // sbb
    else if (group == 1 || group == 4 || group == 6)
      v = combine(a, b);
    test_flags(v);
    if (to_reg)
      set(s, reg, v);
    else
      write_rm(i, p, next, v, s);
    return;
  }
  if (op == 0x86 || op == 0x87) {
    const Value v = read_rm(i, p, next, s);
    write_rm(i, p, next, s.r[static_cast<size_t>(reg)], s);
    return set(s, reg, v);
  }
  if (op == 0x69 || op == 0x6b) {
    s.flags = {};
    return set(s, reg, {});
  }
  if ((op & 0xfe) == 0xaa || (op & 0xfe) == 0xa4 || (op & 0xfe) == 0xa6 || (op & 0xfe) == 0xae ||
      (op & 0xfe) == 0xac) { // strings
    for (const int r : {kRcx, 6, 7}) set(s, r, {});
    s.flags = {};
    return;
  }
  if (op == 0x8f) {
    if (s.r[kRsp].kind == Kind::stack) s.r[kRsp].number += 8;
    return write_rm(i, p, next, {}, s);
  }
}

void Interpreter::step_0f(const Insn &i, const uint8_t *p, uint64_t next, uint32_t site, State &s) {
  const uint8_t op = i.opcode;
  const int reg = reg_of(i);
  if (op == 0xa2) return cpuid(s);
  if (op == 0x01 && i.modrm == 0xd0) {
    set(s, kRax, Value::taint());
    set(s, kRdx, Value::taint());
    out_.asks_features = true;
    return;
  }
  if (op == 0x1e && i.pp == 2 && i.mod() == 3 && i.reg() == 1) return set(s, rm_of(i), Value::taint()); // RDSSP: 0 without CET
  if ((op & 0xf0) == 0x40) {                                                                            // cmov
    const Value a = read_rm(i, p, next, s), b = s.r[static_cast<size_t>(reg)];
    if (s.flags.of != Flags::Of::nothing) {
      out_.tainted_addresses.push_back(site);
      const bool numbers = a.kind == Kind::constant && b.kind == Kind::constant;
      return set(s, reg, numbers ? Value::taint() : join(a, b));
    }
    return set(s, reg, join(a, b));
  }
  if ((op & 0xf0) == 0x90) { // setcc
    const Polarity pol = polarity(s.flags, op & 15);
    return write_rm(i, p, next, pol == Polarity::none ? Value{} : Value::taint(pol == Polarity::absent), s);
  }
  switch (op) {
  case 0xb6:
  case 0xb7:
  case 0xbe:
  case 0xbf: return set(s, reg, read_rm(i, p, next, s));
  case 0xa3:
  case 0xab:
  case 0xb3:
  case 0xbb: { // bt, bts, btr, btc
    const Value v = read_rm(i, p, next, s), bit = s.r[static_cast<size_t>(reg)];
    s.flags = v.tainted() || bit.tainted() ? Flags{Flags::Of::carry, v.tainted() && v.inverted} : Flags{};
    return;
  }
  case 0xba: {
    const Value v = read_rm(i, p, next, s);
    s.flags = v.tainted() ? Flags{Flags::Of::carry, v.inverted} : Flags{};
    return;
  }
  case 0xaf: s.flags = {}; return set(s, reg, {});
  case 0xa4:
  case 0xa5:
  case 0xac:
  case 0xad: { // shld, shrd
    const Value v = read_rm(i, p, next, s);
    return write_rm(i, p, next, v.tainted() ? v : s.r[static_cast<size_t>(reg)].tainted() ? Value::taint() : Value{}, s);
  }
  case 0xbc:
  case 0xbd:
  case 0xb8: s.flags = {}; return set(s, reg, {});
  case 0xc0:
  case 0xc1:
  case 0xb0:
  case 0xb1:
    if (op >= 0xc0)
      set(s, reg, {});
    else
      set(s, kRax, {});
    s.flags = {};
    return write_rm(i, p, next, {}, s);
  case 0x31: set(s, kRax, {}); return set(s, kRdx, {});
  default: break;
  }
  if ((op & 0xf8) == 0xc8 || op == 0x0b || op == 0x05 || (op >= 0x18 && op <= 0x1f) || op == 0xae || op == 0x0d) return;
  step_vector(i, p, next, s);
}

// SSE, AVX and the rest: moves and shuffles keep taint.
void Interpreter::step_vector(const Insn &i, const uint8_t *p, uint64_t next, State &s) {
  if (!i.modrm_at) return;
  const auto reg = static_cast<size_t>(reg_of(i) & 15), rm = static_cast<size_t>(rm_of(i) & 15);
  const uint8_t op = i.opcode;
  const bool vex = i.map >= Map::vex1;
  if (i.map == Map::vex2 && op >= 0xf2 && op <= 0xf7) { // andn, bls*, bzhi, pdep, bextr, shlx
    const Value a = read_rm(i, p, next, s), b = s.r[i.vvvv & 15];
    Value v = a.tainted() ? a : b.tainted() ? b : Value{};
    if (op == 0xf2 && b.tainted() && !a.tainted()) v.inverted = !v.inverted;
    s.flags = v.tainted() ? Flags{Flags::Of::bits, v.inverted} : Flags{};
    if (op == 0xf3) return set(s, i.vvvv & 15, v.tainted() ? v : Value{});
    return set(s, static_cast<int>(reg), v);
  }
  if (i.map == Map::vex3 && op == 0xf0) return set(s, static_cast<int>(reg), read_rm(i, p, next, s)); // rorx
  if (i.map == Map::x0f38 && op >= 0xf0) {
    s.flags = {};
    return set(s, static_cast<int>(reg), {});
  }
  const bool x0f = i.map == Map::x0f || i.map == Map::vex1 || i.map == Map::evex1;
  const bool to_gpr = x0f && ((op == 0x7e && i.pp == 1) || op == 0xd7 || op == 0x50 || op == 0xc5 || ((op & 0xfe) == 0x2c));
  const bool store_form = x0f && (op == 0x11 || op == 0x13 || op == 0x17 || op == 0x29 || op == 0x2b || op == 0x7f ||
                                  op == 0xd6 || op == 0xe7 || (op == 0x7e && i.pp == 1));
  if (x0f && (op == 0x2e || op == 0x2f)) { // comiss
    s.flags = {};
    return;
  }
  if (store_form) {
    const Value v = s.x[reg];
    if (op == 0x7e && i.mod() == 3) return set(s, static_cast<int>(rm), v);
    if (i.mod() == 3) {
      s.x[rm] = v;
      return;
    }
    const Address a = address_of(i, p, next, s);
    store(a, v, s);
    if (!v.tainted() || a.indexed || (op == 0x7e || op == 0xd6 || op == 0x13)) return;
    for (const int more : {4, 8, 12}) { // the lanes
      Address lane = a;
      lane.base.number += more;
      store(lane, v, s);
    }
    return;
  }
  Value v;
  const bool from_gpr = (x0f && op == 0x6e) || (x0f && (op == 0xc4 || op == 0x2a)) ||
                        ((i.map == Map::x0f3a || i.map == Map::vex3) && (op == 0x20 || op == 0x22));
  if (i.mod() != 3)
    v = load(address_of(i, p, next, s), s, false);
  else
    v = from_gpr ? s.r[rm] : s.x[rm];
  if (to_gpr) return set(s, static_cast<int>(reg), s.x[rm].tainted() ? s.x[rm] : Value{});
  if (!v.tainted()) {
    const bool plain_move = x0f && (op == 0x10 || op == 0x28 || op == 0x6f || op == 0x6e || (op == 0x7e && i.pp == 2));
    v = plain_move ? (v.kind == Kind::loaded ? Value{} : v) : s.x[reg].tainted() ? s.x[reg] : Value{};
    if (vex && !plain_move && s.x[i.vvvv & 15].tainted()) v = s.x[i.vvvv & 15];
  }
  s.x[reg] = v;
}

// ------------------------------------------------------------------ the function

void Interpreter::run_block(uint32_t block, State &s) {
  const Block &b = cfg_.blocks()[block];
  in_guarded_ = !guarded_.empty() && guarded_[block];
  for (uint32_t i = b.first; i < b.last; ++i) step(cfg_.insns()[i], block, s);
}

void Interpreter::pass() {
  const size_t count = cfg_.blocks().size();
  in_.assign(count, {});
  taken_.assign(count, Polarity::none);
  out_.tainted_addresses.clear();
  any_return_ = false;
  result_ = {};
  std::vector<uint8_t> visits(count);
  std::vector<uint32_t> todo;
  std::vector<bool> queued(count);
  for (const uint32_t entry : cfg_.entries()) {
    State s;
    s.live = true;
    if (entry == 0) {
      s.r[kRsp] = Value::stack(0);
      for (int k = 0; k < 6; ++k)
        s.r[static_cast<size_t>(kArgumentRegisters[k])] = known_.arguments >> k & 1 ? Value::taint() : Value::argument(k, 0);
    }
    in_[entry] = s;
    todo.push_back(entry);
    queued[entry] = true;
  }
  // Lowest block first: compilers lay out code roughly in the order in which it runs.
  std::ranges::make_heap(todo, std::greater<>());
  while (!todo.empty()) {
    std::ranges::pop_heap(todo, std::greater<>());
    const uint32_t block = todo.back();
    todo.pop_back();
    queued[block] = false;
    if (visits[block]++ >= kVisits) continue;
    State s = in_[block];
    run_block(block, s);
    cfg_.successors(block, [&](uint32_t next, bool) {
      if (!in_[next].merge(s) || queued[next]) return;
      queued[next] = true;
      todo.push_back(next);
      std::ranges::push_heap(todo, std::greater<>());
    });
  }
}

// A block is guarded if every path to it crosses an edge that means "present". Where the meaning of a branch is not clear,
// either side may be the one: each is cut in turn.
std::vector<bool> Interpreter::find_guarded() const {
  const size_t count = cfg_.blocks().size();
  std::vector<bool> guarded(count);
  bool unclear = false;
  for (const Polarity p : taken_) unclear |= p == Polarity::unclear;
  for (const bool cut_taken : {true, false}) {
    if (!cut_taken && !unclear) break;
    std::vector<bool> seen(count);
    std::vector<uint32_t> todo;
    for (const uint32_t entry : cfg_.entries()) {
      seen[entry] = true;
      todo.push_back(entry);
    }
    while (!todo.empty()) {
      const uint32_t b = todo.back();
      todo.pop_back();
      const Polarity p = taken_[b];
      cfg_.successors(b, [&](uint32_t next, bool is_taken) {
        const bool cut = (p == Polarity::present && is_taken) || (p == Polarity::absent && !is_taken) ||
                         (p == Polarity::unclear && is_taken == cut_taken);
        if (cut || seen[next]) return;
        seen[next] = true;
        todo.push_back(next);
      });
    }
    for (size_t b = 0; b < count; ++b)
      if (!seen[b]) guarded[b] = true;
  }
  return guarded;
}

Outcome Interpreter::run() {
  if (cfg_.blocks().empty()) return out_;
  pass();
  bool branches = false;
  for (const Polarity p : taken_) branches |= p != Polarity::none;
  if (branches || out_.asks_features) {
    guarded_ = find_guarded();
    // Again, with what is written behind a check, and (in a function that asks the CPU) what is stored after asking.
    pass();
    guarded_ = find_guarded();
  }
  for (uint32_t b = 0; b < taken_.size(); ++b)
    if (taken_[b] != Polarity::none) out_.branches.push_back({b, taken_[b]});
  out_.guarded = guarded_;
  if (any_return_ && result_.tainted()) out_.summary.result = result_;
  std::ranges::sort(out_.summary.writes);
  std::ranges::sort(out_.summary.calls);
  out_.summary.fields = known_.fields;
  out_.summary.arguments = known_.arguments;
  return out_;
}

} // namespace

Outcome interpret(const Program &program, const Function &f, const Cfg &cfg, const Summary &known, World &world) {
  return Interpreter(program, f, cfg, known, world).run();
}

} // namespace isa_audit::host
