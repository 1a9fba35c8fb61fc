// Finds where device code might start.
#pragma once

#include <cstdint>
#include <vector>

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/parallel.h"

namespace isa_audit {

enum class Magic : uint8_t { bundle, ccob, elf, offload_binary };

struct MagicHit {
  uint64_t offset;
  Magic magic;
};

// Every place in `bytes` where the magic of a bundle, a compressed bundle, a little-endian 64-bit AMDGPU ELF file or an offload
// binary stands, in order, at any alignment. A hit is only a place to look: magics occur in code and strings too.
std::vector<MagicHit> scan_magics(const Bytes &bytes, const ParallelFor &parallel);

} // namespace isa_audit
