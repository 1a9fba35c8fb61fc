// Runs a function's blocks until nothing changes, then cuts the edges that mean "present" to see what lies behind them.
#include "interpreter.h"

namespace isa_audit::host {

namespace {
constexpr int kVisits = 4; // of each block
} // namespace

const Edge *Interpreter::edge_at(uint32_t site) const {
  const std::span<const Edge> edges = program_.edges(f_);
  const auto it = std::ranges::lower_bound(edges, site, {}, &Edge::site);
  return it != edges.end() && it->site == site ? &*it : nullptr;
}

void Interpreter::run_block(uint32_t block, State &s) {
  const Block &b = cfg_.blocks()[block];
  in_guarded_ = !guarded_.empty() && guarded_[block];
  in_absent_ = !absent_.empty() && absent_[block];
  block_tested_ =
      in_guarded_ && block < out_.tested.size() && out_.tested[block] ? Tested::of(*out_.tested[block]) : Tested::kUnknown;
  for (uint32_t i = b.first; i < b.last; ++i) step(cfg_.insns()[i], block, s);
  if (!in_guarded_) return;
  // A "yes" that was made here also proves what led here.
  const auto add = [&](Value &v, const Value &before) {
    if (v.tainted() && v.number != Tested::kUnknown && !(v == before) && !v.weak)
      v.number = Tested::both(v.number, block_tested_);
  };
  for (size_t i = 0; i < s.r.size(); ++i) add(s.r[i], in_[block].r[i]);
  for (auto &[offset, v] : s.stack) {
    const Value *before = in_[block].slot(offset);
    add(v, before ? *before : Value{});
  }
}

void Interpreter::pass() {
  const size_t count = cfg_.blocks().size();
  in_.assign(count, {});
  taken_.assign(count, Polarity::none);
  proven_.assign(count, std::nullopt);
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
        s.r[static_cast<size_t>(kArgumentRegisters[k])] = known_.arguments >> k & 1 ? Value::taint()
                                                          : known_.objects >> k & 1 ? Value::object()
                                                                                    : Value::argument(k, 0);
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

// The blocks to which every path crosses an edge that means `side` (present, absent). Where the meaning of a branch is not
// clear, either edge may mean "present": each is cut in turn.
std::vector<bool> Interpreter::find_behind(Polarity side) const {
  const size_t count = cfg_.blocks().size();
  const Polarity other = side == Polarity::present ? Polarity::absent : Polarity::present;
  std::vector<bool> behind(count);
  bool unclear = false;
  for (const Polarity p : taken_) unclear |= p == Polarity::unclear && side == Polarity::present;
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
        const bool cut = (p == side && is_taken) || (p == other && !is_taken) ||
                         (unclear && p == Polarity::unclear && is_taken == cut_taken);
        if (cut || seen[next]) return;
        seen[next] = true;
        todo.push_back(next);
      });
    }
    for (size_t b = 0; b < count; ++b)
      if (!seen[b]) behind[b] = true;
  }
  return behind;
}

void Interpreter::find_sides() {
  guarded_ = find_behind(Polarity::present);
  absent_ = find_behind(Polarity::absent);
  out_.tested = find_tested();
}

// What the checks on every path to a block prove: along an edge that means "present" its features are added, where paths meet
// only what both have is left. A check that is not understood may prove anything, so nothing is known behind it.
std::vector<std::optional<IsaSet>> Interpreter::find_tested() const {
  const size_t count = cfg_.blocks().size();
  struct Fact {
    bool reached = false, known = true; // known: `set` is all that may be proven
    IsaSet set;
  };
  std::vector<Fact> facts(count);
  std::vector<uint32_t> todo;
  std::vector<bool> queued(count);
  for (const uint32_t entry : cfg_.entries()) {
    facts[entry].reached = true;
    todo.push_back(entry);
    queued[entry] = true;
  }
  while (!todo.empty()) {
    const uint32_t b = todo.back();
    todo.pop_back();
    queued[b] = false;
    const Fact &from = facts[b];
    cfg_.successors(b, [&](uint32_t next, bool is_taken) {
      Fact f = from;
      const Polarity p = taken_[b];
      if (p == Polarity::unclear)
        f.known = false;
      else if (p != Polarity::none && (p == Polarity::present) == is_taken) {
        f.known &= proven_[b].has_value();
        if (proven_[b]) f.set |= *proven_[b];
      }
      if (!f.known) f.set = {};
      Fact &to = facts[next];
      Fact merged = f;
      if (to.reached) {
        // "Not known" is the weakest claim that something is missing: it stays only if all paths have it.
        merged.known = to.known || f.known;
        merged.set = to.known && f.known ? to.set & f.set : to.known ? to.set : f.set;
      }
      if (to.reached && merged.known == to.known && merged.set == to.set) return;
      to = merged;
      if (!queued[next]) todo.push_back(next);
      queued[next] = true;
    });
  }
  std::vector<std::optional<IsaSet>> tested(count);
  for (size_t b = 0; b < count; ++b)
    if (facts[b].reached && facts[b].known) tested[b] = facts[b].set;
  return tested;
}

Outcome Interpreter::run() {
  if (cfg_.blocks().empty()) return out_;
  out_.asks_features = known_.asks != 0; // reads what Linux prints of the CPU
  pass();
  bool branches = false;
  for (const Polarity p : taken_) branches |= p != Polarity::none;
  if (branches || out_.asks_features) {
    find_sides();
    // Again, with what is written behind a check, and (in a function that asks the CPU) what is stored after asking.
    pass();
    find_sides();
  }
  for (uint32_t b = 0; b < taken_.size(); ++b)
    if (taken_[b] != Polarity::none) out_.branches.push_back({b, taken_[b]});
  out_.guarded = guarded_;
  if (out_.asks_features) asks_ = 1;
  out_.summary.asks = asks_;
  if (any_return_ && (result_.tainted() || result_.kind == Kind::object || result_.kind == Kind::inside))
    out_.summary.result = result_;
  // One object, made on the way by what asks the CPU: the instance of a class for it.
  if (any_return_ && asks_ && result_.kind == Kind::constant && image_.is_writable(static_cast<uint64_t>(result_.number)))
    out_.summary.result = Value::object();
  std::ranges::sort(out_.summary.writes);
  std::ranges::sort(out_.summary.calls);
  out_.summary.fields = known_.fields;
  out_.summary.arguments = known_.arguments;
  out_.summary.objects = known_.objects;
  return out_;
}

Outcome interpret(const Program &program, const Function &f, const Cfg &cfg, const Summary &known, World &world) {
  return Interpreter(program, f, cfg, known, world).run();
}

} // namespace isa_audit::host
