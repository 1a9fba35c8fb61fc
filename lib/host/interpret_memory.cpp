// Addresses, loads and stores of the interpreter: what memory holds is known for globals (through the world), for the stack by
// offset, and for objects of the caller as far as the caller told.
#include "interpreter.h"

namespace isa_audit::host {

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
  case Kind::loaded:
  case Kind::inside: return Value::inside(a.base.arg, !pointer_size);
  case Kind::object: return pointer_size ? a.base : Value::taint();
  case Kind::external: return world_.is_detector_object(static_cast<uint32_t>(a.base.number)) ? Value::taint() : Value{};
  default: return a.by_taint ? Value::taint() : Value{};
  }
}

namespace {

// The bytes that a general-purpose instruction writes to memory.
uint8_t stored_bytes(const Insn &i) {
  const bool byte = i.map == Map::one ? !(i.opcode & 1) && i.opcode != 0x8e : i.map == Map::x0f && (i.opcode & 0xf0) == 0x90;
  return byte ? 1 : i.rex & 8 ? 8 : i.operand16 ? 2 : 4;
}

} // namespace

namespace {
bool is_zero(const Value &v) { return v.kind == Kind::constant ? v.number == 0 : v.weak && v.arg == 1; }
} // namespace

// What a global tells of the CPU that is zero from here on and something else before: glibc switches off its tries of a lock
// with transactions (__elision_aconf) after a "no". Zero over zero tells nothing.
Value Interpreter::switched_off(const Address &a, uint8_t size) const {
  if (!(in_absent_ || in_guarded_) || a.indexed) return {};
  const uint8_t *before = image_.bytes_at(static_cast<uint64_t>(a.base.number), size);
  if (!before || std::all_of(before, before + size, [](uint8_t byte) { return byte == 0; })) return {};
  return Value::taint(!in_absent_, Tested::kUnknown);
}

void Interpreter::store(const Address &a, Value v, State &s, uint8_t size) {
  if (out_.asks_features && a.base.kind != Kind::stack && (v.kind == Kind::unknown || v.may)) v = Value::taint();
  if (in_guarded_ && v.tainted() && !v.weak && a.base.kind != Kind::stack) v.number = Tested::both(v.number, block_tested_);
  switch (a.base.kind) {
  case Kind::constant:
    if (is_zero(v)) v = switched_off(a, size);
    if (v.tainted()) world_.store_global(static_cast<uint64_t>(a.base.number), v, size);
    break;
  case Kind::stack:
    if (!a.indexed) s.set_slot(a.base.number, v);
    break;
  case Kind::argument:
    if (v.tainted() && !v.may && !a.indexed) {
      const Summary::Field field{a.base.arg, static_cast<int32_t>(a.base.number), size};
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
    store(address_of(i, p, next, s), v, s, stored_bytes(i));
}

} // namespace isa_audit::host
