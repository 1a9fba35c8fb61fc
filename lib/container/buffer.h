// Memory that a member is inflated into.
#pragma once

#include <cstdint>
#include <memory>

#include "llvm/Support/Error.h"

namespace isa_audit {

struct Buffer {
  uint8_t *data;
  std::shared_ptr<const void> owner;
};

// `size` bytes that nobody has written to. Large ones are mapped (given back to the system when freed, huge pages where the
// system has them). Error: no memory.
llvm::Expected<Buffer> allocate_buffer(uint64_t size);

// The same in an unlinked temporary file. Error: no folder for temporary files, or no space in it.
llvm::Expected<Buffer> allocate_spilled(uint64_t size);

} // namespace isa_audit
