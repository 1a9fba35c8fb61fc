// Whether a GPU's loader takes a code object: the rules of ROCr (core/runtime/isa.cpp, Isa::IsCompatible) and of HIP's
// choice among the entries of a bundle (hipamd/src/hip_fatbin.cpp). Pure: no I/O, no clock, no environment.
#pragma once

#include "isa-audit/device/code_object.h"
#include "isa-audit/device/runtime_era.h"
#include "isa-audit/device/target_id.h"

namespace isa_audit {

enum class Match : uint8_t {
  none,             // another processor
  generic_version,  // a generic processor that covers it, but without a version, as object versions before 6 are
  xnack_mismatch,   // the processor, but the object needs the other setting of xnack
  sramecc_mismatch, // the processor, but the object needs the other setting of sramecc
  not_loadable,     // the processor, but a relocatable object or bitcode
  runtime_too_old,  // the code is right, but the runtime does not know its format; only where an era is given
  runtime_unknown,  // no source says whether the runtime knows it
  spirv,            // compiled at run time; last in HIP's order
  generic,          // served by a generic processor
  exact,
};
inline bool is_served(Match match) { return match >= Match::spirv; }

// `gpu` has settings off, on or unsupported, never any. By a runtime that knows every format.
Match compatible(const CodeObject &object, const TargetId &gpu);

// By the runtimes of an era.
Match compatible(const CodeObject &object, const TargetId &gpu, Era era);

// Whether the answer may differ from era to era.
bool depends_on_era(const CodeObject &object, const TargetId &gpu);

// The best match among the entries of an image (exact, then generic, then SPIR-V; else the most telling failure).
Match best_match(const DeviceImage &image, const TargetId &gpu);
Match best_match(const DeviceImage &image, const TargetId &gpu, Era era);

// gfx902, gfx909 and gfx90c, whose xnack setting newer runtimes do not report.
bool is_gfx9_client_apu(std::string_view processor);

} // namespace isa_audit
