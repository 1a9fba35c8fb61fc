// Builds of one library for several CPUs that lie side by side, of which something outside of their code picks one.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "image.h"

namespace isa_audit::host {

// For each path the file that it is a variant of, empty if it is none: `_x_avx2.so` next to `_x.so`, `libx-avx512.so` next to
// `libx-sse42.so`, anything in a glibc-hwcaps folder. A name that is nothing but an instruction set (`avx2.so`) is a module in
// its own right: its package imports it like any other (pyopal 0.6.0 does, on every CPU).
std::vector<std::string> find_variants(const std::vector<std::string> &paths);

// Exported functions that are one of several builds by their names, in upper or lower case (dot_k_HASWELL beside
// dot_k_SKYLAKEX): the address of each, and that of another build. Sorted.
std::vector<std::pair<uint64_t, uint64_t>> find_function_variants(const Image &image);

} // namespace isa_audit::host
