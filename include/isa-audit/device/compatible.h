// Whether a GPU's loader takes a code object: the rules of ROCr (core/runtime/isa.cpp, Isa::IsCompatible) and of HIP's
// choice among the entries of a bundle (hipamd/src/hip_fatbin.cpp). Pure: no I/O, no clock, no environment.
#pragma once

#include "isa-audit/device/code_object.h"
#include "isa-audit/device/target_id.h"

namespace isa_audit {

enum class Match : uint8_t {
  none,             // another processor
  xnack_mismatch,   // the processor, but the object needs the other setting of xnack
  sramecc_mismatch, // the processor, but the object needs the other setting of sramecc
  not_loadable,     // the processor, but a relocatable object or bitcode
  spirv,            // compiled at run time; last in HIP's order
  generic,          // served by a generic processor
  exact,
};
inline bool is_served(Match match) { return match >= Match::spirv; }

// `gpu` has settings off, on or unsupported, never any.
Match compatible(const CodeObject &object, const TargetId &gpu);

// The best match among the entries of an image (exact, then generic, then SPIR-V; else the most telling failure).
Match best_match(const DeviceImage &image, const TargetId &gpu);

} // namespace isa_audit
