// SSE, AVX and the rest: moves and shuffles keep taint, for compilers store flags by the vector.
#include "interpreter.h"

namespace isa_audit::host {

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

} // namespace isa_audit::host
