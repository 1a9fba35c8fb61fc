#include "isa-audit/device/processors.h"

#include <algorithm>
#include <tuple>

#include "llvm/ADT/StringRef.h"

namespace isa_audit {

namespace {

constexpr Processor native(std::string_view name, uint8_t mach, bool xnack, bool sramecc, std::string_view generic,
                           uint8_t wavefront) {
  return {name, mach, xnack, sramecc, generic, false, wavefront};
}
constexpr Processor family(std::string_view name, uint8_t mach, bool xnack, bool sramecc, uint8_t wavefront) {
  return {name, mach, xnack, sramecc, {}, true, wavefront};
}

// By machine number. gfx125x fixes both features on: none can be chosen. gfx1310, gfx1154, gfx117x, gfx1250-strict and the
// generics 12-5, 11-7 and 13 are from LLVM's main branch; 0x40 and 0x4b are the pre-release parts that ROCm 6 wheels were built
// for.
constexpr Processor kProcessors[] = {
    native("gfx600", 0x20, false, false, "", 64),
    native("gfx601", 0x21, false, false, "", 64),
    native("gfx700", 0x22, false, false, "", 64),
    native("gfx701", 0x23, false, false, "", 64),
    native("gfx702", 0x24, false, false, "", 64),
    native("gfx703", 0x25, false, false, "", 64),
    native("gfx704", 0x26, false, false, "", 64),
    native("gfx801", 0x28, true, false, "", 64),
    native("gfx802", 0x29, false, false, "", 64),
    native("gfx803", 0x2a, false, false, "", 64),
    native("gfx810", 0x2b, true, false, "", 64),
    native("gfx900", 0x2c, true, false, "gfx9-generic", 64),
    native("gfx902", 0x2d, true, false, "gfx9-generic", 64),
    native("gfx904", 0x2e, true, false, "gfx9-generic", 64),
    native("gfx906", 0x2f, true, true, "gfx9-generic", 64),
    native("gfx908", 0x30, true, true, "", 64),
    native("gfx909", 0x31, true, false, "gfx9-generic", 64),
    native("gfx90c", 0x32, true, false, "gfx9-generic", 64),
    native("gfx1010", 0x33, true, false, "gfx10-1-generic", 32),
    native("gfx1011", 0x34, true, false, "gfx10-1-generic", 32),
    native("gfx1012", 0x35, true, false, "gfx10-1-generic", 32),
    native("gfx1030", 0x36, false, false, "gfx10-3-generic", 32),
    native("gfx1031", 0x37, false, false, "gfx10-3-generic", 32),
    native("gfx1032", 0x38, false, false, "gfx10-3-generic", 32),
    native("gfx1033", 0x39, false, false, "gfx10-3-generic", 32),
    native("gfx602", 0x3a, false, false, "", 64),
    native("gfx705", 0x3b, false, false, "", 64),
    native("gfx805", 0x3c, false, false, "", 64),
    native("gfx1035", 0x3d, false, false, "gfx10-3-generic", 32),
    native("gfx1034", 0x3e, false, false, "gfx10-3-generic", 32),
    native("gfx90a", 0x3f, true, true, "", 64),
    native("gfx940", 0x40, true, true, "gfx9-4-generic", 64),
    native("gfx1100", 0x41, false, false, "gfx11-generic", 32),
    native("gfx1013", 0x42, true, false, "gfx10-1-generic", 32),
    native("gfx1150", 0x43, false, false, "gfx11-generic", 32),
    native("gfx1103", 0x44, false, false, "gfx11-generic", 32),
    native("gfx1036", 0x45, false, false, "gfx10-3-generic", 32),
    native("gfx1101", 0x46, false, false, "gfx11-generic", 32),
    native("gfx1102", 0x47, false, false, "gfx11-generic", 32),
    native("gfx1200", 0x48, false, false, "gfx12-generic", 32),
    native("gfx1250", 0x49, false, false, "gfx12-5-generic", 32),
    native("gfx1151", 0x4a, false, false, "gfx11-generic", 32),
    native("gfx941", 0x4b, true, true, "gfx9-4-generic", 64),
    native("gfx942", 0x4c, true, true, "gfx9-4-generic", 64),
    native("gfx1201", 0x4e, false, false, "gfx12-generic", 32),
    native("gfx950", 0x4f, true, true, "gfx9-4-generic", 64),
    native("gfx1310", 0x50, false, false, "gfx13-generic", 32),
    family("gfx9-generic", 0x51, true, false, 64),
    family("gfx10-1-generic", 0x52, true, false, 32),
    family("gfx10-3-generic", 0x53, false, false, 32),
    family("gfx11-generic", 0x54, false, false, 32),
    native("gfx1152", 0x55, false, false, "gfx11-generic", 32),
    native("gfx1154", 0x57, false, false, "gfx11-generic", 32),
    native("gfx1153", 0x58, false, false, "gfx11-generic", 32),
    family("gfx12-generic", 0x59, false, false, 32),
    native("gfx1251", 0x5a, false, false, "gfx12-5-generic", 32),
    family("gfx12-5-generic", 0x5b, false, false, 32),
    native("gfx1172", 0x5c, false, false, "gfx11-7-generic", 32),
    native("gfx1170", 0x5d, false, false, "gfx11-7-generic", 32),
    native("gfx1171", 0x5e, false, false, "gfx11-7-generic", 32),
    family("gfx9-4-generic", 0x5f, true, true, 64),
    family("gfx11-7-generic", 0x62, false, false, 32),
    family("gfx13-generic", 0x63, false, false, 32),
    // The first stepping of gfx1250: neither takes the other's code.
    native("gfx1250-strict", 0xeb, false, false, "", 32),
};

// Those that PyTorch's ROCm wheels are built for (.ci/docker/manywheel/build.sh), the most likely to be meant first.
constexpr std::string_view kCommon[] = {"gfx942",  "gfx90a",  "gfx950",  "gfx1100", "gfx1201", "gfx1151", "gfx1030", "gfx908",
                                        "gfx1101", "gfx1200", "gfx1102", "gfx1150", "gfx906",  "gfx1103", "gfx900"};

} // namespace

std::span<const Processor> processors() { return kProcessors; }

const Processor *find_processor(std::string_view name) {
  auto at = std::ranges::find(kProcessors, name, &Processor::name);
  return at == std::end(kProcessors) ? nullptr : at;
}

const Processor *find_processor_by_mach(uint8_t mach) {
  auto at = std::ranges::find(kProcessors, mach, &Processor::mach);
  return at == std::end(kProcessors) ? nullptr : at;
}

std::string_view nearest_processor(std::string_view name) {
  std::string_view best;
  using Rank = std::tuple<unsigned, bool, size_t>; // edits, not an end that was left out, place among the common ones
  Rank best_rank{3, false, 0};
  for (const Processor &p : kProcessors) {
    unsigned distance = llvm::StringRef(name).edit_distance(llvm::StringRef(p.name), true, 2);
    size_t place = static_cast<size_t>(std::ranges::find(kCommon, p.name) - std::begin(kCommon));
    Rank rank{distance, !p.name.starts_with(name), place};
    if (rank < best_rank) {
      best_rank = rank;
      best = p.name;
    }
  }
  return best;
}

} // namespace isa_audit
