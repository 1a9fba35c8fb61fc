// Memory of bytes that were looked at for the last time.
#pragma once

#include "isa-audit/base/bytes.h"

namespace isa_audit {

// Gives back the memory of the whole pages among the `length` bytes at `offset`: nobody looks at them again. What they read as
// afterwards is not defined (a mapped file reads as before, an inflated member as zeros).
void discard(const Bytes &bytes, uint64_t offset, uint64_t length);

} // namespace isa_audit
