// How rooms below `scan` use the threads of the run without owning any: they hand over a count and a body.
#pragma once

#include <cstddef>
#include <functional>

namespace isa_audit {

// Calls body(0) … body(n-1), each once, perhaps at the same time on several threads; returns when all are done. Bodies
// write to places of their own; results are put in order by the caller.
using ParallelFor = std::function<void(size_t n, const std::function<void(size_t)> &body)>;

// The ParallelFor of a single thread.
inline void serial_for(size_t n, const std::function<void(size_t)> &body) {
  for (size_t i = 0; i < n; ++i) body(i);
}

} // namespace isa_audit
