#include "guards.h"

#include "detectors.h"
#include "tested.h"

#include <algorithm>
#include <iterator>

#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit::host {

namespace {

constexpr int kVisits = 6;        // of one function by the worklist
constexpr size_t kFewCallers = 8; // only these learn what their callers pass
constexpr size_t kMaxFunctions = 200000;
constexpr uint64_t kTableReach = 1024;   // of an indexed table of flags
constexpr uint64_t kSmallFunction = 512; // bytes of a method that is looked into for what it reads

} // namespace

Guards::Guards(Graph &graph)
    : graph_(graph), followed_(graph.size()), guarding_(graph.size()), with_indirect_(graph.size()),
      globals_(graph.file_count()), skipped_(graph.file_count()) {
  // Who calls whom, backwards.
  std::vector<uint32_t> count(graph.size() + 1);
  const auto each = [&](auto visit) {
    for (size_t file = 0; file < graph.file_count(); ++file) {
      const Program &program = graph.program(file);
      for (Node n = graph.first(file); n < graph.first(file + 1); ++n)
        for (const Edge &e : program.edges(graph.function(file, n))) {
          if (e.kind == EdgeKind::address) continue;
          const Node to = graph.target(file, e);
          if (to != kNoNode && to != n) visit(n, to);
        }
    }
  };
  each([&](Node, Node to) { ++count[to + 1]; });
  for (size_t i = 1; i < count.size(); ++i) count[i] += count[i - 1];
  caller_start_ = count;
  callers_.resize(count.back());
  each([&](Node from, Node to) { callers_[count[to]++] = from; });
}

std::span<const Node> Guards::callers(Node node) const {
  return {callers_.data() + caller_start_[node], caller_start_[node + 1] - caller_start_[node]};
}

bool Guards::never_returns(size_t file, const Edge &edge) const {
  const Node to = graph_.target(file, edge);
  if (to != kNoNode) {
    const Function &f = graph_.function(to);
    return !f.returns && !f.open && f.decoded == f.end - f.start;
  }
  if (!edge.external) return false;
  const std::optional<DynamicSymbol> s = graph_.program(file).image().symbol(static_cast<uint32_t>(edge.target));
  return s && is_no_return(s->name);
}

std::shared_ptr<const Cfg> Guards::cfg(Node node) const {
  if (const auto it = info_.find(node); it != info_.end() && it->second.cfg) return it->second.cfg;
  const size_t file = graph_.file_of(node);
  return std::make_shared<const Cfg>(graph_.program(file), graph_.function(file, node),
                                     [&](const Edge &e) { return never_returns(file, e); });
}

const std::vector<Guards::Indirect> &Guards::indirect(Node node) const {
  static const std::vector<Indirect> kNone;
  if (!with_indirect_[node]) return kNone;
  const auto it = info_.find(node);
  return it == info_.end() ? kNone : it->second.indirect;
}

const ClassSet &Guards::unguarded_classes(Node node) const {
  const auto it = info_.find(node);
  return it != info_.end() && it->second.has_guards ? it->second.unguarded : graph_.function(node).classes;
}

bool Guards::is_guarded(Node node, uint32_t site) const {
  if (!guarding_[node]) return false;
  const auto it = info_.find(node);
  if (it == info_.end() || !it->second.has_guards) return false;
  const Info &info = it->second;
  const uint32_t block = info.cfg->block_of(site);
  if (block == kNoBlock) return false;
  if (block < info.guarded.size() && info.guarded[block]) return true;
  // A conditional jump out of the function that itself asks.
  for (const Outcome::Branch &b : info.branches)
    if (b.block == block && (b.taken == Polarity::present || b.taken == Polarity::unclear)) {
      const Block &last = info.cfg->blocks()[block];
      if (info.cfg->insns()[last.last - 1].offset == site && last.taken == kNoBlock) return true;
    }
  // An address that a feature chooses.
  for (const uint32_t chosen : info.tainted_addresses)
    if (site <= chosen && chosen - site < 64) return true;
  return false;
}

std::optional<IsaSet> Guards::tested(Node node, uint32_t block) const {
  const auto it = info_.find(node);
  if (it == info_.end() || block >= it->second.tested.size()) return IsaSet{};
  return it->second.tested[block];
}

uint64_t Guards::guard_of(Node node) const {
  const auto it = info_.find(node);
  if (it == info_.end() || it->second.branches.empty()) return 0;
  const Block &b = it->second.cfg->blocks()[it->second.branches.front().block];
  return graph_.function(node).start + it->second.cfg->insns()[b.last - 1].offset;
}

// ------------------------------------------------------------------ the worklist

void Guards::enqueue(Node node) {
  if (node == kNoNode) return;
  if (info_.size() > kMaxFunctions && !info_.contains(node)) {
    ++skipped_[graph_.file_of(node)];
    return;
  }
  Info &info = info_[node];
  if (info.queued || info.visits >= kVisits) return;
  info.queued = true;
  todo_.push_back(node);
}

void Guards::seed() {
  for (size_t file = 0; file < graph_.file_count(); ++file) {
    const Program &program = graph_.program(file);
    const Image &image = program.image();
    for (Node n = graph_.first(file); n < graph_.first(file + 1); ++n)
      if (graph_.function(file, n).detects) enqueue(n);
    for (const uint64_t name : program.watched())
      for (const Reference &reader : program.references(name, 1)) {
        info_[graph_.first(file) + reader.function].known.asks = 1;
        enqueue(graph_.first(file) + reader.function);
      }
    // Imported detectors, by the slots through which they are reached.
    for (const Relocation &r : image.relocations()) {
      if (!r.symbol) continue;
      const std::optional<DynamicSymbol> s = image.symbol(r.symbol);
      if (s && host::is_detector_object(s->name))
        for (const Reference &ref : program.references(r.where, 8)) enqueue(graph_.first(file) + ref.function);
    }
    std::unordered_map<uint64_t, bool> detector;
    for (Node n = graph_.first(file); n < graph_.first(file + 1); ++n)
      for (const Edge &e : program.edges(graph_.function(file, n))) {
        if (!e.external || e.kind == EdgeKind::address) continue;
        const auto [it, fresh] = detector.try_emplace(e.target, false);
        if (fresh)
          if (const std::optional<DynamicSymbol> s = image.symbol(static_cast<uint32_t>(e.target)))
            it->second = s->name == "getauxval" || is_detector_function(s->name);
        if (it->second) enqueue(n);
      }
  }
}

void Guards::run() {
  seed();
  drain();
}

bool Guards::is_explored(Node node) const {
  const auto it = info_.find(node);
  return it != info_.end() && it->second.visited;
}

bool Guards::calls_arguments(Node node) const {
  const auto it = info_.find(node);
  return it != info_.end() && !it->second.summary.calls.empty();
}

void Guards::explore(const std::vector<Node> &nodes) {
  for (const Node n : nodes)
    if (!info_[n].visited) enqueue(n);
  drain();
}

void Guards::drain() {
  while (!todo_.empty()) {
    const Node node = todo_.front();
    todo_.pop_front();
    info_[node].queued = false;
    process(node);
  }
  release();
}

// Instructions and blocks take far more memory than what was learnt from them, and most functions have no check.
void Guards::release() {
  for (const Node node : processed_)
    if (!guarding_[node]) info_[node].cfg.reset();
  processed_.clear();
}

void Guards::process(Node node) {
  Info &info = info_[node];
  if (!info.cfg) info.cfg = cfg(node);
  const std::shared_ptr<const Cfg> flow = info.cfg;
  processed_.push_back(node);
  ++info.visits;
  info.visited = true;
  current_ = node;
  file_ = graph_.file_of(node);
  info.indirect.clear();
  Outcome outcome = interpret(graph_.program(file_), graph_.function(file_, node), *flow, info.known, *this);
  Info &after = info_[node];
  std::ranges::sort(after.indirect);
  after.indirect.erase(std::unique(after.indirect.begin(), after.indirect.end()), after.indirect.end());
  const bool same_effect = outcome.summary.result == after.summary.result && outcome.summary.writes == after.summary.writes;
  const bool same_asks = outcome.summary.asks == after.summary.asks;
  const bool changed = !same_effect || !same_asks || outcome.summary.calls != after.summary.calls;
  const bool only_calls = same_effect && same_asks;
  // What is read through arguments matters to those that are known to pass something of interest.
  const bool only_known = (outcome.summary.result.kind == Kind::inside || same_effect) && outcome.summary.writes.empty() &&
                          outcome.summary.asks == 0;
  after.summary = std::move(outcome.summary);
  after.guarded = std::move(outcome.guarded);
  after.tested = std::move(outcome.tested);
  after.branches = std::move(outcome.branches);
  after.tainted_addresses = std::move(outcome.tainted_addresses);
  mark(node);
  if (!changed) return;
  for (const Node caller : callers(node)) {
    // What a function calls through its arguments matters to followed callers only.
    if (only_calls && !followed_[caller]) continue;
    if (only_known && !only_calls && !is_explored(caller)) continue;
    enqueue(caller);
  }
}

void Guards::mark(Node node) {
  Info &info = info_[node];
  info.has_guards =
      std::ranges::find(info.guarded, true) != info.guarded.end() || !info.branches.empty() || !info.tainted_addresses.empty();
  guarding_[node] = info.has_guards;
  if (!info.has_guards) return;
  info.unguarded = {};
  for (uint32_t b = 0; b < info.cfg->blocks().size(); ++b) {
    if (b < info.guarded.size() && info.guarded[b]) continue;
    const Block &block = info.cfg->blocks()[b];
    for (uint32_t i = block.first; i < block.last; ++i) info.unguarded.insert(info.cfg->insns()[i].insn.klass);
  }
}

// ------------------------------------------------------------------ the world of one function

Value Guards::load_global(uint64_t address, bool indexed) {
  const std::map<uint64_t, Global> &globals = globals_[file_];
  const auto after = globals.upper_bound(address);
  if (after != globals.begin()) {
    const auto &[place, global] = *std::prev(after);
    if (place == address) return global.value;
    if (!indexed && address - place < global.size) { // one byte of a word of flags
      Value v = global.value;
      v.number = Tested::shifted(v.number, static_cast<unsigned>(8 * (address - place)));
      return v;
    }
  }
  // Anywhere in the table.
  return indexed && after != globals.end() && after->first - address < kTableReach ? after->second.value : Value{};
}

void Guards::store_global(uint64_t address, const Value &value, uint8_t size) {
  if (!graph_.program(file_).image().is_writable(address)) return; // a constant that is no address
  const auto [it, fresh] = globals_[file_].try_emplace(address, Global{value, size});
  Value &held = it->second.value;
  // Several writers: what a "yes" proves is not known, and readers have to be told.
  const bool vague = !fresh && held.number != value.number && held.number != Tested::kUnknown;
  if (!fresh && !vague) return;
  if (vague) held.number = Tested::kUnknown;
  held.weak = false;
  // Readers name the place itself, or, when they index a table, its start: the nearest place before that others refer to.
  const uint64_t from = address > kTableReach ? address - kTableReach : 0;
  const Program &program = graph_.program(file_);
  const std::span<const Reference> near = program.references(from, address + 8 - from);
  uint64_t table = 0;
  for (const Reference &r : near)
    if (r.address < address && graph_.first(file_) + r.function != current_) table = r.address;
  for (const Reference &r : near) {
    const Node node = graph_.first(file_) + r.function;
    if (node != current_ && (r.address >= address || r.address == table)) enqueue(node);
  }
}

bool Guards::is_detector_object(uint32_t symbol) {
  const std::optional<DynamicSymbol> s = graph_.program(file_).image().symbol(symbol);
  return s && host::is_detector_object(s->name);
}

void Guards::learn(Node callee, const Call &call) {
  if (callers(callee).size() > kFewCallers) return;
  Info &info = info_[callee];
  Summary known = info.known;
  for (size_t k = 0; k < 6; ++k) {
    if (call.arguments[k].tainted() && !call.arguments[k].may) known.arguments |= static_cast<uint8_t>(1U << k);
    if (call.arguments[k].kind == Kind::object) known.objects |= static_cast<uint8_t>(1U << k);
    for (const Summary::Field &f : call.fields[k])
      if (std::ranges::find(known.fields, f) == known.fields.end() && known.fields.size() < 256) known.fields.push_back(f);
  }
  if (known == info.known) return;
  info.known = std::move(known);
  enqueue(callee);
}

// What a predicate returns that looks into the object that `pointer` points to.
Value Guards::read_through(const Value &pointer, bool bits) {
  if (pointer.kind == Kind::object) return bits ? Value::taint() : pointer;
  if (pointer.from_argument() || pointer.kind == Kind::argument) return Value::inside(pointer.arg, bits);
  return {};
}

Summary Guards::call(const Call &call) {
  const size_t file = file_;
  Node callee = kNoNode;
  if (call.edge) {
    if (call.edge->kind == EdgeKind::address) return {};
    if (call.edge->external) {
      const std::optional<DynamicSymbol> s = graph_.program(file).image().symbol(static_cast<uint32_t>(call.edge->target));
      if (s) {
        Summary effect;
        effect.result = Value::taint();
        const Value &first = call.arguments[0];
        if (s->name == "getauxval" && first.kind == Kind::constant && (first.number == 16 || first.number == 26)) return effect;
        if (is_detector_function(s->name)) return effect;
      }
    }
    callee = graph_.target(file, *call.edge);
  } else {
    callee = graph_.node_at(file, call.target);
    if (callee != kNoNode) {
      info_[current_].indirect.push_back({call.site, callee});
      with_indirect_[current_] = true;
    }
  }
  if (callee == kNoNode) return {};
  if (call.edge && never_returns(file, *call.edge)) {
    Summary nothing;
    nothing.returns = false;
    return nothing;
  }
  learn(callee, call);
  look_into(callee, call);
  const auto it = info_.find(callee);
  if (it == info_.end()) return {};
  Summary effect = it->second.summary;
  if (callers(callee).size() > kFewCallers) effect.asks = 0;
  if (effect.result.kind == Kind::inside) effect.result = read_through(call.arguments[effect.result.arg], effect.result.number);
  return effect;
}

// A method of an object that tells of the CPU, or of one that may be: what does it read there?
void Guards::look_into(Node callee, const Call &call) {
  const Function &f = graph_.function(callee);
  if (f.end - f.start > kSmallFunction) return;
  const bool asked = info_[current_].asked;
  if (std::ranges::none_of(call.arguments, [&](const Value &v) {
        return v.kind == Kind::object || (asked && (v.from_argument() || v.kind == Kind::argument));
      }))
    return;
  Info &info = info_[callee];
  info.asked = true;
  if (!info.visited) enqueue(callee);
}

} // namespace isa_audit::host
