// Calls, returns and CPUID: where knowledge enters and leaves a function.
#include "interpreter.h"

namespace isa_audit::host {

void Interpreter::finish_return(const Value &v) {
  const bool fits = v.tainted() ? !v.may : v.kind == Kind::constant || v.kind == Kind::object || v.from_argument();
  Value value = fits ? v : Value{};
  if (value.kind == Kind::loaded) value = Value::inside(v.arg, false);
  if (in_guarded_ && value.tainted() && !value.weak) value.number = Tested::both(value.number, block_tested_);
  if (!any_return_)
    result_ = value;
  else if (result_.kind == Kind::unknown || value.kind == Kind::unknown)
    result_ = {};
  else if (result_.kind == Kind::constant && value.kind == Kind::constant)
    result_ = result_ == value ? value : Value::constant(0); // some constant
  else
    result_ = join(result_, value);
  if (result_.may) result_ = {};
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
  if (jump && effect.returns) finish_return(effect.result); // else a landing pad, on to its cold part
}

void Interpreter::apply(const Summary &effect, const World::Call &c, State &s) {
  if (effect.asks && effect.asks < kAskDepth && (!asks_ || effect.asks + 1 < asks_)) asks_ = effect.asks + 1;
  for (const Summary::Field &w : effect.writes) {
    const Value &v = c.arguments[w.arg];
    Address a;
    a.base = v;
    if (v.kind != Kind::constant && v.kind != Kind::stack && v.kind != Kind::argument) continue;
    a.base.number += w.offset;
    store(a, Value::taint(), s, w.size);
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
  const auto number_of = [](const Value &v) -> std::optional<uint32_t> {
    if (v.kind == Kind::constant) return static_cast<uint32_t>(v.number);
    if (v.weak && v.arg) return v.arg - 1U;
    return std::nullopt;
  };
  const std::optional<uint32_t> leaf = number_of(s.r[kRax]), subleaf = number_of(s.r[kRcx]);
  bool features = true;
  if (leaf) {
    switch (*leaf) {
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
  const std::pair<int, char> outputs[] = {{kRax, 'a'}, {kRbx, 'b'}, {kRcx, 'c'}, {kRdx, 'd'}};
  for (const auto &[reg, letter] : outputs) {
    // Where the sub-leaf matters and is not known, nothing is known of the word.
    const int64_t word = leaf ? Tested::word(*leaf, subleaf.value_or(UINT32_MAX), letter) : Tested::kUnknown;
    set(s, reg, features ? Value::taint(false, word) : Value{});
  }
  out_.asks_features |= features;
}

} // namespace isa_audit::host
