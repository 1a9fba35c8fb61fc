#include "report.h"

#include <algorithm>
#include <deque>
#include <tuple>

#include "names.h"
#include "print.h"
#include "transactions.h"
#include "llvm/ADT/StringExtras.h"

namespace isa_audit::host {

namespace {

// Uses of a feature that are told of what runs at load or import: which of them a run meets first depends on the machine.
constexpr size_t kFirstUses = 6;
constexpr size_t kSureUses = 4;    // further ones, those on whose way the least can be avoided
constexpr size_t kMaxUses = 4096;  // looked at
constexpr uint64_t kSomeSize = 64; // bytes of a function that counts

std::string hex(uint64_t n) { return "0x" + llvm::utohexstr(n, true); }

} // namespace

Reporter::Reporter(const Graph &graph, Guards &guards, Reach &reach)
    : graph_(graph), guards_(guards), reach_(reach), gaps_(graph, guards, reach) {
  for (auto *uses : {&load_, &import_}) uses->resize(graph.file_count());
  for (size_t file = 0; file < graph.file_count(); ++file) {
    transaction_check_.push_back(find_transaction_check(graph, guards, reach, file));
    checked_.emplace_back();
    if (transaction_check_.back() != kNoNode) checked_.back().insert(Feature::rtm);
  }
  run_in_order();
}

std::vector<Node> Reporter::path_to(Node node) const {
  std::vector<Node> path;
  for (Node n = node; n != kNoNode; n = reach_.visit(n).parent) path.push_back(n);
  std::ranges::reverse(path);
  return path;
}

// Walks what runs at load and import in the order in which it runs, callees at their calls, so that the first use found is
// the one that would crash.
void Reporter::run_in_order() {
  // A library's initialisers run after those of the libraries that it needs.
  std::vector<size_t> order;
  std::vector<int> state(graph_.file_count());
  const auto visit = [&](auto &self, size_t file) -> void {
    if (state[file]++) return;
    for (const size_t needed : graph_.scope(file)) self(self, needed);
    order.push_back(file);
  };
  for (size_t file = 0; file < graph_.file_count(); ++file) visit(visit, file);
  std::vector<bool> seen(graph_.size());
  struct Frame {
    Node node;
    std::vector<std::pair<uint32_t, Node>> callees;
    size_t next = 0;
    uint32_t used = 0; // offset up to which uses were looked at
    std::vector<uint32_t> uses;
    size_t next_use = 0;
  };
  std::vector<Frame> frames;
  const auto enter = [&](Node node) {
    if (seen[node] || reach_.visit(node).grade == Grade::possible) return;
    seen[node] = true;
    Frame f;
    f.node = node;
    f.callees = reach_.callees(node);
    if (!faulting(guards_.unguarded_classes(node)).empty())
      for_each_use(graph_.program(graph_.file_of(node)), graph_.function(node), [&](uint32_t at, const InsnClass &klass) {
        if (!(klass.features - psabi_level(1)).empty() && !guards_.is_guarded(node, at)) f.uses.push_back(at);
      });
    frames.push_back(std::move(f));
  };
  const auto note = [&](Node node, uint32_t offset) {
    const size_t file = graph_.file_of(node);
    const Reach::Visit &v = reach_.visit(node);
    const Grade grade = reach_.grade_of_use(node, offset);
    if (grade == Grade::possible) return;
    const std::span<const uint8_t> code = graph_.program(file).bytes(graph_.function(file, node));
    Insn insn;
    if (!decode(code.subspan(offset), insn)) return;
    Use use{node, offset, v.strength, grade, {}, {}, {}};
    use.doubt = reach_.doubt_of_use(node, offset);
    const bool load = v.strength == Strength::load;
    for (const Feature f : (insn_class(insn.klass).features - psabi_level(1) - checked_[file]).list()) {
      std::vector<Use> &list = (load ? load_ : import_)[file][f];
      // One a function.
      const bool told = !list.empty() && list.back().node == node && list.back().doubt <= use.doubt;
      if (!told && list.size() < kMaxUses) list.push_back(use);
    }
  };
  const auto run = [&](Node root) {
    enter(root);
    while (!frames.empty()) {
      Frame &f = frames.back();
      const uint32_t call = f.next < f.callees.size() ? f.callees[f.next].first : UINT32_MAX;
      while (f.next_use < f.uses.size() && f.uses[f.next_use] < call) note(f.node, f.uses[f.next_use++]);
      if (f.next == f.callees.size()) {
        frames.pop_back();
        continue;
      }
      const auto [site, to] = f.callees[f.next++];
      if (reach_.grade_at(f.node, site) != Grade::possible) enter(to);
    }
  };
  for (const size_t file : order)
    for (const Root &r : reach_.roots(file).load) run(r.node);
  for (const size_t file : order)
    for (const Root &r : reach_.roots(file).import) run(r.node);
  for (auto *files : {&load_, &import_})
    for (FirstUses &of_file : *files)
      for (auto &[feature, uses] : of_file) choose(uses);
}

// Keeps the first few, and of the rest the surest.
void Reporter::choose(std::vector<Use> &uses) {
  size_t kept = std::min(uses.size(), kFirstUses);
  for (; kept < std::min(uses.size(), kFirstUses + kSureUses); ++kept) {
    const auto from = uses.begin() + static_cast<ptrdiff_t>(kept);
    const auto surest = std::ranges::min_element(from, uses.end(), {}, &Use::doubt);
    std::iter_swap(from, surest);
  }
  uses.resize(kept);
}

// A check by the place of its branch; a choice that only looks like one by the function that makes it.
std::string Reporter::describe(const Reach::By &by) const {
  if (by.node == kNoNode) return {};
  if (!by.pattern) return "check at " + hex(guards_.guard_of(by.node));
  if (by.build) return "probable: one of several builds, beside " + hex(graph_.function(by.node).start);
  return "probable: chosen at run time in " + hex(graph_.function(by.node).start);
}

// For each feature that some Python function may need: the path from the first such function by name.
void Reporter::add_call_uses(size_t file, HostCode &host, std::vector<std::pair<Feature, Use>> &out) {
  std::map<std::string, std::vector<Node>> by_name;
  for (const PythonFunction &f : reach_.python_functions(file))
    if (reach_.is_open(f.node)) by_name[f.name].push_back(f.node);
  const IsaSet before = host.at_load | host.at_import;
  IsaSet told;
  for (const auto &[name, nodes] : by_name) {
    for (const Node start : nodes) {
      const IsaSet needs = reach_.transitive(start) - before - checked_[file];
      if (needs.empty()) continue;
      host.at_call[name] |= needs;
      IsaSet look = needs - told;
      if (look.empty()) continue;
      told |= look;
      std::map<Node, Node> parent{{start, kNoNode}};
      std::deque<Node> queue{start};
      while (!queue.empty() && !look.empty()) {
        const Node n = queue.front();
        queue.pop_front();
        const IsaSet here = faulting(guards_.unguarded_classes(n)) & look;
        for (const Feature f : here.list()) {
          Use use{n, 0, Strength::call, Grade::likely, {}, name, {}};
          bool found = false;
          for_each_use(graph_.program(graph_.file_of(n)), graph_.function(n), [&](uint32_t at, const InsnClass &klass) {
            if (found || !klass.features.contains(f) || guards_.is_guarded(n, at)) return;
            use.offset = at;
            found = true;
          });
          for (Node p = n; p != kNoNode; p = parent[p]) use.path.insert(use.path.begin(), p);
          // Where the instruction lies in another file, its own entries tell of it.
          if (found && graph_.file_of(n) == file) out.emplace_back(f, std::move(use));
          look.erase(f);
        }
        for (const auto &[site, to] : reach_.plain_callees(n))
          if (parent.try_emplace(to, n).second) queue.push_back(to);
      }
    }
  }
}

void Reporter::report(size_t file, const std::string &variant_of, HostCode &host) {
  const Program &program = graph_.program(file);
  std::vector<std::pair<Feature, Use>> uses;
  host.guards_analysed = true;
  host.asks_cpu = reach_.dispatches(file);

  const auto enter = [&](const FirstUses &first, IsaSet &set) {
    for (const auto &[feature, list] : first) {
      set.insert(feature);
      for (const Use &u : list) {
        uses.emplace_back(feature, u);
        uses.back().second.path = path_to(u.node);
        uses.back().second.root = reach_.root_name(reach_.visit(u.node).root);
      }
    }
  };
  IsaSet loaded, imported;
  enter(load_[file], loaded);
  enter(import_[file], imported);
  if (!variant_of.empty()) {
    // Something outside of the code chose this file: its needs are no more than those of a branch that was taken.
    for (auto &[feature, use] : uses) {
      use.strength = Strength::guarded;
      use.guard = "one of several builds, beside " + variant_of;
    }
  } else {
    host.at_load = loaded;
    host.at_import = imported;
    add_call_uses(file, host, uses);
  }

  // The rest, function by function; the first use by address counts.
  Uses open, guarded, unreached;
  IsaSet silent_open;
  std::map<Feature, Use> silent_uses;
  for (Node n = graph_.first(file); n < graph_.first(file + 1); ++n) {
    const Function &f = graph_.function(file, n);
    const IsaSet faults = faulting(f.classes), differs = silent(f.classes);
    if (f.end - f.start >= kSomeSize) {
      ++host.functions;
      for (const Feature x : faults.list()) ++host.function_uses[x];
    }
    host.used |= faults | differs;
    if (faults.empty() && differs.empty()) continue;
    const bool is_open = reach_.is_open(n), behind = reach_.is_behind_guard(n);
    Uses &list = is_open ? open : behind ? guarded : unreached;
    const bool checks = is_open && (guards_.has_guards(n) || !checked_[file].empty());
    const bool news =
        std::ranges::any_of(faults.list(), [&](Feature x) { return !list.contains(x) || (checks && !guarded.contains(x)); });
    if (!news && (differs - silent_open).empty()) continue;
    for_each_use(program, f, [&](uint32_t at, const InsnClass &klass) {
      const IsaSet needs = klass.features - psabi_level(1);
      const bool branch = is_open && guards_.is_guarded(n, at);
      for (const Feature x : needs.list()) {
        const bool checked = branch || (is_open && checked_[file].contains(x));
        Use use{n,  at, is_open ? Strength::unguarded : behind ? Strength::guarded : Strength::unreached, Grade::possible, {},
                {}, {}};
        if (checked) use.strength = Strength::guarded;
        if (checked)
          use.guard = "check at " + hex(guards_.guard_of(branch ? n : transaction_check_[file]));
        else if (behind)
          use.guard = describe(reach_.guard_of(n));
        (checked ? guarded : list).try_emplace(x, use);
      }
      if (!is_open || branch) return;
      for (const Feature x : klass.silent.list()) {
        // TZCNT counts only where someone looks at what differs: the class of the function has it then.
        if (!differs.contains(x)) continue;
        silent_open.insert(x);
        silent_uses.try_emplace(x, Use{n, at, Strength::unguarded, Grade::possible, {}, {}, {}});
      }
    });
  }
  // What a stronger word tells of is not told again.
  IsaSet before = host.at_load | host.at_import;
  for (const auto &[name, features] : host.at_call) before |= features;
  const auto add = [&](const Uses &list, const IsaSet &known, IsaSet &set) {
    for (const auto &[feature, use] : list) {
      if (known.contains(feature)) continue;
      set.insert(feature);
      uses.emplace_back(feature, use);
    }
  };
  if (!variant_of.empty()) {
    host.guarded = loaded | imported;
    for (auto *list : {&open, &unreached})
      for (auto &[feature, use] : *list) guarded.try_emplace(feature, use);
    for (auto &[feature, use] : guarded) {
      use.strength = Strength::guarded;
      if (use.guard.empty()) use.guard = "one of several builds, beside " + variant_of;
    }
    add(guarded, host.guarded, host.guarded);
  } else {
    IsaSet rest;
    add(open, before, host.unguarded);
    add(guarded, before | host.unguarded, host.guarded);
    add(unreached, before | host.unguarded | host.guarded, rest);
    host.silently_different = silent_open;
    for (const auto &[feature, use] : silent_uses) uses.emplace_back(feature, use);
    add_gaps(file, before | host.unguarded, host);
  }
  write(file, uses, host);
}

void Reporter::add_gaps(size_t file, const IsaSet &told, HostCode &host) {
  const std::vector<Gap> gaps = gaps_.find(file, told);
  if (gaps.empty()) return;
  const Program &program = graph_.program(file);
  std::vector<uint64_t> starts;
  starts.reserve(gaps.size());
  for (const Gap &g : gaps) starts.push_back(graph_.function(g.node).start);
  const std::map<uint64_t, FunctionName> names = function_names(program.image(), std::move(starts));
  Printer printer;
  for (const Gap &g : gaps) {
    const Function &f = graph_.function(g.node);
    const std::span<const uint8_t> code = program.bytes(f).subspan(g.offset);
    Insn insn;
    if (!decode(code, insn)) continue;
    const uint64_t guard = graph_.file_of(g.guard) == file ? guards_.guard_of(g.guard) : 0;
    const auto name = names.find(f.start);
    host.under_checked.push_back({g.tested, g.missing, f.start + g.offset,
                                  name == names.end() ? std::string() : name->second.text,
                                  printer.print(code.first(insn.length), f.start + g.offset), guard});
  }
  std::ranges::sort(host.under_checked, {}, &UnderChecked::address);
}

void Reporter::write(size_t file, const std::vector<std::pair<Feature, Use>> &uses, HostCode &host) {
  if (uses.empty()) return;
  // All names at once, file by file.
  std::map<size_t, std::vector<uint64_t>> wanted;
  const auto want = [&](Node n) { wanted[graph_.file_of(n)].push_back(graph_.function(n).start); };
  for (const auto &[feature, use] : uses) {
    want(use.node);
    for (const Node n : use.path) want(n);
  }
  std::map<size_t, std::map<uint64_t, FunctionName>> names;
  for (auto &[f, addresses] : wanted) names[f] = function_names(graph_.program(f).image(), std::move(addresses));
  const auto name_of = [&](Node n) -> FunctionName {
    const uint64_t start = graph_.function(n).start;
    const auto &of = names[graph_.file_of(n)];
    const auto it = of.find(start);
    return it == of.end() ? FunctionName{} : it->second;
  };
  Printer printer;
  const Program &program = graph_.program(file);
  for (const auto &[feature, use] : uses) {
    const Function &f = graph_.function(use.node);
    const std::span<const uint8_t> code = program.bytes(f).subspan(use.offset);
    Insn insn;
    if (!decode(code, insn)) continue;
    Evidence e;
    e.feature = feature;
    e.strength = use.strength;
    e.grade = use.grade;
    e.address = f.start + use.offset;
    FunctionName own = name_of(use.node);
    e.weak = own.weak;
    e.symbol = std::move(own.text);
    e.bytes = llvm::toHex(llvm::ArrayRef<uint8_t>(code.data(), insn.length), true);
    e.instruction = printer.print(code.first(insn.length), e.address);
    e.guard = use.guard;
    if (!use.path.empty()) {
      e.path.push_back(use.root);
      for (const Node n : use.path) {
        const std::string name = name_of(n).text;
        if (name != e.path.back()) e.path.push_back(name.empty() ? hex(graph_.function(n).start) : name);
      }
    }
    host.evidence.push_back(std::move(e));
  }
  std::ranges::sort(host.evidence, [](const Evidence &a, const Evidence &b) {
    const std::string_view x = feature_name(a.feature), y = feature_name(b.feature);
    return std::tie(x, a.strength, a.address, a.path) < std::tie(y, b.strength, b.address, b.path);
  });
}

} // namespace isa_audit::host
