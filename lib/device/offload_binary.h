// Offload binaries, magic 10 ff 10 ad (llvm/include/llvm/Object/OffloadBinary.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/base/bytes.h"

namespace isa_audit {

struct OffloadEntry {
  uint16_t image_kind = 0, offload_kind = 0;
  uint32_t flags = 0;
  std::string_view triple, arch;
  Bytes image; // empty for an entry without one
};

// Bytes that the binary at the start of `bytes` takes. Error: the header does not hold, or claims more than there is.
llvm::Expected<uint64_t> offload_binary_extent(const Bytes &bytes);

struct OffloadBinary {
  std::vector<OffloadEntry> entries;
  std::vector<std::string> errors; // of entries that do not hold
  Bytes content;                   // keeps alive what the entries point into when the binary was compressed (version 3)
};

// Versions 1 (one image), 2 (several) and 3 (compressed). At most `limit` bytes are inflated.
llvm::Expected<OffloadBinary> parse_offload_binary(const Bytes &bytes, uint64_t limit);

} // namespace isa_audit
