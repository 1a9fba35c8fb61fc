// From a processor's numbers to LLVM's name for it.
//
// Intel family 6 and AMD families by display family and model, as in llvm/lib/TargetParser/Host.cpp, Intel SDM volume 4 table
// 2-1 and AMD's revision guides. LLVM itself can only name the processor it runs on; a /proc/cpuinfo from elsewhere needs the
// same answer.
#include "isa-audit/machine/cpu.h"

namespace isa_audit {

namespace {

struct IntelRow {
  uint8_t model;
  std::string_view name;
};

// Family 6, by model.
constexpr IntelRow kIntel[] = {
    {0x0f, "core2"},
    {0x16, "core2"},
    {0x17, "penryn"},
    {0x1d, "penryn"},
    {0x1a, "nehalem"},
    {0x1e, "nehalem"},
    {0x1f, "nehalem"},
    {0x2e, "nehalem"},
    {0x25, "westmere"},
    {0x2c, "westmere"},
    {0x2f, "westmere"},
    {0x2a, "sandybridge"},
    {0x2d, "sandybridge"},
    {0x3a, "ivybridge"},
    {0x3e, "ivybridge"},
    {0x3c, "haswell"},
    {0x3f, "haswell"},
    {0x45, "haswell"},
    {0x46, "haswell"},
    {0x3d, "broadwell"},
    {0x47, "broadwell"},
    {0x4f, "broadwell"},
    {0x56, "broadwell"},
    {0x4e, "skylake"},
    {0x5e, "skylake"},
    {0x8e, "skylake"},
    {0x9e, "skylake"},
    {0xa5, "skylake"},
    {0xa6, "skylake"},
    {0xa7, "rocketlake"},
    {0x66, "cannonlake"},
    {0x7d, "icelake-client"},
    {0x7e, "icelake-client"},
    {0x8c, "tigerlake"},
    {0x8d, "tigerlake"},
    {0x97, "alderlake"},
    {0x9a, "alderlake"},
    {0xbe, "gracemont"},
    {0xb7, "raptorlake"},
    {0xba, "raptorlake"},
    {0xbf, "raptorlake"},
    {0xaa, "meteorlake"},
    {0xac, "meteorlake"},
    {0xb5, "arrowlake"},
    {0xc5, "arrowlake"},
    {0xc6, "arrowlake-s"},
    {0xbd, "lunarlake"},
    {0xcc, "pantherlake"},
    {0xd5, "wildcatlake"},
    {0x6a, "icelake-server"},
    {0x6c, "icelake-server"},
    {0x8f, "sapphirerapids"},
    {0xcf, "emeraldrapids"},
    {0xad, "graniterapids"},
    {0xae, "graniterapids-d"},
    {0xaf, "sierraforest"},
    {0xb6, "grandridge"},
    {0xdd, "clearwaterforest"},
    {0x1c, "bonnell"},
    {0x26, "bonnell"},
    {0x27, "bonnell"},
    {0x35, "bonnell"},
    {0x36, "bonnell"},
    {0x37, "silvermont"},
    {0x4a, "silvermont"},
    {0x4c, "silvermont"},
    {0x4d, "silvermont"},
    {0x5a, "silvermont"},
    {0x5d, "silvermont"},
    {0x5c, "goldmont"},
    {0x5f, "goldmont"},
    {0x7a, "goldmont-plus"},
    {0x86, "tremont"},
    {0x8a, "tremont"},
    {0x96, "tremont"},
    {0x9c, "tremont"},
    {0x57, "knl"},
    {0x85, "knm"},
};

std::string_view intel_name(unsigned family, unsigned model, const IsaSet &features) {
  // Hypervisors show family 15 for what is none (KVM as Hyper-V on Xeon Gold): no such processor had SSSE3.
  if (family == 15) return features.contains(Feature::ssse3) ? std::string_view() : "nocona";
  if (family == 18 && (model == 1 || model == 3)) return "novalake";
  if (family == 19 && model == 1) return "diamondrapids";
  if (family != 6) return {};
  // One model number for three generations of servers.
  if (model == 0x55)
    return features.contains(Feature::avx512bf16)   ? "cooperlake"
           : features.contains(Feature::avx512vnni) ? "cascadelake"
                                                    : "skylake-avx512";
  for (const IntelRow &row : kIntel)
    if (row.model == model) return row.name;
  return {};
}

struct AmdRow {
  unsigned family, first, last; // models
  std::string_view name;
};

// The first row that holds the model wins.
constexpr AmdRow kAmd[] = {
    {0x10, 0x00, 0xff, "amdfam10"}, {0x12, 0x00, 0xff, "amdfam10"}, {0x14, 0x00, 0xff, "btver1"}, {0x15, 0x60, 0x7f, "bdver4"},
    {0x15, 0x30, 0x3f, "bdver3"},   {0x15, 0x10, 0x1f, "bdver2"},   {0x15, 0x02, 0x02, "bdver2"}, {0x15, 0x00, 0x0f, "bdver1"},
    {0x16, 0x00, 0xff, "btver2"},   {0x17, 0x30, 0x3f, "znver2"},   {0x17, 0x47, 0x47, "znver2"}, {0x17, 0x60, 0x7f, "znver2"},
    {0x17, 0x84, 0x87, "znver2"},   {0x17, 0x90, 0xaf, "znver2"},   {0x17, 0x00, 0xff, "znver1"}, {0x19, 0x10, 0x1f, "znver4"},
    {0x19, 0x60, 0x7f, "znver4"},   {0x19, 0xa0, 0xaf, "znver4"},   {0x19, 0x00, 0xff, "znver3"}, {0x1a, 0x00, 0xff, "znver5"},
};

} // namespace

std::string_view cpu_name_by_numbers(std::string_view vendor, unsigned family, unsigned model, const IsaSet &features) {
  if (vendor == "GenuineIntel") return intel_name(family, model, features);
  // Hygon's Dhyana is AMD's first Zen under another vendor's name.
  if (vendor == "HygonGenuine") return family == 0x18 ? "znver1" : std::string_view();
  if (vendor != "AuthenticAMD") return {};
  if (family == 15)
    return features.contains(Feature::ssse3) ? std::string_view() : features.contains(Feature::sse3) ? "k8-sse3" : "k8";
  for (const AmdRow &row : kAmd)
    if (row.family == family && row.first <= model && model <= row.last) return row.name;
  return {};
}

} // namespace isa_audit
