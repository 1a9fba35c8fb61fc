// What the analysis of guards knows of a value: where it points, whose argument it is, or that it comes from a question about
// the CPU ("taint").
#pragma once

#include <cstdint>
#include <vector>

namespace isa_audit::host {

enum class Kind : uint8_t {
  unknown,
  constant, // a number or an address: `number`
  stack,    // the stack pointer at entry plus `number`
  argument, // argument register `arg` (0 = rdi … 5 = r9) at entry plus `number`
  loaded,   // what [argument `arg` + `number`] held at entry
  inside,   // read through the pointer in argument `arg`; `number` is 1 when only bits of that are left
  external, // the address of an imported object: `number` is the index of its dynamic symbol
  object,   // points to, or was read through a pointer to, an object that holds what the CPU can do
  taint,    // depends on features of the CPU
};

struct Value {
  Kind kind = Kind::unknown;
  uint8_t arg = 0;
  bool inverted = false; // taint: non-zero means that the feature is absent
  bool weak = false;     // taint: a constant written behind a check; `arg` is one more than it, 0 if it is large
  bool may = false;      // taint on some paths only: good for globals and branches, not for results
  int64_t number = 0;    // of taint: what it says of the CPU (tested.h)

  bool operator==(const Value &) const = default;
  bool tainted() const { return kind == Kind::taint; }
  static Value constant(int64_t n) { return {Kind::constant, 0, false, false, false, n}; }
  static Value stack(int64_t n) { return {Kind::stack, 0, false, false, false, n}; }
  static Value argument(int k, int64_t n) { return {Kind::argument, static_cast<uint8_t>(k), false, false, false, n}; }
  static Value inside(int k, bool bits) { return {Kind::inside, static_cast<uint8_t>(k), false, false, false, bits ? 1 : 0}; }
  static Value object() { return {Kind::object, 0, false, false, false, 0}; }
  // What is read through an argument, however deep.
  bool from_argument() const { return kind == Kind::loaded || kind == Kind::inside; }
  static Value taint(bool inverted = false, int64_t tested = 0) { return {Kind::taint, 0, inverted, false, false, tested}; }
};

// The value where two paths meet.
inline Value join(const Value &a, const Value &b) {
  if (a == b) return a;
  if (a.tainted() && b.tainted()) {
    Value v = Value::taint(a.inverted);
    v.arg = a.arg == b.arg ? a.arg : 0;
    v.weak = a.weak && b.weak;
    v.may = a.may || b.may;
    v.number = a.number == b.number ? a.number : 0;
    return v;
  }
  if (a.from_argument() && b.from_argument() && a.arg == b.arg)
    return Value::inside(a.arg, a.kind == Kind::inside && b.kind == Kind::inside && (a.number || b.number));
  const Value &t = a.tainted() ? a : b, &other = a.tainted() ? b : a;
  if (!t.tainted()) {
    // A predicate that gives a constant on one way and an answer on the other.
    if (a.kind == Kind::inside && b.kind == Kind::constant) return a;
    if (b.kind == Kind::inside && a.kind == Kind::constant) return b;
    return {};
  }
  if (other.kind == Kind::constant) {
    // A "yes" may have been taken back by a check on the other way; one written as a constant was made behind all of them.
    Value v = t;
    if (!t.weak) v.number = 0;
    return v;
  }
  if (t.weak) return {};
  Value v = t;
  v.may = true;
  return v;
}

// The flags register, as far as it depends on features.
struct Flags {
  enum class Of : uint8_t { nothing, bits, equal, carry, unclear };
  Of of = Of::nothing; // bits: non-zero = present; equal: equal or greater = present; carry: carry = present
  bool inverted = false;
  int8_t inside = -1; // not -1: of bits read through this argument, so features only if the caller's object tells of them
  int64_t tested = 0; // as in a tainted value

  bool operator==(const Flags &) const = default;
};

enum class Polarity : uint8_t { none, present, absent, unclear }; // of a condition that holds

// `condition`: the low four bits of Jcc, SETcc, CMOVcc.
inline Polarity polarity(const Flags &flags, uint8_t condition) {
  if (flags.of == Flags::Of::nothing || flags.inside >= 0) return Polarity::none;
  int present = -1; // 1 present, 0 absent
  const auto among = [&](std::initializer_list<int> yes, std::initializer_list<int> no) {
    for (const int c : yes)
      if (c == condition) present = 1;
    for (const int c : no)
      if (c == condition) present = 0;
  };
  switch (flags.of) {
  case Flags::Of::bits: among({5, 8, 7, 15}, {4, 9, 6, 14}); break;
  case Flags::Of::equal: among({4, 13, 15, 3, 7}, {5, 12, 14, 2, 6}); break;
  case Flags::Of::carry: among({2}, {3}); break;
  default: break;
  }
  if (present < 0) return Polarity::unclear;
  return (present == 1) != flags.inverted ? Polarity::present : Polarity::absent;
}

// What a call of a function does with values, as far as its callers care.
struct Summary {
  struct Field {
    uint8_t arg = 0;
    int32_t offset = 0;
    uint8_t size = 1; // bytes, of writes
    auto operator<=>(const Field &) const = default;
  };
  Value result;              // taint, an object, what is inside an argument, or unknown
  std::vector<Field> writes; // [argument + offset] becomes taint
  std::vector<Field> calls;  // calls the pointer in [argument + offset]; offset kItself: the argument itself
  std::vector<Field> fields; // known of its callers: [argument + offset] is taint
  uint8_t arguments = 0;     // known of its callers: these arguments are taint
  uint8_t objects = 0;       // known of its callers: these point to objects that tell of the CPU
  // Calls from here to where the CPU is asked, plus one; 0: none, or too far.
  uint8_t asks = 0;
  bool returns = true; // false: a call of it does not come back
  static constexpr int32_t kItself = INT32_MIN;

  bool operator==(const Summary &) const = default;
};

} // namespace isa_audit::host
