// What to do about a finding, in the words of the project that the file belongs to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/machine/machine.h"

namespace isa_audit {

// How to build `distribution` (may be empty) for `wanted` beside the targets that it `holds`: "PYTORCH_ROCM_ARCH='…'".
std::string build_advice(std::string_view distribution, const std::string &wanted, const std::vector<std::string> &holds);

// How to get code for the GPU: another build, how to build, what an override would do.
std::string gpu_advice(std::string_view distribution, const Gpu &gpu, const std::vector<std::string> &holds);

// What to do about CPU features that are missing; `cpu` may be nullptr (a gate).
std::string cpu_advice(std::string_view distribution, const Cpu *cpu);

} // namespace isa_audit
