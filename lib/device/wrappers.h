// The fat binary wrappers of a HIP host library, held against the device code that was found.
#pragma once

#include <vector>

#include "isa-audit/base/problem.h"
#include "isa-audit/device/code_object.h"
#include "isa-audit/elf/elf.h"
#include "range_walker.h"

namespace isa_audit {

// Counts the wrappers of .hipFatBinSegment into `code`, marks kpack ones, and tells each whose pointer leads to no piece.
void check_wrappers(const Elf &elf, const Origin &origin, const std::vector<DevicePiece> &pieces, DeviceCode &code,
                    Problems &problems);

} // namespace isa_audit
