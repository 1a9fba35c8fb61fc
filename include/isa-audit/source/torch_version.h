// What torch/version.py says of the build, read as text: METADATA of PyTorch's wheels on PyPI has no local version, and nothing
// is imported here. Written by tools/generate_torch_version.py of pytorch/pytorch.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "isa-audit/base/origin.h"

namespace isa_audit {

struct TorchVersion {
  Origin origin;
  std::string distribution;   // owner, empty for none
  std::string version;        // "2.9.0+cu128"
  std::string cuda, hip, xpu; // versions; empty for None

  auto operator<=>(const TorchVersion &) const = default;
};

bool is_torch_version_file(std::string_view path); // "…/torch/version.py"

// Assignments of text to __version__, cuda, hip and xpu; an annotation may stand between. What is not there stays empty.
TorchVersion parse_torch_version(std::string_view text);

} // namespace isa_audit
