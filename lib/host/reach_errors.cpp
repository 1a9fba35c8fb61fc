// How avoidable a place in a function is: on every way to a return, on some way that no error takes, or only on the way of an
// error. An import that works does not set a Python exception, throw, or meet a null result of the C API.
#include <algorithm>
#include <bit>

#include "reach.h"

namespace isa_audit::host {

namespace {

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
    const std::shared_ptr<const Cfg> flow = guards_.cfg(node);
    const Cfg &cfg = *flow;
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
  const std::shared_ptr<const Cfg> flow = guards_.cfg(node);
  const Cfg &cfg = *flow;
  Paths p;
  const std::vector<bool> certain = cfg.unavoidable();
  Cfg::Cuts cuts(cfg.blocks().size());
  for (const Edge &e : graph_.program(file).edges(graph_.function(file, node)))
    if (is_error_call(file, e, kErrorDepth))
      if (const uint32_t b = cfg.block_of(e.site); b != kNoBlock && !certain[b]) cuts[b] |= Cfg::kBlock;
  for (uint32_t b = 0; b < cuts.size(); ++b) cuts[b] |= error_way(file, node, cfg, b);
  const std::vector<bool> likely = cfg.normal(cuts);
  Cfg::Cuts switches = cuts;
  for (uint32_t b = 0; b < cuts.size(); ++b) {
    cuts[b] |= many_way(cfg, b);
    const auto cases = static_cast<uint32_t>(cfg.blocks()[b].table.size());
    if (cases < kSwitch) continue;
    switches[b] |= Cfg::kTaken;
    p.switch_doubt = std::max(p.switch_doubt, static_cast<uint32_t>(std::bit_width(cases - 1)));
  }
  const std::vector<bool> few = cfg.normal(cuts), plain = cfg.normal(switches);
  p.blocks.reserve(cfg.blocks().size());
  for (uint32_t b = 0; b < cfg.blocks().size(); ++b)
    p.blocks.push_back({cfg.insns()[cfg.blocks()[b].first].offset, certain[b], likely[b], few[b], plain[b]});
  return paths_[node] = std::move(p);
}

const Reach::Paths::Block *Reach::block_at(Node node, uint32_t offset) {
  const std::vector<Paths::Block> &blocks = paths(node).blocks;
  const auto after = std::ranges::upper_bound(blocks, offset, {}, &Paths::Block::start);
  return after == blocks.begin() ? nullptr : &*std::prev(after);
}

Grade Reach::grade_at(Node node, uint32_t offset, bool use) {
  const Paths::Block *block = block_at(node, offset);
  if (!block) return Grade::possible;
  if (block->certain) return Grade::certain;
  return block->likely && (!use || block->few) ? Grade::likely : Grade::possible;
}

uint32_t Reach::doubt_at(Node node, uint32_t offset, bool use) {
  if (grade_at(node, offset, use) == Grade::certain) return 0;
  const Paths::Block *block = block_at(node, offset);
  return block && block->likely && !block->plain ? paths(node).switch_doubt : 1;
}

Grade Reach::grade_of_use(Node node, uint32_t offset) {
  const Visit &v = visits_[node];
  const Grade here = grade_at(node, offset, true);
  const Grade grade = std::max(v.grade, here);
  return doubt_of_use(node, offset) > kMaxAvoidable ? Grade::possible : grade;
}

} // namespace isa_audit::host
