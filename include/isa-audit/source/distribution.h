// A distribution (an installed Python package) as its own dist-info describes it: METADATA says name and version, RECORD
// which files are its own. Folder names are never trusted: one distribution may install into another's folder.
// Formats: packaging.python.org "Core metadata", "Recording installed projects", "Binary distribution format".
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace isa_audit {

struct Distribution {
  std::string name; // as METADATA spells it
  std::string version;
  uint32_t input = 0;                     // of the path it was found in
  std::string path;                       // of its dist-info folder, relative to the input
  std::vector<std::string> requires_dist; // as written

  auto operator<=>(const Distribution &) const = default;
};

// PEP 503: lower case, runs of '-', '_', '.' become one '-'.
std::string normalized_name(std::string_view name);

} // namespace isa_audit
