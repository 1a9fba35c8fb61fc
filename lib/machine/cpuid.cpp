// CPUID of the processor that runs this program. Specified in Intel SDM volume 2A (CPUID) and AMD APM volume 3 appendix E;
// hypervisors announce themselves by bit 31 of leaf 1's ECX and by leaf 0x40000000.
//
// Traps: leaves above the highest supported one return another leaf's data, so the highest is asked first, for each range.
// A feature may be reported although the system does not keep its registers: XCR0 tells, and XGETBV faults without OSXSAVE.
#include <algorithm>
#include <array>
#include <cstring>

#include "isa-audit/machine/cpu.h"
#include "llvm/ADT/StringRef.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace isa_audit {

#if defined(__x86_64__)
namespace {

using Registers = std::array<uint32_t, 4>; // eax, ebx, ecx, edx

Registers cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  __cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
  return r;
}

uint64_t read_xcr0() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

std::string text_of(std::initializer_list<uint32_t> words) {
  std::string text;
  for (uint32_t word : words) text.append(reinterpret_cast<const char *>(&word), sizeof word);
  return text.substr(0, text.find('\0'));
}

std::string brand_string() {
  std::string text;
  for (uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    Registers r = cpuid(leaf, 0);
    text += text_of({r[0], r[1], r[2], r[3]});
  }
  return llvm::StringRef(text).trim().str();
}

// Leaves and their last subleaves that this processor has.
class Cpuid {
public:
  Cpuid() : basic_(cpuid(0, 0)[0]), extended_(cpuid(0x80000000, 0)[0]) {}

  uint32_t extended() const { return extended_; }

  // Zeros for what the processor does not have.
  Registers read(uint32_t leaf, uint32_t subleaf) const {
    bool is_extended = leaf >= 0x80000000;
    if (leaf > (is_extended ? extended_ : basic_) || (is_extended && extended_ < 0x80000000)) return {};
    // EAX of these leaves' subleaf 0 is the highest subleaf.
    if (subleaf != 0 && (leaf == 7 || leaf == 0x1e) && subleaf > cpuid(leaf, 0)[0]) return {};
    return cpuid(leaf, subleaf);
  }

private:
  uint32_t basic_, extended_;
};

// Vendor texts of leaf 0x40000000: Linux arch/x86/kernel/cpu, Hyper-V's top-level functional specification.
constexpr std::pair<std::string_view, const char *> kHypervisors[] = {
    {"KVMKVMKVM", "KVM"},          {"Linux KVM Hv", "KVM"},        {"TCGTCGTCGTCG", "QEMU TCG"},   {"VMwareVMware", "VMware"},
    {"Microsoft Hv", "Hyper-V"},   {"XenVMMXenVMM", "Xen"},        {"VBoxVBoxVBox", "VirtualBox"}, {"prl hyperv", "Parallels"},
    {" lrpepyh vr", "Parallels"},  {"bhyve bhyve ", "bhyve"},      {"ACRNACRNACRN", "ACRN"},       {"QNXQVMBSQG", "QNX"},
    {"VirtualApple", "Rosetta 2"}, {"EVMMEVMMEVMM", "Intel EVMM"}, {"JailhouseHyp", "Jailhouse"},
};

std::string hypervisor_name() {
  Registers r = cpuid(0x40000000, 0);
  std::string vendor = text_of({r[1], r[2], r[3]});
  for (const auto &[text, name] : kHypervisors)
    if (vendor == text) return name;
  return vendor.empty() ? "unknown" : vendor;
}

bool has_feature(const FeatureInfo &info, const Cpuid &leaves, uint64_t xcr0) {
  Registers r = leaves.read(info.leaf, info.subleaf);
  if (!(r[static_cast<size_t>(info.reg - 'a')] >> info.bit & 1)) return false;
  if ((xcr0 & info.xcr0) != info.xcr0) return false;
  return info.avx10_version == 0 || (leaves.read(0x24, 0)[1] & 0xff) >= info.avx10_version;
}

} // namespace

CpuIdentity read_cpuid() {
  CpuIdentity identity;
  Registers zero = cpuid(0, 0);
  identity.vendor = text_of({zero[1], zero[3], zero[2]});
  Cpuid leaves;
  Registers one = leaves.read(1, 0);
  identity.family = one[0] >> 8 & 0xf;
  identity.model = one[0] >> 4 & 0xf;
  if (identity.family == 6 || identity.family == 15) identity.model |= one[0] >> 12 & 0xf0;
  if (identity.family == 15) identity.family += one[0] >> 20 & 0xff;
  if (leaves.extended() >= 0x80000004 && leaves.extended() >= 0x80000000) identity.model_name = brand_string();
  bool osxsave = one[2] >> 27 & 1;
  uint64_t xcr0 = osxsave ? read_xcr0() : 0;
  for (size_t i = 0; i < kFeatureCount; ++i)
    if (has_feature(feature_info(static_cast<Feature>(i)), leaves, xcr0)) identity.features.insert(static_cast<Feature>(i));
  identity.hypervisor_flag = one[2] >> 31 & 1;
  if (identity.hypervisor_flag) identity.hypervisor = hypervisor_name();
  return identity;
}
#else
CpuIdentity read_cpuid() {
  CpuIdentity identity;
  identity.has_fpu = false;
  return identity;
}
#endif

} // namespace isa_audit
