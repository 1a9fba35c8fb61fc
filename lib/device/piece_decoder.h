// From the pieces that the walkers cut out of a file to its device code.
#pragma once

#include <vector>

#include "isa-audit/base/parallel.h"
#include "isa-audit/base/problem.h"
#include "isa-audit/device/code_object.h"
#include "isa-audit/device/read_device.h"
#include "range_walker.h"

namespace isa_audit {

// Decodes the pieces, the largest first so that no thread is left with it at the end, and puts the results into `code` in the
// order of the file.
void decode_pieces(const std::vector<DevicePiece> &pieces, const Origin &origin, const DeviceLimits &limits,
                   const ParallelFor &parallel, DeviceCode &code, Problems &problems);

// A note for each processor whose code was to be decoded (DeviceLimits::decode) and could not be.
void tell_undecoded(const DeviceCode &code, const Origin &origin, Problems &problems);

} // namespace isa_audit
