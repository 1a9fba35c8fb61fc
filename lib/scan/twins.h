// Members with the same content, found without inflating any.
#pragma once

#include <cstddef>
#include <vector>

#include "classify.h"
#include "pool.h"

namespace isa_audit {

// For each member the index of the first one with the same content; its own index when it is the first.
std::vector<size_t> find_twins(const std::vector<KnownMember> &members, Pool &pool);

} // namespace isa_audit
