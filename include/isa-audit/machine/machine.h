// A machine to judge against: the local one, one given by --gpu and --cpu, or one from a profile.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa-audit/base/problem.h"
#include "isa-audit/device/target_id.h"
#include "isa-audit/host/feature.h"

namespace isa_audit {

struct Gpu {
  TargetId target;                   // physical, settings concrete: "gfx942:sramecc+:xnack-"
  std::vector<std::string> assumed;  // settings that were not read but predicted: "xnack"
  std::optional<TargetId> effective; // what HSA_OVERRIDE_GFX_VERSION makes the runtime believe, if set
  std::string name;                  // marketing name where known; may be empty
  bool visible = true;               // false: hidden by *_VISIBLE_DEVICES or no access to its render node
  std::vector<std::string> notes;    // one sentence each: why hidden, what was assumed
  std::string found;                 // how it was found: "KFD node 1, partition 1 of 8 of one GPU", "DRM card0", "--gpu"
  std::string pci;                   // "1002:74a1 at 0000:05:00.0" where known

  const TargetId &loader_target() const { return effective ? *effective : target; }
};

struct Cpu {
  std::string name;               // LLVM's CPU name ("znver4"), "x86-64-v3", or the name given
  std::string model;              // "AMD EPYC 9654 96-Core Processor" where known
  IsaSet features;                // usable: what the OS or hypervisor masks counts as absent
  std::string hypervisor;         // "KVM", "VMware", …; empty on bare metal or when unknown
  std::vector<std::string> notes; // masked flags, translated CPU
  bool masked = false;            // a virtual machine shows less than the processor has, or a CPU type of its own
  std::string found;              // how it was found: "CPUID", "/proc/cpuinfo", "--cpu"
};

enum class How : uint8_t { detected, given, profile };
const char *how_name(How how);

struct Machine {
  How how = How::given;
  bool judge_gpus = false;       // false: --gpu none
  std::vector<Gpu> gpus;         // visible ones first, in the order of the runtime; then hidden ones in the order of KFD. With
                                 // judge_gpus and none here: no local GPU was found
  bool judge_cpu = false;        // false: --cpu none
  std::optional<Cpu> cpu;        // with judge_cpu and none here: no CPU was found
  std::vector<std::string> rocm; // versions of ROCm found, "7.0.2"
  std::string driver;            // amdgpu version where known
  std::map<std::string, std::string> overrides; // HSA_OVERRIDE_GFX_VERSION, HSA_XNACK, HIP_VISIBLE_DEVICES … that are set
  std::vector<std::string> notes;               // how each part was found or why not: "no /sys/class/kfd: amdgpu is not loaded"
};

} // namespace isa_audit
