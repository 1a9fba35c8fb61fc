// `isa-audit extract`: writes code objects of the inputs to files of their own, for disassemblers and tickets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa-audit/scan/scan.h"

namespace isa_audit {

struct ExtractRequest {
  ScanOptions scan;
  std::string folder = "code-objects"; // --to; made where it is not there
  // --gpu: objects for these targets: of the processor, or a generic that covers it. All when empty.
  std::vector<TargetId> targets;
  std::vector<std::string> kernels; // --kernel: objects with a kernel whose name, mangled or not, holds one of these texts
  bool force = false;               // --force: replace files that are there
  uint64_t max_bytes = uint64_t{16} << 30; // --max-size: of all files together
};

// Writes one file for each code object and manifest.json, all directly in the folder, under names made of letters, digits and
// "._+-" only. Nothing that is there is replaced without `force`; links are never followed. Returns the exit code: 0, or 2 when
// something could not be read or written (said on standard error; what could be is there).
int extract_command(ExtractRequest request);

// The name of the file for an object: "libkern.so-1000.5f3a1c20-gfx942.co": the file it was in, the offset there, a hash of
// input, path and place, the target. So a name does not depend on what else is written.
std::string extracted_name(const CodeObject &object, const Origin &where);

} // namespace isa_audit
