// Which binaries are loaded together.
#pragma once

#include <cstdint>
#include <vector>

#include "classify.h"

namespace isa_audit {

struct LoadSet {
  std::vector<size_t> members; // indices into Collected::binaries, in order
  uint64_t size = 0;           // bytes of all
  uint64_t anonymous = 0;      // of these, bytes of anonymous memory while they are open
};

// The binaries of one distribution, or of one archive or input that no distribution claims, are a set as long as they can be
// open together within `memory`; where they cannot, each is a set of its own. Only first[i] == i is taken: the others are
// copies. The largest sets come first.
std::vector<LoadSet> load_sets(const Collected &collected, const std::vector<size_t> &first, uint64_t memory);

} // namespace isa_audit
