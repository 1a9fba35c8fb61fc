#include "graph.h"

#include <algorithm>

#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit::host {

Graph::Graph(std::vector<GraphFile> files) : files_(std::move(files)) {
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

Node Graph::target(size_t file, const Edge &edge) const {
  if (!edge.external) return node_at(file, edge.target);
  const std::optional<Place> place = bind(file, static_cast<uint32_t>(edge.target));
  return place && !place->resolver ? node_at(place->file, place->address) : kNoNode;
}

} // namespace isa_audit::host
