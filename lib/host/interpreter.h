// The interpreter's state at a point of a function, and the class that steps through instructions. Private to interpret*.cpp:
// interpret.cpp runs the blocks, interpret_memory.cpp knows addresses, loads and stores, interpret_call.cpp calls and CPUID,
// interpret_integer.cpp and interpret_vector.cpp the instructions.
#pragma once

#include <algorithm>

#include "interpret.h"
#include "tested.h"

namespace isa_audit::host {

inline constexpr int kRax = 0, kRcx = 1, kRdx = 2, kRbx = 3, kRsp = 4, kRbp = 5;
inline constexpr int kArgumentRegisters[] = {7, 6, 2, 1, 8, 9}; // rdi rsi rdx rcx r8 r9
inline constexpr int64_t kFieldReach = 512;                     // bytes of a stack object that a callee is told of
inline constexpr size_t kMaxSlots = 512;
inline constexpr uint8_t kAskDepth = 4; // of calls over which a function counts as one that asks the CPU

// Registers, stack slots and flags.
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
      const bool mixed = o.flags.of == Flags::Of::nothing || flags.of == Flags::Of::nothing || o.flags.inside != flags.inside;
      const Flags merged = mixed ? Flags{} : Flags{Flags::Of::unclear, flags.inverted, flags.inside, Tested::kUnknown};
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
  std::vector<bool> find_behind(Polarity side) const;
  void find_sides();
  std::vector<std::optional<IsaSet>> find_tested() const;

  Address address_of(const Insn &i, const uint8_t *p, uint64_t next, const State &s) const;
  Value load(const Address &a, State &s, bool pointer_size);
  Value switched_off(const Address &a, uint8_t size) const;
  void store(const Address &a, Value v, State &s, uint8_t size = 4);
  Value read_rm(const Insn &i, const uint8_t *p, uint64_t next, State &s);
  void write_rm(const Insn &i, const uint8_t *p, uint64_t next, const Value &v, State &s);
  Value small(int64_t n) const; // a constant, weak taint behind a check
  void set(State &s, int reg, const Value &v) { s.r[static_cast<size_t>(reg)] = v; }

  // The flags after a look at the bits of `v`.
  static Flags flags_of(const Value &v, Flags::Of of) {
    if (v.tainted()) return {of, v.inverted, -1, v.number};
    if (v.kind == Kind::object) return {of, v.inverted, -1, Tested::kUnknown};
    if (v.from_argument()) return {of, v.inverted, static_cast<int8_t>(v.arg), Tested::kUnknown};
    return {};
  }
  // What a bit operation makes of two values.
  static Value combine(const Value &a, const Value &b) {
    if (a.tainted() || b.tainted()) {
      Value v = a.tainted() ? a : b;
      v.number = a.number == b.number ? a.number : Tested::kUnknown;
      return v;
    }
    if (a.kind == Kind::object || b.kind == Kind::object) return Value::taint();
    if (a.from_argument() || b.from_argument()) return Value::inside(a.from_argument() ? a.arg : b.arg, true);
    return {};
  }
  // What a shift or another operation that keeps bits makes of one.
  static Value bits_of(const Value &v, int64_t tested = Tested::kUnknown) {
    Value bits = combine(v, {});
    bits.number = bits.tainted() ? tested : bits.number;
    return bits;
  }
  // An AND of two values, or a test of what it would give.
  static Value conjunction(const Value &a, const Value &b);
  // The features that a "yes" of the flags proves; none if not known.
  static std::optional<IsaSet> proven(const Flags &flags) {
    if (flags.of == Flags::Of::unclear || flags.of == Flags::Of::nothing) return std::nullopt;
    return Tested::features(flags.tested, flags.of == Flags::Of::equal);
  }
  // The answer that SETcc or SBB make of the flags.
  static Value answer(const Flags &flags, bool inverted) {
    if (flags.of == Flags::Of::nothing) return {};
    if (flags.inside >= 0) return Value::inside(flags.inside, true);
    const std::optional<IsaSet> features = proven(flags);
    return Value::taint(inverted, features ? Tested::of(*features) : Tested::kUnknown);
  }

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
  std::vector<Polarity> taken_;               // of each block's branch
  std::vector<std::optional<IsaSet>> proven_; // by that branch, on its side
  std::vector<bool> guarded_, absent_;        // blocks that run only after a "yes", only after a "no"
  bool in_guarded_ = false, in_absent_ = false;
  int64_t block_tested_ = Tested::kUnknown; // what is known in the guarded block that runs
  bool any_return_ = false;
  uint8_t asks_ = 0; // as in Summary
  Value result_;
};

} // namespace isa_audit::host
