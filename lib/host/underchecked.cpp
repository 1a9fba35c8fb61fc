#include "underchecked.h"

#include <algorithm>
#include <tuple>

#include "tested.h"

namespace isa_audit::host {

GapFinder::GapFinder(const Graph &graph, Guards &guards, const Reach &reach) : graph_(graph), guards_(guards), reach_(reach) {
  spread();
}

// From guarded calls in code that is reached without a check, on through all that they reach: of several ways to a function,
// what the weakest proves.
void GapFinder::spread() {
  std::vector<Node> todo;
  const auto meet = [&](Node to, const Fact &fact) {
    if (to == kNoNode || !fact.known || !reach_.is_behind_guard(to) || reach_.guard_of(to).pattern) return;
    const auto [it, fresh] = entry_.try_emplace(to, fact);
    if (fresh) {
      todo.push_back(to);
      return;
    }
    const IsaSet set = it->second.set & fact.set;
    if (set == it->second.set) return;
    it->second.set = set;
    todo.push_back(to);
  };
  const auto leave = [&](Node node, const Fact &at_entry, bool only_guarded) {
    const size_t file = graph_.file_of(node);
    for (const Edge &e : graph_.program(file).edges(graph_.function(file, node))) {
      if (e.kind == EdgeKind::address) continue; // who calls it is not known, nor after which further checks
      const bool guarded = guards_.is_guarded(node, e.site);
      if (only_guarded && !guarded) continue;
      Fact fact = at_entry;
      if (guarded) {
        const std::optional<IsaSet> here = guards_.tested(node, guards_.cfg(node)->block_of(e.site));
        if (!here || here->empty()) continue;
        fact.set |= *here;
        fact.known = true;
        if (fact.guard == kNoNode) fact.guard = node;
      }
      meet(graph_.target(file, e), fact);
    }
  };
  for (Node n = 0; n < graph_.size(); ++n)
    if (reach_.is_open(n) && guards_.has_guards(n)) leave(n, Fact{true, {}, kNoNode}, true);
  while (!todo.empty()) {
    const Node n = todo.back();
    todo.pop_back();
    leave(n, entry_[n], false);
  }
}

void GapFinder::look(Node node, const Fact &at_entry, const IsaSet &baseline, std::vector<Gap> &gaps) const {
  const Function &f = graph_.function(node);
  const IsaSet enough = with_companions(at_entry.set) | baseline;
  if ((faulting(f.classes) - enough).empty()) return;
  const std::shared_ptr<const Cfg> flow = guards_.cfg(node);
  const Cfg &cfg = *flow;
  const bool checks = guards_.has_guards(node);
  for (uint32_t b = 0; b < cfg.blocks().size(); ++b) {
    const Block &block = cfg.blocks()[b];
    const bool guarded = checks && guards_.is_guarded(node, cfg.insns()[block.first].offset);
    if (!guarded && at_entry.guard == kNoNode) continue;
    IsaSet tested = at_entry.set;
    if (guarded) {
      const std::optional<IsaSet> here = guards_.tested(node, b);
      if (!here) continue;
      tested |= *here;
    }
    if (tested.empty()) continue; // no check of features at all: that of the operating system, or of a level
    const IsaSet proven = with_companions(tested) | baseline;
    for (uint32_t i = block.first; i < block.last; ++i) {
      const IsaSet missing = insn_class(cfg.insns()[i].insn.klass).features - psabi_level(1) - proven;
      if (missing.empty()) continue;
      const Node guard = at_entry.guard == kNoNode ? node : at_entry.guard;
      const auto same = std::ranges::find_if(gaps, [&](const Gap &g) { return g.guard == guard && g.tested == tested; });
      if (same == gaps.end())
        gaps.push_back({node, cfg.insns()[i].offset, guard, tested, missing});
      else
        same->missing |= missing;
    }
  }
}

std::vector<Gap> GapFinder::find(size_t file, const IsaSet &baseline) const {
  std::vector<Gap> gaps;
  for (Node n = graph_.first(file); n < graph_.first(file + 1); ++n) {
    if (reach_.is_open(n)) {
      if (guards_.has_guards(n)) look(n, {true, {}, kNoNode}, baseline, gaps);
    } else if (const auto it = entry_.find(n); it != entry_.end()) {
      look(n, it->second, baseline, gaps);
    }
  }
  return gaps;
}

} // namespace isa_audit::host
