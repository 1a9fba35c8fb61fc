#include "graph.h"

#include <algorithm>

#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit::host {

namespace {
constexpr size_t kJobEdges = 1 << 17; // resolved by one job
} // namespace

Graph::Graph(std::vector<GraphFile> files, const ParallelFor &parallel) : files_(std::move(files)), targets_(files_.size()) {
  first_.push_back(0);
  std::unordered_map<std::string_view, size_t> by_file_name;
  for (size_t i = 0; i < files_.size(); ++i) {
    first_.push_back(first_.back() + static_cast<Node>(files_[i].program->functions().size()));
    by_file_name.try_emplace(files_[i].name, i);
    if (const std::string_view soname = files_[i].program->image().elf().soname(); !soname.empty())
      by_file_name.try_emplace(soname, i);
  }
  names_.resize(files_.size());
  for (size_t i = 0; i < files_.size(); ++i) {
    for (const DynamicSymbol &s : files_[i].program->image().exports()) names_[i].by_name.try_emplace(s.name, &s);
    std::vector<size_t> &scope = names_[i].scope;
    scope.push_back(i);
    for (size_t at = 0; at < scope.size(); ++at) {
      for (const std::string_view needed : files_[scope[at]].program->image().elf().needed()) {
        const auto found = by_file_name.find(needed);
        if (found != by_file_name.end() && std::ranges::find(scope, found->second) == scope.end())
          scope.push_back(found->second);
      }
    }
  }
  for (size_t i = 0; i < files_.size(); ++i) {
    const std::span<const Edge> edges = files_[i].program->edges();
    // The relocations of a damaged file name any symbol: only those that are there count.
    const Image &image = files_[i].program->image();
    uint64_t last = 0;
    for (const Edge &e : edges)
      if (e.external && e.target >= last && image.symbol(static_cast<uint32_t>(e.target))) last = e.target + 1;
    std::vector<Node> imports(last, kNoNode);
    std::vector<bool> looked(last);
    for (const Edge &e : edges) {
      if (!e.external || e.target >= last || looked[e.target]) continue;
      looked[e.target] = true;
      const std::optional<Place> place = bind(i, static_cast<uint32_t>(e.target));
      if (place && !place->resolver) imports[e.target] = node_at(place->file, place->address);
    }
    targets_[i].resize(edges.size());
    parallel((edges.size() + kJobEdges - 1) / kJobEdges, [&](size_t job) {
      for (size_t e = job * kJobEdges; e < std::min(edges.size(), (job + 1) * kJobEdges); ++e)
        targets_[i][e] = find_target(i, edges[e], imports);
    });
  }
}

size_t Graph::file_of(Node node) const {
  return static_cast<size_t>(std::ranges::upper_bound(first_, node) - first_.begin()) - 1;
}

Node Graph::node_at(size_t file, uint64_t address) const {
  const uint32_t index = files_[file].program->function_at(address);
  return index == kNoFunction ? kNoNode : first_[file] + index;
}

std::optional<Graph::Place> Graph::bind(size_t file, uint32_t symbol) const {
  const std::optional<DynamicSymbol> s = files_[file].program->image().symbol(symbol);
  if (!s || s->name.empty()) return std::nullopt;
  return find_export(file, s->name);
}

std::optional<Graph::Place> Graph::find_export(size_t file, std::string_view name) const {
  for (const size_t other : names_[file].scope) {
    const auto found = names_[other].by_name.find(name);
    if (found != names_[other].by_name.end())
      return Place{other, found->second->value, found->second->type == llvm::ELF::STT_GNU_IFUNC};
  }
  return std::nullopt;
}

Node Graph::find_target(size_t file, const Edge &edge, const std::vector<Node> &imports) const {
  if (!edge.external) return node_at(file, edge.target);
  return edge.target < imports.size() ? imports[edge.target] : kNoNode;
}

} // namespace isa_audit::host
