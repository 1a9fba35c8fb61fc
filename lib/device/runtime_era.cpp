#include "isa-audit/device/runtime_era.h"

#include <algorithm>
#include <array>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

constexpr EraRow kEras[] = {
    {Era::rocm_6_1, 0, 0, "6.1"},  {Era::rocm_6_2, 6, 2, "6.3"},    {Era::rocm_6_4, 6, 4, "6.4"}, {Era::rocm_7_0, 7, 0, "7.1"},
    {Era::rocm_7_2, 7, 2, "7.14"}, {Era::rocm_10_0, 10, 0, "10.0"}, {Era::newest, 10, 1, ""},
};

// No before `perhaps`, unknown from then on, yes from `sure` on.
struct Capability {
  Era perhaps, sure;
};

constexpr Answer answer(Capability capability, Era era) {
  return era >= capability.sure ? Answer::yes : era >= capability.perhaps ? Answer::unknown : Answer::no;
}

// Versions 1 to 5: ROCr has taken all of them since long before the first era here, and its loader of August 2025 still does.
// Version 6: amd_hsa_elf.h and loader/executable.cpp at rocm-6.2.0, not at rocm-6.1.2.
constexpr Capability kObject6{Era::rocm_6_2, Era::rocm_6_2};

// HIP looks for "CCOB" at rocm-6.2.0, not at rocm-6.1.0. It reads the header as one of version 2, whose total size version 1
// lacks (clr issue 99). Version 3: LLVM's reader has it since January 2025 (llvm-project 122307), LLVM 19 as in ROCm 6.4 does
// not; HIP of ROCm 7.2 loads it (hipfire issue 569).
constexpr Capability kCcob1{Era::rocm_6_4, Era::never}, kCcob2{Era::rocm_6_2, Era::rocm_6_2},
    kCcob3{Era::rocm_7_0, Era::rocm_7_2};

struct Generic {
  std::string_view name;
  Capability rocr, hip;
};
// ROCr: libamdhsacode/amd_hsa_code.cpp at rocm-6.2.0 has the first four; the tree of October 2024 lacks the next two. HIP looks
// for generics since ROCm 6.4 (rocSOLVER pull 937, Tensile issue 2124). gfx12-5-generic: rocm-systems pulls 7300 (June 2026)
// and 9741 (August 2026). The last two are in no runtime that was read.
constexpr Generic kGenerics[] = {
    {"gfx9-generic", {Era::rocm_6_2, Era::rocm_6_2}, {Era::rocm_6_4, Era::rocm_6_4}},
    {"gfx10-1-generic", {Era::rocm_6_2, Era::rocm_6_2}, {Era::rocm_6_4, Era::rocm_6_4}},
    {"gfx10-3-generic", {Era::rocm_6_2, Era::rocm_6_2}, {Era::rocm_6_4, Era::rocm_6_4}},
    {"gfx11-generic", {Era::rocm_6_2, Era::rocm_6_2}, {Era::rocm_6_4, Era::rocm_6_4}},
    {"gfx9-4-generic", {Era::rocm_6_4, Era::rocm_6_4}, {Era::rocm_6_4, Era::rocm_6_4}},
    {"gfx12-generic", {Era::rocm_6_4, Era::rocm_6_4}, {Era::rocm_6_4, Era::rocm_6_4}},
    {"gfx12-5-generic", {Era::rocm_7_2, Era::newest}, {Era::rocm_10_0, Era::newest}},
    {"gfx11-7-generic", {Era::newest, Era::never}, {Era::newest, Era::never}},
    {"gfx13-generic", {Era::newest, Era::never}, {Era::newest, Era::never}},
};

// clr's change log: SPIR-V in bundles with ROCm 6.4 (6.4.1 prefers native code to it).
constexpr Capability kSpirv{Era::rocm_6_4, Era::rocm_6_4};
// rocm-systems pulls 2669 (gfx90c, February 2026) and 8237 (July 2026).
constexpr Capability kHiddenXnack{Era::rocm_7_2, Era::newest};
// rocm-systems pull 9498 (begun on 30 July 2026).
constexpr Capability kSkip{Era::rocm_10_0, Era::newest};
// rocm-systems pulls 11737 and 11904, both open in September 2026.
constexpr Capability kFixedXnack{Era::newest, Era::never};

} // namespace

std::span<const EraRow> eras() { return kEras; }

std::string era_range(Era first, Era last) {
  const EraRow &from = kEras[static_cast<size_t>(first)], &to = kEras[static_cast<size_t>(last)];
  std::string since = llvm::formatv("{0}.{1}", from.major, from.minor).str();
  if (first == Era::rocm_6_1) return last == Era::newest ? "every ROCm" : "ROCm " + std::string(to.last) + " and older";
  if (first == Era::newest) return "runtimes newer than ROCm 10.0";
  if (last == Era::newest) return "ROCm " + since + " and newer";
  return since == to.last ? "ROCm " + since : "ROCm " + since + " to " + std::string(to.last);
}

Era era_of(std::string_view version) {
  llvm::StringRef rest(version);
  auto [major_text, tail] = rest.split('.');
  unsigned major = 0, minor = 0;
  if (major_text.getAsInteger(10, major) || tail.consumeInteger(10, minor)) return Era::never;
  Era out = Era::rocm_6_1;
  for (const EraRow &row : kEras)
    if (std::pair(major, minor) >= std::pair(row.major, row.minor)) out = row.era;
  return out;
}

Answer loads_object_version(Era era, uint8_t version) {
  if (version > 6) return Answer::unknown;
  return version == 6 ? answer(kObject6, era) : Answer::yes;
}

Answer reads_ccob(Era era, uint8_t version) {
  constexpr std::array kVersions = {kCcob1, kCcob2, kCcob3};
  return version >= 1 && version <= kVersions.size() ? answer(kVersions[version - 1u], era) : Answer::unknown;
}

Answer knows_generic(Era era, std::string_view generic, bool in_bundle) {
  auto at = std::ranges::find(kGenerics, generic, &Generic::name);
  if (at == std::end(kGenerics)) return Answer::unknown;
  return answer(in_bundle ? at->hip : at->rocr, era);
}

Answer compiles_spirv(Era era) { return answer(kSpirv, era); }
Answer hides_client_xnack(Era era) { return answer(kHiddenXnack, era); }
Answer skips_gpus(Era era) { return answer(kSkip, era); }
Answer takes_fixed_xnack(Era era) { return answer(kFixedXnack, era); }

} // namespace isa_audit
