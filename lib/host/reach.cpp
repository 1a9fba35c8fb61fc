#include "reach.h"

#include <algorithm>
#include <bit>

#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit::host {

namespace {

constexpr uint64_t kObjectReach = 4096; // bytes of a data object of unknown size
constexpr uint32_t kMaxDoubt = 30;      // steps that are counted apart
// With more avoidable steps than this a path is no likely one. Of the imports that crash under qemu-user the longest has 5.
constexpr uint32_t kMaxAvoidable = 5;
constexpr size_t kSwitch = 4;  // cases of a jump table that make it a choice among many: worth as many two-way ones as its bits
constexpr int kErrorDepth = 4; // of calls looked into for error functions

// Calls that set a Python exception: what leads to them is no path of an import that works.
constexpr std::string_view kErrorCalls[] = {
    "PyErr_SetString",      "PyErr_Format",          "PyErr_FormatV",         "PyErr_SetObject",        "PyErr_SetNone",
    "PyErr_NoMemory",       "PyErr_BadArgument",     "PyErr_BadInternalCall", "_PyErr_BadInternalCall", "PyErr_SetFromErrno",
    "PyErr_SetImportError", "PyErr_WriteUnraisable", "PyTraceBack_Here",      "PyErr_Restore"};

// Of these a null result is an answer.
constexpr std::string_view kNullIsNoError[] = {"PyErr_Occurred",
                                               "PyErr_ExceptionMatches",
                                               "PyErr_GivenExceptionMatches",
                                               "PyDict_GetItem",
                                               "PyDict_GetItemString",
                                               "PyDict_GetItemWithError",
                                               "_PyDict_GetItem_KnownHash",
                                               "PyDict_Next",
                                               "PyDict_Contains",
                                               "PyModule_GetState",
                                               "PyState_FindModule",
                                               "PyImport_GetModule",
                                               "PyObject_HasAttr",
                                               "PyObject_HasAttrString",
                                               "PyCallable_Check",
                                               "PyType_IsSubtype",
                                               "PyObject_IsTrue",
                                               "PyObject_Not",
                                               "PyUnicode_Compare",
                                               "PyObject_RichCompareBool",
                                               "PyGILState_Check",
                                               "PyInterpreterState_GetID",
                                               "PyIter_Next",
                                               "PyErr_CheckSignals",
                                               "_PyObject_GetDictPtr",
                                               "PyCapsule_IsValid",
                                               "PyUnicode_EqualToUTF8",
                                               "PyUnicode_CompareWithASCIIString",
                                               "_PyUnicode_Ready",
                                               "Py_IsInitialized",
                                               "PyCapsule_GetContext",
                                               "PySequence_Check",
                                               "PyMapping_Check",
                                               "PyNumber_Check",
                                               "PyIter_Check",
                                               "PyIndex_Check",
                                               "PyThread_tss_get",
                                               "PyThread_tss_is_created",
                                               "PyEval_GetFrame",
                                               "PyWeakref_GetObject",
                                               "PyObject_IsInstance",
                                               "PyObject_IsSubclass"};

} // namespace

Reach::Reach(Graph &graph, Guards &guards) : graph_(graph), guards_(guards), visits_(graph.size()) {
  for (size_t file = 0; file < graph.file_count(); ++file) {
    roots_.push_back(find_roots(graph, file));
    python_.push_back(find_python_functions(graph, file));
  }
  enter();
  grade(Strength::load);
  grade(Strength::import);
  spread();
}

template <typename F> void Reach::for_each_callee(Node node, F f) const {
  const size_t file = graph_.file_of(node);
  for (const Edge &e : graph_.program(file).edges(graph_.function(file, node))) {
    if (e.kind == EdgeKind::address || guards_.is_guarded(node, e.site)) continue;
    const Node to = graph_.target(file, e);
    if (to != kNoNode) f(to, e.site);
  }
  for (const Guards::Indirect &i : guards_.indirect(node))
    if (!guards_.is_guarded(node, i.site)) f(i.target, i.site);
}

// Everything that runs at load or import, exploring calls through registers as they come into view.
void Reach::enter() {
  std::vector<bool> seen(graph_.size());
  std::vector<Node> todo;
  const auto add = [&](Node n) {
    if (seen[n]) return;
    seen[n] = true;
    todo.push_back(n);
  };
  for (const Roots &r : roots_) {
    for (const Root &root : r.load) add(root.node);
    for (const Root &root : r.import) add(root.node);
  }
  std::vector<Node> all;
  for (bool more = true; more;) {
    while (!todo.empty()) {
      const Node n = todo.back();
      todo.pop_back();
      all.push_back(n);
      guards_.follow(n);
      for_each_callee(n, [&](Node to, uint32_t) { add(to); });
    }
    // Functions with calls through registers, and those that hand pointers to callees that call them.
    std::vector<Node> fresh;
    for (const Node n : all) {
      if (guards_.is_explored(n)) continue;
      bool worth = graph_.function(n).indirect;
      if (!worth) for_each_callee(n, [&](Node to, uint32_t) { worth |= guards_.calls_arguments(to); });
      if (worth) fresh.push_back(n);
    }
    guards_.explore(fresh);
    for (const Node n : all)
      for (const Guards::Indirect &i : guards_.indirect(n))
        if (!guards_.is_guarded(n, i.site)) add(i.target);
    // What was learnt of one function may make its callers worth a look.
    more = !todo.empty() || !fresh.empty();
  }
}

bool Reach::is_error_call(size_t file, const Edge &edge, int depth) {
  if (edge.kind == EdgeKind::address) return false;
  const Node to = graph_.target(file, edge);
  if (to != kNoNode) return depth > 0 && always_errs(to, depth - 1);
  if (!edge.external) return false;
  const std::optional<DynamicSymbol> s = graph_.program(file).image().symbol(static_cast<uint32_t>(edge.target));
  return s && std::ranges::find(kErrorCalls, s->name) != std::end(kErrorCalls);
}

// True if every path of the function to a return sets an exception.
bool Reach::always_errs(Node node, int depth) {
  const auto [it, fresh] = errs_.try_emplace(node, 2);
  if (!fresh) return it->second == 1;
  const size_t file = graph_.file_of(node);
  const Function &f = graph_.function(file, node);
  bool candidate = false;
  for (const Edge &e : graph_.program(file).edges(f)) candidate |= is_error_call(file, e, depth);
  bool errs = false;
  if (candidate) {
    const Cfg &cfg = guards_.cfg(node);
    Cfg::Cuts cuts(cfg.blocks().size());
    for (uint32_t b = 0; b < cuts.size(); ++b) cuts[b] = error_way(file, node, cfg, b);
    for (const Edge &e : graph_.program(file).edges(f))
      if (const uint32_t b = cfg.block_of(e.site); b != kNoBlock && is_error_call(file, e, depth)) cuts[b] |= Cfg::kBlock;
    errs = !cuts.empty() && !cfg.returning(cuts)[0] && cfg.returning()[0];
  }
  // Making a frame and entering it into the traceback is all that Cython's __Pyx_AddTraceback is for. A module's own entry may
  // have it inlined.
  bool frame = false, traceback = false, root = false;
  for (const Edge &e : graph_.program(file).edges(f)) {
    if (!e.external) continue;
    const std::optional<DynamicSymbol> s = graph_.program(file).image().symbol(static_cast<uint32_t>(e.target));
    frame |= s && s->name == "PyFrame_New";
    traceback |= s && s->name == "PyTraceBack_Here";
  }
  for (const Root &r : roots_[file].import) root |= r.node == node;
  errs |= frame && traceback && !root;
  errs_[node] = errs ? 1 : 0;
  return errs;
}

// True if some path of the function sets an exception: then a null or negative result of it says so.
bool Reach::may_err(Node node, int depth) {
  const auto [it, fresh] = may_err_.try_emplace(node, false);
  if (!fresh) return it->second;
  const size_t file = graph_.file_of(node);
  for (const Edge &e : graph_.program(file).edges(graph_.function(file, node))) {
    if (e.kind == EdgeKind::address) continue;
    const Node to = graph_.target(file, e);
    if (to != kNoNode ? depth > 0 && may_err(to, depth - 1) : is_error_call(file, e, 0)) return may_err_[node] = true;
  }
  return false;
}

// The way out of a block that a failed call of the Python C API takes: a null or a negative result, tested right after it.
uint8_t Reach::error_way(size_t file, Node node, const Cfg &cfg, uint32_t block) {
  const Block &b = cfg.blocks()[block];
  if (!b.conditional || b.last - b.first < 3) return 0;
  const Cfg::At &jump = cfg.insns()[b.last - 1], &test = cfg.insns()[b.last - 2];
  const uint8_t condition = jump.insn.opcode & 15;
  if (test.insn.map != Map::one) return 0;
  const bool self_test = (test.insn.opcode == 0x85) && test.insn.mod() == 3 && test.insn.reg() == test.insn.rm();
  const bool minus_one = test.insn.opcode == 0x83 && test.insn.mod() == 3 && test.insn.reg() == 7 &&
                         immediate(cfg.code() + test.offset, test.insn) == -1;
  uint8_t way = 0;
  if (self_test || minus_one) way = condition == 4 ? Cfg::kTaken : condition == 5 ? Cfg::kNext : 0;
  if (self_test && (condition == 8 || condition == 9)) way = condition == 8 ? Cfg::kTaken : Cfg::kNext;
  if (!way) return 0;
  const Program &program = graph_.program(file);
  const std::span<const Edge> edges = program.edges(graph_.function(file, node));
  for (uint32_t back = 3; back < 8 && b.last - b.first >= back; ++back) {
    const uint32_t i = b.last - back;
    const Insn &insn = cfg.insns()[i].insn;
    const bool call = insn.map == Map::one && (insn.opcode == 0xe8 || (insn.opcode == 0xff && insn.reg() == 2));
    if (!call) continue;
    const auto e = std::ranges::lower_bound(edges, cfg.insns()[i].offset, {}, &Edge::site);
    if (e == edges.end() || e->site != cfg.insns()[i].offset) return 0;
    if (const Node to = graph_.target(file, *e); to != kNoNode) return may_err(to, kErrorDepth) ? way : 0;
    if (!e->external) return 0;
    const std::optional<DynamicSymbol> s = program.image().symbol(static_cast<uint32_t>(e->target));
    if (!s || !(s->name.starts_with("Py") || s->name.starts_with("_Py"))) return 0;
    return std::ranges::find(kNullIsNoError, s->name) == std::end(kNullIsNoError) ? way : 0;
  }
  return 0;
}

// The way out of a block that is for many elements: an unsigned comparison of a count with a number, as compilers put before
// the vectorised form of a loop.
uint8_t many_way(const Cfg &cfg, uint32_t block) {
  const Block &b = cfg.blocks()[block];
  if (!b.conditional || b.last - b.first < 2) return 0;
  const Cfg::At &jump = cfg.insns()[b.last - 1], &compare = cfg.insns()[b.last - 2];
  const Insn &c = compare.insn;
  if (c.map != Map::one || !((c.opcode == 0x83 || c.opcode == 0x81) ? c.reg() == 7 : c.opcode == 0x3d)) return 0;
  const int64_t n = immediate(cfg.code() + compare.offset, c);
  if (n < 2 || n > 4096) return 0;
  switch (jump.insn.opcode & 15) {
  case 2:
  case 6: return Cfg::kNext; // below: the few
  case 3:
  case 7: return Cfg::kTaken;
  default: return 0;
  }
}

const Reach::Paths &Reach::paths(Node node) {
  if (const auto it = paths_.find(node); it != paths_.end()) return it->second;
  const size_t file = graph_.file_of(node);
  const Cfg &cfg = guards_.cfg(node);
  Paths p;
  p.certain = cfg.unavoidable();
  Cfg::Cuts cuts(cfg.blocks().size());
  for (const Edge &e : graph_.program(file).edges(graph_.function(file, node)))
    if (is_error_call(file, e, kErrorDepth))
      if (const uint32_t b = cfg.block_of(e.site); b != kNoBlock && !p.certain[b]) cuts[b] |= Cfg::kBlock;
  for (uint32_t b = 0; b < cuts.size(); ++b) cuts[b] |= error_way(file, node, cfg, b);
  p.likely = cfg.normal(cuts);
  Cfg::Cuts switches = cuts;
  for (uint32_t b = 0; b < cuts.size(); ++b) {
    cuts[b] |= many_way(cfg, b);
    const auto cases = static_cast<uint32_t>(cfg.blocks()[b].table.size());
    if (cases < kSwitch) continue;
    switches[b] |= Cfg::kTaken;
    p.switch_doubt = std::max(p.switch_doubt, static_cast<uint32_t>(std::bit_width(cases - 1)));
  }
  p.few = cfg.normal(cuts);
  p.plain = cfg.normal(switches);
  return paths_[node] = std::move(p);
}

Grade Reach::grade_at(Node node, uint32_t offset, bool use) {
  const Paths &p = paths(node);
  const uint32_t block = guards_.cfg(node).block_of(offset);
  if (block == kNoBlock) return Grade::possible;
  if (p.certain[block]) return Grade::certain;
  return p.likely[block] && (!use || p.few[block]) ? Grade::likely : Grade::possible;
}

uint32_t Reach::doubt_at(Node node, uint32_t offset, bool use) {
  if (grade_at(node, offset, use) == Grade::certain) return 0;
  const uint32_t block = guards_.cfg(node).block_of(offset);
  return block != kNoBlock && paths(node).likely[block] && !paths(node).plain[block] ? paths(node).switch_doubt : 1;
}

Grade Reach::grade_of_use(Node node, uint32_t offset) {
  const Visit &v = visits_[node];
  const Grade here = grade_at(node, offset, true);
  const Grade grade = std::max(v.grade, here);
  return v.doubt + doubt_at(node, offset, true) > kMaxAvoidable ? Grade::possible : grade;
}

// Shortest paths by the number of steps that can be avoided; possible ones after all others.
void Reach::grade(Strength strength) {
  std::vector<std::vector<Node>> buckets(2 * kMaxDoubt + 2);
  const auto reach = [&](Node node, Grade grade, Node parent, uint32_t root, uint32_t doubt) {
    Visit &v = visits_[node];
    doubt = std::min(doubt, kMaxDoubt);
    if (v.strength < strength) return;
    if (v.strength == strength && std::pair(v.grade == Grade::possible, v.doubt) <= std::pair(grade == Grade::possible, doubt))
      return;
    if (v.strength == Strength::unreached) entered_.push_back(node);
    v = {strength, grade, parent, root, doubt};
    buckets[doubt + (grade == Grade::possible ? kMaxDoubt + 1 : 0)].push_back(node);
  };
  for (const Roots &r : roots_)
    for (const Root &root : strength == Strength::load ? r.load : r.import) {
      reach(root.node, Grade::certain, kNoNode, static_cast<uint32_t>(root_names_.size()), 0);
      root_names_.push_back(root.name);
    }
  for (size_t key = 0; key < buckets.size(); ++key) {
    for (size_t at = 0; at < buckets[key].size(); ++at) {
      const Node node = buckets[key][at];
      const Visit v = visits_[node];
      if (v.strength != strength || v.doubt + (v.grade == Grade::possible ? kMaxDoubt + 1 : 0) != key) continue;
      for_each_callee(node, [&](Node to, uint32_t site) {
        const Grade step = grade_at(node, site);
        reach(to, std::max(v.grade, step), node, v.root, v.doubt + doubt_at(node, site));
      });
    }
  }
}

std::vector<std::pair<uint32_t, Node>> Reach::callees(Node node) const {
  std::vector<std::pair<uint32_t, Node>> list;
  for_each_callee(node, [&](Node to, uint32_t site) { list.emplace_back(site, to); });
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

// The functions that pointers in the object of `reference`, the first to it, lead to, over further objects too. An object
// reaches to the next place that code refers to.
void Reach::follow_data(size_t file, size_t reference, std::vector<Node> &found) {
  const Program &program = graph_.program(file);
  const Image &image = program.image();
  const std::span<const Reference> all = program.references(0, UINT64_MAX);
  struct Object {
    uint64_t start;
    size_t next; // first reference to it, or to what comes after it
  };
  std::vector<Object> todo{{all[reference].address, reference}};
  while (!todo.empty()) {
    auto [start, next] = todo.back();
    todo.pop_back();
    // Most objects are referred to by code, and have a bit at the first reference.
    if (next < all.size() && all[next].address == start) {
      if (followed_[file][next]) continue;
      followed_[file][next] = true;
      while (next < all.size() && all[next].address == start) ++next;
    } else if (!objects_.try_emplace(start ^ (static_cast<uint64_t>(file) << 56), true).second) {
      continue;
    }
    uint64_t end = start + kObjectReach;
    if (next < all.size()) end = std::min(end, all[next].address);
    auto r = std::ranges::lower_bound(image.relocations(), start, {}, &Relocation::where);
    for (; r != image.relocations().end() && r->where < end; ++r) {
      if (r->symbol && !r->defined) continue;
      if (image.code_at(r->value)) {
        if (const Node node = graph_.node_at(file, r->value); node != kNoNode) found.push_back(node);
      } else if (image.is_writable(r->value)) {
        const auto after = std::ranges::lower_bound(all, r->value, {}, &Reference::address);
        todo.push_back({r->value, static_cast<size_t>(after - all.begin())});
      }
    }
  }
}

void Reach::spread() {
  open_.assign(graph_.size(), false);
  behind_.assign(graph_.size(), false);
  data_.resize(graph_.file_count());
  std::vector<Node> todo;
  const auto add = [&](Node n) {
    if (n == kNoNode || open_[n]) return;
    open_[n] = true;
    todo.push_back(n);
  };
  std::vector<std::pair<Node, Node>> guarded; // targets of guarded edges, and who checks
  for (size_t file = 0; file < graph_.file_count(); ++file) {
    const std::span<const Reference> all = graph_.program(file).references(0, UINT64_MAX);
    followed_.emplace_back(all.size());
    for (size_t i = 0, first = 0; i < all.size(); ++i) {
      if (all[i].address != all[first].address) first = i;
      data_[file].emplace_back(all[i].function, first);
    }
    std::ranges::sort(data_[file]);
    for (Node n = graph_.first(file); n < graph_.first(file + 1); ++n) {
      if (!guards_.has_guards(n)) continue;
      for (const Edge &e : graph_.program(file).edges(graph_.function(file, n)))
        if (guards_.is_guarded(n, e.site))
          if (const Node to = graph_.target(file, e); to != kNoNode) guarded.emplace_back(to, n);
    }
  }
  std::ranges::sort(guarded);
  for (const Node n : entered_) add(n);
  for (size_t file = 0; file < graph_.file_count(); ++file) {
    for (const PythonFunction &f : python_[file]) add(f.node);
    if (roots_[file].is_python_module) continue;
    // What a check leads to is the kernel for it, not an interface.
    for (const Root &r : roots_[file].exports)
      if (!std::ranges::binary_search(guarded, r.node, {}, &std::pair<Node, Node>::first)) add(r.node);
  }
  while (!todo.empty()) {
    const Node n = todo.back();
    todo.pop_back();
    const size_t file = graph_.file_of(n);
    const Function &f = graph_.function(file, n);
    const bool checks = guards_.has_guards(n);
    for (const Edge &e : graph_.program(file).edges(f))
      if (!checks || !guards_.is_guarded(n, e.site)) add(graph_.target(file, e));
    for (const Guards::Indirect &i : guards_.indirect(n))
      if (!guards_.is_guarded(n, i.site)) add(i.target);
    const uint32_t index = n - graph_.first(file);
    std::vector<Node> found;
    auto d = std::ranges::lower_bound(data_[file], std::pair<uint32_t, uint64_t>(index, 0));
    for (; d != data_[file].end() && d->first == index; ++d) follow_data(file, d->second, found);
    for (const Node to : found) add(to);
  }
  // The other side of the checks.
  const auto add_behind = [&](Node n, Node by) {
    if (n == kNoNode || open_[n] || behind_[n]) return;
    behind_[n] = true;
    guard_[n] = by;
    todo.push_back(n);
  };
  for (const auto &[n, by] : guarded) add_behind(n, by);
  while (!todo.empty()) {
    const Node n = todo.back();
    todo.pop_back();
    const size_t file = graph_.file_of(n);
    for (const Edge &e : graph_.program(file).edges(graph_.function(file, n))) add_behind(graph_.target(file, e), guard_[n]);
  }
}

// Tarjan's algorithm from `node`: the functions of a cycle share their features.
IsaSet Reach::transitive(Node node) {
  if (const auto it = transitive_.find(node); it != transitive_.end()) return it->second;
  struct Frame {
    Node node;
    std::vector<std::pair<uint32_t, Node>> callees;
    size_t next = 0;
    uint32_t low = 0;
    IsaSet set;
  };
  std::vector<Frame> frames;
  std::vector<Node> open;
  std::unordered_map<Node, uint32_t> number;
  const auto enter = [&](Node n) {
    const auto index = static_cast<uint32_t>(number.size());
    number[n] = index;
    open.push_back(n);
    frames.push_back({n, callees(n), 0, index, faulting(guards_.unguarded_classes(n))});
  };
  enter(node);
  while (!frames.empty()) {
    Frame &f = frames.back();
    if (f.next < f.callees.size()) {
      const Node to = f.callees[f.next++].second;
      if (const auto done = transitive_.find(to); done != transitive_.end())
        f.set |= done->second;
      else if (const auto seen = number.find(to); seen != number.end())
        f.low = std::min(f.low, seen->second);
      else
        enter(to);
      continue;
    }
    const Frame done = std::move(f);
    frames.pop_back();
    if (done.low == number[done.node]) {
      Node n;
      do {
        n = open.back();
        open.pop_back();
        transitive_[n] = done.set;
      } while (n != done.node);
    }
    if (!frames.empty()) {
      frames.back().low = std::min(frames.back().low, done.low);
      frames.back().set |= done.set;
    }
  }
  return transitive_[node];
}

} // namespace isa_audit::host
