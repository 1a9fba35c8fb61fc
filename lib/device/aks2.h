// AOTriton's kernel storage, .aks2.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/problem.h"
#include "range_walker.h"

namespace isa_audit {

inline constexpr std::string_view kAks2Magic = "AKS2";

// Adds a piece for each kernel that the file holds. At most `limit` bytes are decompressed.
void read_aks2(const Bytes &file, const Origin &origin, uint64_t limit, std::vector<DevicePiece> &pieces, Problems &problems);

} // namespace isa_audit
