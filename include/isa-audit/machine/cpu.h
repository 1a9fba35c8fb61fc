// CPUs: named ones, the one in a /proc/cpuinfo text, and the one that runs this program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/machine/machine.h"

namespace isa_audit {

// A feature as people write it: LLVM's name, Linux' word in /proc/cpuinfo, or Intel's, in any case and with '_', '.' or '-'
// in any place: "sse4_1", "SSE4.1", "pni", "abm", "avx512_bf16", "amx_tile".
std::optional<Feature> find_feature_spelling(std::string_view text);

struct CpuModel {
  std::string name; // as the table spells it: "haswell", "Haswell-noTSX", "x86-64-v3"
  IsaSet features;
  std::string note; // what to know about the table's choice; may be empty
};

// A CPU by name: x86-64-v1 … v4 as the psABI has them, LLVM's CPU names, the CPU models of QEMU and Proxmox VE, rosetta2.
// Case matters only where LLVM and QEMU share a name (Haswell is QEMU's, haswell LLVM's; any other case is LLVM's).
std::optional<CpuModel> find_cpu_model(std::string_view name);
// All names that find_cpu_model knows, without QEMU's version suffixes; for messages.
std::vector<std::string> cpu_model_names();

// LLVM's CPU name for what CPUID or /proc/cpuinfo say of vendor ("GenuineIntel"), family and model (display values, extended
// parts added); empty when unknown. `features` tells apart processors that share the numbers.
std::string_view cpu_name_by_numbers(std::string_view vendor, unsigned family, unsigned model, const IsaSet &features);

// The identity of a processor, before it is judged.
struct CpuIdentity {
  std::string vendor, model_name;
  unsigned family = 0, model = 0;
  IsaSet features;
  bool has_fpu = true; // false: no x86 flags at all, an emulator that shows the flags of another processor
  bool hypervisor_flag = false;
  std::string hypervisor; // vendor by CPUID leaf 0x40000000, where it could be read
};

// The first processor block of a text in /proc/cpuinfo form. Error: no flags line (not x86, or not such a text).
llvm::Expected<CpuIdentity> parse_cpuinfo(std::string_view text);

// CPUID with XCR0: a feature whose state the system has not enabled counts as absent.
CpuIdentity read_cpuid();

// Adds the name and the notes: masked flags, VM CPU types, translation.
Cpu judge_cpu(CpuIdentity identity);

} // namespace isa_audit
