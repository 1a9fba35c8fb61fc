// NVIDIA fat binaries: which sm targets and PTX a CUDA library holds, so that a vendor mismatch can be told.
#pragma once

#include <vector>

#include "isa-audit/base/problem.h"
#include "isa-audit/device/code_object.h"
#include "isa-audit/elf/elf.h"

namespace isa_audit {

// One image for each container of a section, its entries as code objects of targets "sm_86"; nothing is
// decompressed. PTX, which the driver compiles for its GPU, has `claimed` "ptx".
void read_nv_section(const ElfSection &section, const Origin &origin, std::vector<DeviceImage> &images, Problems &problems);

// The same for every such section of a file.
std::vector<DeviceImage> read_nv_fatbins(const Elf &elf, const Origin &origin, Problems &problems);

} // namespace isa_audit
