// General-purpose instructions. Bit operations and shifts keep taint, arithmetic drops it; comparisons and tests leave in the
// flags which way means "present".
#include "interpreter.h"

namespace isa_audit::host {

namespace {
constexpr int64_t kSmall = 4096; // constants that may be flags or levels
} // namespace

Value Interpreter::conjunction(const Value &a, const Value &b) {
  Value v = combine(a, b);
  if (!v.tainted()) return v;
  v.number = b.kind == Kind::constant     ? Tested::masked(a.number, static_cast<uint64_t>(b.number))
             : a.kind == Kind::constant   ? Tested::masked(b.number, static_cast<uint64_t>(a.number))
             : a.tainted() && b.tainted() ? Tested::both(a.number, b.number)
                                          : Tested::kUnknown;
  return v;
}

Value Interpreter::small(int64_t n) const {
  if (in_guarded_ && n >= 0 && n < kSmall) {
    Value v = Value::taint();
    v.weak = true;
    v.arg = static_cast<uint8_t>(n < 255 ? n + 1 : 0);
    v.number = block_tested_;
    return v;
  }
  return Value::constant(n);
}

void Interpreter::step(const Cfg::At &at, uint32_t block, State &s) {
  const Insn &i = at.insn;
  const uint8_t *p = cfg_.code() + at.offset;
  const uint64_t next = f_.start + at.offset + i.length;
  const uint8_t condition = i.opcode & 15;
  const bool branch = (i.map == Map::one && (i.opcode & 0xf0) == 0x70) || (i.map == Map::x0f && (i.opcode & 0xf0) == 0x80);
  if (branch) {
    const Polarity pol = polarity(s.flags, condition);
    if (pol != Polarity::none) {
      taken_[block] = pol;
      proven_[block] = proven(s.flags);
    }
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
  const auto test_flags = [&](const Value &v) { s.flags = flags_of(v, Flags::Of::bits); };
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
    // A pointer compared with null says nothing of what it points to.
    if (i.mod() == 3 && rm_of(i) == reg) return test_flags(a.kind == Kind::object && (i.rex & 8) ? Value{} : a);
    return test_flags(conjunction(a, b));
  }
  case 0xa8:
  case 0xa9: return test_flags(conjunction(s.r[kRax], Value::constant(immediate(p, i))));
  case 0x38:
  case 0x39:
  case 0x3a:
  case 0x3b: {
    const Value a = read_rm(i, p, next, s), b = s.r[static_cast<size_t>(reg)];
    const bool pointers = (i.rex & 8) && !a.tainted() && !b.tainted() && (a.kind == Kind::object || b.kind == Kind::object);
    Value t = pointers ? Value{} : combine(a, b);
    const Value &other = a.tainted() || a.kind == Kind::object || a.from_argument() ? b : a;
    if (t.tainted() && other.kind == Kind::constant) t.number = a.tainted() ? a.number : b.number;
    s.flags = flags_of(t, other.kind != Kind::constant ? Flags::Of::unclear
                          : other.number == 0          ? Flags::Of::bits
                                                       : Flags::Of::equal);
    return;
  }
  case 0x3c:
  case 0x3d: {
    s.flags = flags_of(s.r[kRax], immediate(p, i) ? Flags::Of::equal : Flags::Of::bits);
    return;
  }
  case 0x80:
  case 0x81:
  case 0x83: {
    const Value v = read_rm(i, p, next, s);
    const int64_t n = immediate(p, i);
    switch (i.reg()) {
    case 7:
      s.flags = flags_of(v.kind == Kind::object && n == 0 && (i.rex & 8) ? Value{} : v, n ? Flags::Of::equal : Flags::Of::bits);
      return;
    case 1: // or
    case 4: // and
      if (v.kind == Kind::stack && i.reg() == 4) {
        set(s, rm_of(i), Value::stack(v.number & n));
        return;
      }
      {
        const Value bits = i.reg() == 4 ? conjunction(v, Value::constant(n)) : bits_of(v);
        test_flags(bits);
        return write_rm(i, p, next, bits, s);
      }
    case 6: { // xor flips
      Value flipped = bits_of(v, v.number);
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
    const bool right = i.reg() == 5 || i.reg() == 7;
    const auto count = static_cast<unsigned>(op < 0xc2 ? immediate(p, i) & 63 : op < 0xd2 ? 1 : 64);
    const Value bits = bits_of(v, right && count < 64 ? Tested::shifted(v.number, count) : Tested::kUnknown);
    test_flags(bits);
    return write_rm(i, p, next, bits, s);
  }
  case 0xf6:
  case 0xf7: {
    const Value v = read_rm(i, p, next, s);
    if (i.reg() < 2) return test_flags(conjunction(v, Value::constant(immediate(p, i))));
    if (i.reg() == 2) { // not
      Value flipped = bits_of(v, v.number);
      flipped.inverted = v.tainted() && !v.inverted;
      return write_rm(i, p, next, flipped, s);
    }
    if (i.reg() == 3) { // neg: carry says non-zero
      s.flags = flags_of(v, Flags::Of::carry);
      return write_rm(i, p, next, bits_of(v), s);
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
      Value v = group == 4 ? conjunction(s.r[kRax], Value::constant(immediate(p, i))) : bits_of(s.r[kRax]);
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
      v = answer(s.flags, s.flags.inverted); // sbb
    else if (group == 4)
      v = conjunction(a, b);
    else if (group == 1 || group == 6)
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
    // What the operating system saves.
    set(s, kRax, Value::taint(false, Tested::nothing()));
    set(s, kRdx, Value::taint(false, Tested::nothing()));
    out_.asks_features = true;
    return;
  }
  if (op == 0x1e && i.pp == 2 && i.mod() == 3 && i.reg() == 1) return set(s, rm_of(i), Value::taint()); // RDSSP: 0 without CET
  if ((op & 0xf0) == 0x40) {                                                                            // cmov
    const Value a = read_rm(i, p, next, s), b = s.r[static_cast<size_t>(reg)];
    if (s.flags.of != Flags::Of::nothing && s.flags.inside < 0) {
      out_.tainted_addresses.push_back(site);
      const bool numbers = a.kind == Kind::constant && b.kind == Kind::constant;
      return set(s, reg, numbers ? Value::taint() : join(a, b));
    }
    return set(s, reg, join(a, b));
  }
  if ((op & 0xf0) == 0x90) { // setcc
    const Polarity pol = polarity(s.flags, op & 15);
    return write_rm(i, p, next, answer(s.flags, pol == Polarity::absent), s);
  }
  switch (op) {
  case 0xb6:
  case 0xb7:
  case 0xbe:
  case 0xbf: { // no pointer any more
    const Value v = read_rm(i, p, next, s);
    return set(s, reg, v.kind == Kind::object ? Value::taint() : v);
  }
  case 0xa3:
  case 0xab:
  case 0xb3:
  case 0xbb: { // bt, bts, btr, btc
    const Value v = read_rm(i, p, next, s), bit = s.r[static_cast<size_t>(reg)];
    Value looked = combine(v, bit);
    looked.number = looked.tainted() && bit.kind == Kind::constant
                        ? Tested::bit(v.number, static_cast<unsigned>(bit.number & 63))
                    : looked.tainted() ? Tested::kUnknown
                                       : looked.number;
    s.flags = flags_of(looked, Flags::Of::carry);
    return;
  }
  case 0xba: {
    const Value v = read_rm(i, p, next, s);
    s.flags = flags_of(v.tainted() ? bits_of(v, Tested::bit(v.number, static_cast<unsigned>(immediate(p, i) & 63))) : v,
                       Flags::Of::carry);
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

} // namespace isa_audit::host
