// What is reached without a check, and what behind one.
//
// Not every check is understood: flags may lie in heap objects, or come from code outside the set. In a file that asks the
// CPU somewhere, two patterns stand for a check that was not seen: an avoidable call of a function that needs more than its
// caller does, and entries of a table of pointers that need more than the others. Calls at load and import never get this
// benefit of the doubt (reach.cpp).
#include <algorithm>

#include "reach.h"
#include "variants.h"

namespace isa_audit::host {

namespace {
// Calls over which what looks like a kernel is looked into: one that is called, one whose address is taken.
constexpr int kCallDepth = 1, kPointerDepth = 3;
constexpr uint64_t kObjectReach = 4096; // bytes of a data object of unknown size
} // namespace

std::vector<std::pair<uint32_t, Node>> Reach::callees(Node node) const {
  std::vector<std::pair<uint32_t, Node>> list;
  for_each_callee(node, [&](Node to, uint32_t site) { list.emplace_back(site, to); });
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

std::vector<std::pair<uint32_t, Node>> Reach::plain_callees(Node node) {
  const size_t file = graph_.file_of(node);
  if (!dispatches_[file]) return callees(node);
  std::vector<std::pair<uint32_t, Node>> list;
  for (const Edge &e : graph_.program(file).edges(graph_.function(file, node))) {
    if (e.kind == EdgeKind::address || guards_.is_guarded(node, e.site)) continue;
    const Node to = graph_.target(file, e);
    if (to != kNoNode && !looks_chosen(node, e, to)) list.emplace_back(e.site, to);
  }
  for (const Guards::Indirect &i : guards_.indirect(node))
    if (!guards_.is_guarded(node, i.site)) list.emplace_back(i.site, i.target);
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

// The functions that pointers in the object of `reference`, the first to it, lead to, over further objects too. An object
// reaches to the next place that code refers to. `chosen` gets those that look like a choice by the CPU; null: no matter.
void Reach::follow_data(size_t file, size_t reference, std::vector<Node> &found, std::vector<Node> *chosen) {
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
    std::vector<Node> table;
    auto r = std::ranges::lower_bound(image.relocations(), start, {}, &Relocation::where);
    for (; r != image.relocations().end() && r->where < end; ++r) {
      if (r->symbol && !r->defined) continue;
      if (image.code_at(r->value)) {
        if (const Node node = graph_.node_at(file, r->value); node != kNoNode) table.push_back(node);
      } else if (image.is_writable(r->value)) {
        const auto after = std::ranges::lower_bound(all, r->value, {}, &Reference::address);
        todo.push_back({r->value, static_cast<size_t>(after - all.begin())});
      }
    }
    if (chosen && dispatches_[file])
      split_table(table, found, *chosen);
    else
      found.insert(found.end(), table.begin(), table.end());
  }
}

// Entries that need more than all of the table do are the builds for better CPUs.
void Reach::split_table(const std::vector<Node> &table, std::vector<Node> &found, std::vector<Node> &chosen) {
  if (table.empty()) return;
  std::vector<IsaSet> needs;
  needs.reserve(table.size());
  for (const Node n : table) needs.push_back(transitive(n));
  IsaSet common = needs.front();
  for (const IsaSet &set : needs) common = common & set;
  for (size_t i = 0; i < table.size(); ++i) (needs[i].is_subset_of(common) ? found : chosen).push_back(table[i]);
}

// What the function needs, and what it calls over `depth` calls: kernels are often split in a few.
IsaSet Reach::kernel_needs(Node node, int depth) {
  if (depth == 0) return own_[node];
  const auto [it, fresh] = kernel_needs_.try_emplace({node, depth}, own_[node]);
  if (!fresh) return it->second; // or being looked at
  IsaSet needs = own_[node];
  const size_t file = graph_.file_of(node);
  for (const Edge &e : graph_.program(file).edges(graph_.function(file, node))) {
    if (e.kind == EdgeKind::address || guards_.is_guarded(node, e.site)) continue;
    if (const Node to = graph_.target(file, e); to != kNoNode) needs |= kernel_needs(to, depth - 1);
  }
  return kernel_needs_[{node, depth}] = needs;
}

// True if a use of the address of `to` looks like a choice by the CPU although no check was understood: what it leads to
// needs more than the function it is in.
bool Reach::looks_chosen(Node node, Node to) { return !kernel_needs(to, kPointerDepth).is_subset_of(own_[node]); }

// The same for an edge: it can be avoided, too.
bool Reach::looks_chosen(Node node, const Edge &edge, Node to) {
  if (edge.kind == EdgeKind::address) return looks_chosen(node, to);
  if (kernel_needs(to, kCallDepth).is_subset_of(own_[node])) return false;
  const Paths::Block *block = block_at(node, edge.site);
  return !block || edge.conditional || !block->certain;
}

void Reach::spread() {
  open_.assign(graph_.size(), false);
  behind_.assign(graph_.size(), false);
  own_.resize(graph_.size());
  data_.resize(graph_.file_count());
  dispatches_.assign(graph_.file_count(), false);
  for (Node n = 0; n < graph_.size(); ++n) own_[n] = faulting(guards_.unguarded_classes(n));
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
      if (graph_.function(file, n).detects || guards_.has_guards(n)) dispatches_[file] = true;
      if (!guards_.has_guards(n)) continue;
      for (const Edge &e : graph_.program(file).edges(graph_.function(file, n)))
        if (guards_.is_guarded(n, e.site))
          if (const Node to = graph_.target(file, e); to != kNoNode) guarded.emplace_back(to, n);
      find_guarded_data(file, n, guarded);
    }
  }
  std::ranges::sort(guarded);
  builds_ = find_builds();
  std::vector<std::pair<Node, Node>> chosen; // as `guarded`, where only the pattern says so
  spread_open(guarded, chosen);
  // What a choice leads to is no interface of its own either: again, without the exports among it.
  if (!chosen.empty()) {
    std::vector<std::pair<Node, Node>> known = guarded;
    known.insert(known.end(), chosen.begin(), chosen.end());
    std::ranges::sort(known);
    open_.assign(graph_.size(), false);
    objects_.clear();
    for (std::vector<bool> &followed : followed_) followed.assign(followed.size(), false);
    spread_open(known, chosen);
  }
  spread_behind(guarded, false);
  spread_behind(chosen, true);
  spread_behind(builds_, true);
}

// Tables that a function refers to behind its checks only: what they point to is behind them too.
void Reach::find_guarded_data(size_t file, Node node, std::vector<std::pair<Node, Node>> &guarded) {
  const uint32_t index = node - graph_.first(file);
  const auto first = std::ranges::lower_bound(data_[file], std::pair<uint32_t, uint64_t>(index, 0));
  if (first == data_[file].end() || first->first != index) return;
  const std::shared_ptr<const Cfg> flow = guards_.cfg(node);
  std::vector<uint64_t> behind, before; // addresses
  const uint64_t start = graph_.function(file, node).start;
  for (const Cfg::At &at : flow->insns()) {
    if (!at.insn.rip_relative()) continue;
    const uint64_t address =
        start + at.offset + at.insn.length + static_cast<uint64_t>(displacement(flow->code() + at.offset, at.insn));
    (guards_.is_guarded(node, at.offset) ? behind : before).push_back(address);
  }
  if (behind.empty()) return;
  bool followed = false;
  const std::span<const Reference> all = graph_.program(file).references(0, UINT64_MAX);
  for (auto d = first; d != data_[file].end() && d->first == index; ++d) {
    const uint64_t address = all[d->second].address;
    if (std::ranges::find(behind, address) == behind.end() || std::ranges::find(before, address) != before.end()) continue;
    guarded_data_.insert({node, d->second});
    followed = true;
    std::vector<Node> found;
    follow_data(file, d->second, found, nullptr);
    for (const Node to : found) guarded.emplace_back(to, node);
  }
  if (!followed) return;
  // Others may refer to the same objects.
  objects_.clear();
  followed_[file].assign(followed_[file].size(), false);
}

std::vector<std::pair<Node, Node>> Reach::find_builds() const {
  std::vector<std::pair<Node, Node>> builds;
  for (size_t file = 0; file < graph_.file_count(); ++file) {
    if (!dispatches_[file]) continue;
    for (const auto &[one, other] : find_function_variants(graph_.program(file).image())) {
      const Node node = graph_.node_at(file, one), beside = graph_.node_at(file, other);
      if (node != kNoNode && beside != kNoNode) builds.emplace_back(node, beside);
    }
  }
  std::ranges::sort(builds);
  return builds;
}

// Everything that is reached without a check, but for what `kernels` names as behind one.
void Reach::spread_open(const std::vector<std::pair<Node, Node>> &kernels, std::vector<std::pair<Node, Node>> &chosen) {
  std::vector<Node> todo;
  const auto add = [&](Node n) {
    if (n == kNoNode || open_[n]) return;
    open_[n] = true;
    todo.push_back(n);
  };
  // What a check leads to is the kernel for it, not an interface: neither an export nor a pointer to it opens it.
  // Nor is one of several builds an interface, in a file that asks the CPU.
  const auto is_kernel = [&](Node n) {
    return std::ranges::binary_search(kernels, n, {}, &std::pair<Node, Node>::first) ||
           std::ranges::binary_search(builds_, n, {}, &std::pair<Node, Node>::first);
  };
  for (const Node n : entered_) add(n);
  for (size_t file = 0; file < graph_.file_count(); ++file) {
    if (roots_[file].is_python_module) continue;
    for (const Root &r : roots_[file].exports)
      if (!is_kernel(r.node)) add(r.node);
  }
  // Python calls what is in a table once a function that is open enters it into a module.
  struct Table {
    std::vector<Node> functions, owners;
  };
  std::vector<Table> waiting;
  for (size_t file = 0; file < graph_.file_count(); ++file) {
    const std::vector<PythonFunction> &functions = python_[file];
    for (size_t i = 0; i < functions.size(); ++i) {
      if (!dispatches_[file]) {
        add(functions[i].node);
        continue;
      }
      if (i == 0 || functions[i].table != functions[i - 1].table)
        waiting.push_back({{}, owners_of_table(graph_, file, functions[i].table)});
      waiting.back().functions.push_back(functions[i].node);
    }
  }
  const auto enter_tables = [&] {
    std::erase_if(waiting, [&](const Table &table) {
      if (!table.owners.empty() && std::ranges::none_of(table.owners, [&](Node n) { return open_[n]; })) return false;
      for (const Node n : table.functions) add(n);
      return true;
    });
    return !todo.empty();
  };
  while (!todo.empty() || enter_tables()) {
    const Node n = todo.back();
    todo.pop_back();
    const size_t file = graph_.file_of(n);
    for (const Edge &e : graph_.program(file).edges(graph_.function(file, n))) {
      const Node to = graph_.target(file, e);
      if (to == kNoNode || open_[to] || guards_.is_guarded(n, e.site)) continue;
      if (e.kind == EdgeKind::address && is_kernel(to)) continue;
      if (dispatches_[file] && looks_chosen(n, e, to))
        chosen.emplace_back(to, n);
      else
        add(to);
    }
    for (const Guards::Indirect &i : guards_.indirect(n)) {
      if (guards_.is_guarded(n, i.site) || is_kernel(i.target)) continue;
      if (dispatches_[file] && looks_chosen(n, i.target))
        chosen.emplace_back(i.target, n);
      else
        add(i.target);
    }
    const uint32_t index = n - graph_.first(file);
    std::vector<Node> found, better;
    auto d = std::ranges::lower_bound(data_[file], std::pair<uint32_t, uint64_t>(index, 0));
    for (; d != data_[file].end() && d->first == index; ++d)
      if (!guarded_data_.contains({n, d->second})) follow_data(file, d->second, found, &better);
    for (const Node to : found)
      if (!is_kernel(to)) add(to);
    for (const Node to : better) chosen.emplace_back(to, n);
  }
}

// The other side of checks and choices.
void Reach::spread_behind(const std::vector<std::pair<Node, Node>> &starts, bool by_pattern) {
  std::vector<Node> todo;
  const auto add = [&](Node n, Node by) {
    if (n == kNoNode || open_[n] || behind_[n]) return;
    behind_[n] = true;
    guard_[n] = {by, by_pattern, by_pattern && std::ranges::binary_search(builds_, std::pair(n, by))};
    todo.push_back(n);
  };
  for (const auto &[n, by] : starts) add(n, by);
  while (!todo.empty()) {
    const Node n = todo.back();
    todo.pop_back();
    const size_t file = graph_.file_of(n);
    const Node by = guard_[n].node;
    for (const Edge &e : graph_.program(file).edges(graph_.function(file, n))) add(graph_.target(file, e), by);
    const uint32_t index = n - graph_.first(file);
    std::vector<Node> found;
    auto d = std::ranges::lower_bound(data_[file], std::pair<uint32_t, uint64_t>(index, 0));
    for (; d != data_[file].end() && d->first == index; ++d) follow_data(file, d->second, found, nullptr);
    for (const Node to : found) add(to, by);
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
    frames.push_back({n, plain_callees(n), 0, index, faulting(guards_.unguarded_classes(n))});
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
