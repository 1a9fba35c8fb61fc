#include "reach.h"

#include <algorithm>

namespace isa_audit::host {

namespace {

constexpr uint32_t kMaxDoubt = 30; // steps that are counted apart

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

} // namespace isa_audit::host
