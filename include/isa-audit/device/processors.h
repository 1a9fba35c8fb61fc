// The table of AMDGPU processors: ELF machine number, the features that can be chosen, the generic that covers it.
// LLVM 22 lacks gfx940 and gfx941 (real ROCm 6 wheels hold them) and the newest ones, so the table is our own.
// Source: llvm/include/llvm/BinaryFormat/ELF.h (EF_AMDGPU_MACH_*), llvm/docs/AMDGPUUsage (processors, generic processors),
// ROCR-Runtime core/runtime/isa.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace isa_audit {

struct Processor {
  std::string_view name;
  uint8_t mach;             // EF_AMDGPU_MACH value in bits 0..7 of e_flags
  bool xnack;               // `:xnack+-` can be chosen
  bool sramecc;             // `:sramecc+-` can be chosen
  std::string_view generic; // the generic processor whose code runs here, empty for none
  bool is_generic;
  uint8_t wavefront; // 64 or 32: the default of the compiler
};

std::span<const Processor> processors();

// nullptr when unknown.
const Processor *find_processor(std::string_view name);
const Processor *find_processor_by_mach(uint8_t mach);

// The known name nearest to `name` by edit distance (at most 2), of several one that `name` starts, then the most common one
// ("gfx94" → gfx942); empty for none: for "did you mean".
std::string_view nearest_processor(std::string_view name);

} // namespace isa_audit
