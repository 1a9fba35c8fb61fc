// What ROCm's runtimes make of the GPUs that the kernel shows: filters, overrides, xnack. Pure functions.
//
// Sources: ROCR-Runtime core/runtime/amd_filter_device.cpp, core/util/flag.h, amd_gpu_agent.cpp, libhsakmt/src/topology.c;
// clr rocclr/device/rocm/rocdevice.cpp (Device::init); Linux drivers/gpu/drm/amd: amdgpu_gmc.c (amdgpu_gmc_noretry_set),
// amdkfd/kfd_process.c (kfd_process_xnack_mode).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace isa_audit {

struct Selection {
  std::vector<size_t> chosen; // indexes into the list given, in the order the runtime shows them
  std::string note;           // why the list was not read to its end; empty when it was
};

// ROCR_VISIBLE_DEVICES. Tokens are trimmed and compared in upper case: an index (decimal, 0x, octal) or "GPU-" and hex digits
// that begin exactly one GPU's unique id. The first bad token or second mention ends the list; set but empty means none.
Selection select_rocr(std::string_view value, std::span<const uint64_t> unique_ids);

// HIP_VISIBLE_DEVICES, or CUDA_VISIBLE_DEVICES in its place; `value` is not empty. An index without blanks, signs or leading
// zeros, or part of "GPU-" and 16 lower-case hex digits (HIP 6.2 and newer); the first bad token ends the list, a second
// mention is passed over.
Selection select_hip(std::string_view value, std::span<const uint64_t> unique_ids);

// HSA_OVERRIDE_GFX_VERSION: three decimal fields. The processor ("gfx90a" for 9.0.10), or empty when libhsakmt refuses it.
std::string override_processor(std::string_view value);

struct XnackMode {
  bool on = false;
  std::string note; // why HSA_XNACK=1 has no effect; empty otherwise
};
// The mode of a process that opens all of `processors`. `noretry` is the module's parameter (-1: by processor), `wish` the
// value of HSA_XNACK, empty when unset.
XnackMode predict_xnack(std::span<const std::string> processors, int noretry, std::string_view wish);

// Whether HSA_XNACK can choose for each process.
bool chooses_xnack_per_process(std::string_view processor);

} // namespace isa_audit
