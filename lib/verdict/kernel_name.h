// Names of kernels and functions for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace isa_audit {

// The demangled name without return type and parameters, at most `limit` bytes ("…" where cut); as given where it is no
// mangled name. Not escaped.
std::string kernel_name(std::string_view symbol, size_t limit = 60);

// "a, b, c and 168 more"; template instances of one kernel are named once. `names` sorted.
std::string name_a_few(const std::vector<std::string_view> &names, size_t few = 3);

} // namespace isa_audit
