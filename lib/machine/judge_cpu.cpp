// What a processor's identity means to people: its name, and whether its flags are those of the silicon.
//
// Virtual machines hide flags: by a CPU type that stands for an old processor (kvm64, qemu64), or by clearing some of the
// host's (VirtualBox on Hyper-V). Firmware and product lines hide them too (AES off, Pentium and Celeron without AVX). In each
// case the model name promises more than programs may use, which is the question people ask.
#include "isa-audit/machine/cpu.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

using llvm::StringRef;

// Model names of QEMU's CPU models (target/i386/cpu.c), which show an older processor than the host's.
constexpr std::pair<std::string_view, std::string_view> kQemuModelNames[] = {
    {"Intel Celeron_4x0 (Conroe", "Conroe"},
    {"Intel Core 2 Duo P9xxx (Penryn", "Penryn"},
    {"Intel Core i7 9xx (Nehalem", "Nehalem"},
    {"Westmere E56xx", "Westmere"},
    {"Intel Xeon E312xx", "SandyBridge"},
    {"Intel Xeon E3-12xx v2", "IvyBridge"},
    {"Intel Core Processor (Haswell, no TSX", "Haswell-noTSX"},
    {"Intel Core Processor (Haswell", "Haswell"},
    {"Intel Core Processor (Broadwell, no TSX", "Broadwell-noTSX"},
    {"Intel Core Processor (Broadwell", "Broadwell"},
    {"Intel Core Processor (Skylake", "Skylake-Client"},
    {"Intel Xeon Processor (Skylake", "Skylake-Server"},
    {"Intel Xeon Processor (Cascadelake", "Cascadelake-Server"},
    {"Intel Xeon Processor (Cooperlake", "Cooperlake"},
    {"Intel Xeon Processor (Icelake", "Icelake-Server"},
    {"Intel Atom Processor (Denverton", "Denverton"},
    {"Intel Atom Processor (SnowRidge", "Snowridge"},
    {"AMD Opteron 240 (Gen 1", "Opteron_G1"},
    {"AMD Opteron 22xx", "Opteron_G2"},
    {"AMD Opteron 23xx", "Opteron_G3"},
    {"AMD Opteron 62xx class", "Opteron_G4"},
    {"AMD Opteron 63xx class", "Opteron_G5"},
    {"AMD EPYC-Rome Processor", "EPYC-Rome"},
    {"AMD EPYC-Milan Processor", "EPYC-Milan"},
    {"AMD EPYC-Genoa Processor", "EPYC-Genoa"},
};

// The CPU type of a virtual machine, by its model name; empty where the host's processor shows, and outside of one.
std::string_view vm_cpu_type(const CpuIdentity &identity) {
  StringRef name(identity.model_name);
  for (const auto &[prefix, type] : kQemuModelNames)
    if (identity.hypervisor_flag && name.starts_with(prefix)) return type;
  if (name.starts_with("Common KVM processor") || name.starts_with("Common 32-bit KVM processor")) return "kvm64";
  if (!name.starts_with("QEMU Virtual CPU")) return {};
  // Proxmox VE's types are qemu64 with flags added, so its name is theirs.
  if (identity.features.contains(Feature::avx512f)) return "x86-64-v4";
  if (identity.features.contains(Feature::avx2)) return "x86-64-v3";
  if (identity.features.contains(Feature::sse4_2))
    return identity.features.contains(Feature::aes) ? "x86-64-v2-AES" : "x86-64-v2";
  return "qemu64";
}

std::string join(const std::vector<std::string> &words) {
  std::string out;
  for (const std::string &word : words) out.append(out.empty() ? "" : " ").append(word);
  return out;
}

// What a processor of this name has and this one does not show, as far as compilers and libraries ask for it.
IsaSet hidden_features(StringRef name, const IsaSet &features) {
  std::optional<CpuModel> model = find_cpu_model(name);
  if (!model) return {};
  IsaSet asked_for = psabi_level(4) | IsaSet{Feature::aes, Feature::pclmul, Feature::sha, Feature::vaes, Feature::gfni};
  return (model->features & asked_for) - features;
}

void note_hidden(const CpuIdentity &identity, Cpu &cpu) {
  IsaSet hidden = hidden_features(cpu.name, cpu.features);
  if (hidden.empty()) return;
  std::string names = join(hidden.names());
  bool in_vm = identity.hypervisor_flag;
  cpu.masked = in_vm;
  cpu.notes.push_back(
      in_vm ? llvm::formatv("the virtual machine hides what a {0} has: {1}; choose the CPU type 'host' to show it", cpu.name,
                            names)
                  .str()
            : llvm::formatv("a {0} usually has {1}, this one does not show it: a product without it, or turned off by the "
                            "firmware, the kernel or a hypervisor that does not show itself",
                            cpu.name, names)
                  .str());
}

} // namespace

Cpu judge_cpu(CpuIdentity identity) {
  Cpu cpu;
  cpu.model = identity.model_name;
  cpu.features = identity.features;
  cpu.hypervisor = identity.hypervisor.empty() && identity.hypervisor_flag ? "unknown" : identity.hypervisor;
  if (StringRef(identity.model_name).contains("VirtualApple") || identity.vendor == "VirtualApple") {
    cpu.name = "rosetta2";
    cpu.notes.push_back("translated by Rosetta 2 on Apple silicon: its flags are not reliable, AVX code may run or fault "
                        "depending on the version of macOS");
    return cpu;
  }
  if (!identity.has_fpu) {
    cpu.name = "emulated";
    cpu.notes.push_back("no x86 flags (not even fpu): an emulator on another architecture that shows its host's flags; give "
                        "the CPU it emulates with --cpu");
    return cpu;
  }
  if (std::string_view type = vm_cpu_type(identity); !type.empty()) {
    cpu.name = type;
    cpu.masked = true;
    cpu.notes.push_back(llvm::formatv("the virtual machine's CPU type '{0}' hides what the real CPU has beyond it; choose "
                                      "the type 'host' to show that",
                                      type)
                            .str());
    return cpu;
  }
  cpu.name = cpu_name_by_numbers(identity.vendor, identity.family, identity.model, identity.features);
  if (cpu.name.empty()) {
    int level = highest_level(cpu.features);
    cpu.name = level ? "x86-64-v" + std::to_string(level) : "x86-64";
    cpu.notes.push_back(
        llvm::formatv("no name is known for family {0} model {1} of '{2}'", identity.family, identity.model, identity.vendor)
            .str());
    return cpu;
  }
  note_hidden(identity, cpu);
  return cpu;
}

} // namespace isa_audit
