// What names of files and folders say of processors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace isa_audit {

// The parts of a path, also across the '!' of archives.
std::vector<std::string_view> path_parts(std::string_view path);

// Every gfx name in `name` as a target id: "Kernels.so-000-gfx90a-xnack-.hsaco" → gfx90a:xnack-, "x_gfx9-4-generic.co" →
// gfx9-4-generic, "amd-gfx11xx" → gfx11xx.
std::vector<std::string> gfx_names(std::string_view name);

// MIOpen's names: the processor, then the number of compute units, in hexadecimal right behind it ("gfx942130" is gfx942 with
// 304) or in decimal after '_' ("gfx1030_36").
struct UnitName {
  std::string processor; // empty: `name` does not start with a known one
  unsigned units = 0;    // 0: not said
};
UnitName parse_unit_name(std::string_view name);

} // namespace isa_audit
