// The functions of a set of files as one graph. Calls into other files are resolved as the loader would: by name, in the
// closure of DT_NEEDED, of which the files of the set are known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "program.h"

namespace isa_audit::host {

using Node = uint32_t; // a function of some file
inline constexpr Node kNoNode = UINT32_MAX;

struct GraphFile {
  const Program *program = nullptr;
  std::string_view name; // the file's own name, without folders: what DT_NEEDED may ask for
};

class Graph {
public:
  Graph(std::vector<GraphFile> files, const ParallelFor &parallel);

  size_t file_count() const { return files_.size(); }
  const Program &program(size_t file) const { return *files_[file].program; }
  Node first(size_t file) const { return first_[file]; }
  Node size() const { return first_.back(); }

  size_t file_of(Node node) const;
  const Function &function(Node node) const { return function(file_of(node), node); }
  const Function &function(size_t file, Node node) const { return files_[file].program->functions()[node - first_[file]]; }
  // The function of `file` that starts at or holds `address`.
  Node node_at(size_t file, uint64_t address) const;

  // The file and address that entry `symbol` of the dynamic symbols of `file` is bound to.
  struct Place {
    size_t file;
    uint64_t address;
    bool resolver; // an IFUNC: what is bound is what the function there returns
  };
  std::optional<Place> bind(size_t file, uint32_t symbol) const;
  std::optional<Place> find_export(size_t file, std::string_view name) const;

  // The files that the loader searches for symbols of `file`, itself first, then what it needs.
  const std::vector<size_t> &scope(size_t file) const { return names_[file].scope; }

  // The function that an edge of `file` leads to; kNoNode when it leaves the set. `edge` is one of the program's own.
  Node target(size_t file, const Edge &edge) const {
    return targets_[file][static_cast<size_t>(&edge - files_[file].program->edges().data())];
  }

private:
  Node find_target(size_t file, const Edge &edge, const std::vector<Node> &imports) const;

  struct Names {
    std::unordered_map<std::string_view, const DynamicSymbol *> by_name;
    std::vector<size_t> scope; // files to search, this one first
  };

  std::vector<GraphFile> files_;
  std::vector<Node> first_;
  std::vector<Names> names_;
  std::vector<std::vector<Node>> targets_; // of each file's edges
};

} // namespace isa_audit::host
