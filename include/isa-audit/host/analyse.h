// Decodes the executable code of an x86-64 ELF file and tells what it needs of a CPU.
#pragma once

#include "isa-audit/base/parallel.h"
#include "isa-audit/elf/elf.h"
#include "isa-audit/host/host_code.h"

namespace isa_audit {

// `elf` is x86-64 (EM_X86_64, 64 bit). Large text is cut at function boundaries and decoded through `parallel`; the result
// does not depend on how. `problems` receives messages without origin (code that does not decode where it should).
HostCode analyse_host(const Elf &elf, const ParallelFor &parallel, std::vector<std::string> &problems);

} // namespace isa_audit
