// Which feature needs which: for edits of a CPU (+avx2, -avx), where a set must stay one that a processor could have.
//
// The rows say what the architecture says (Intel SDM volume 1 chapters 14 and 15; Linux arch/x86/kernel/cpu/cpuid-deps.c),
// not what LLVM says: there AVX-512 implies FMA and F16C, which CPUID reports on their own. AVX-512 is taken to need AVX2
// since no processor has it otherwise. Features read from CPUID or /proc/cpuinfo are never closed: virtual machines do have
// AVX2 without FMA, and SSE4.2 without POPCNT.
#include <array>

#include "isa-audit/host/feature.h"

namespace isa_audit {

namespace {

struct Need {
  Feature feature, needs;
};

constexpr Need kNeeds[] = {
    {Feature::sse, Feature::fxsr},
    {Feature::sse2, Feature::sse},
    {Feature::sse3, Feature::sse2},
    {Feature::ssse3, Feature::sse3},
    {Feature::sse4_1, Feature::ssse3},
    {Feature::sse4_2, Feature::sse4_1},
    {Feature::sse4a, Feature::sse3},
    {Feature::aes, Feature::sse2},
    {Feature::pclmul, Feature::sse2},
    {Feature::sha, Feature::sse2},
    {Feature::gfni, Feature::sse2},
    {Feature::kl, Feature::sse2},
    {Feature::widekl, Feature::kl},
    {Feature::threednow, Feature::mmx},
    {Feature::threednowa, Feature::threednow},
    {Feature::mmx_ext, Feature::mmx},
    {Feature::xsaveopt, Feature::xsave},
    {Feature::xsavec, Feature::xsave},
    {Feature::xsaves, Feature::xsave},
    {Feature::pku, Feature::xsave},
    {Feature::lwp, Feature::xsave},
    {Feature::shstk, Feature::xsaves},
    {Feature::enqcmd, Feature::xsaves},
    {Feature::avx, Feature::xsave},
    {Feature::avx, Feature::sse4_2},
    {Feature::avx2, Feature::avx},
    {Feature::fma, Feature::avx},
    {Feature::f16c, Feature::avx},
    {Feature::fma4, Feature::avx},
    {Feature::fma4, Feature::sse4a},
    {Feature::xop, Feature::fma4},
    {Feature::vaes, Feature::avx},
    {Feature::vaes, Feature::aes},
    {Feature::vpclmulqdq, Feature::avx},
    {Feature::vpclmulqdq, Feature::pclmul},
    {Feature::avxvnni, Feature::avx2},
    {Feature::avxvnniint8, Feature::avx2},
    {Feature::avxvnniint16, Feature::avx2},
    {Feature::avxifma, Feature::avx2},
    {Feature::avxneconvert, Feature::avx2},
    {Feature::sha512, Feature::avx2},
    {Feature::sm3, Feature::avx},
    {Feature::sm4, Feature::avx2},
    {Feature::avx512f, Feature::avx2},
    {Feature::avx512bw, Feature::avx512f},
    {Feature::avx512cd, Feature::avx512f},
    {Feature::avx512dq, Feature::avx512f},
    {Feature::avx512vl, Feature::avx512f},
    {Feature::avx512er, Feature::avx512f},
    {Feature::avx512pf, Feature::avx512f},
    {Feature::avx512ifma, Feature::avx512f},
    {Feature::avx512_4fmaps, Feature::avx512f},
    {Feature::avx512_4vnniw, Feature::avx512f},
    {Feature::avx512vnni, Feature::avx512f},
    {Feature::avx512vpopcntdq, Feature::avx512f},
    {Feature::avx512vp2intersect, Feature::avx512f},
    {Feature::avx512vbmi, Feature::avx512bw},
    {Feature::avx512vbmi2, Feature::avx512bw},
    {Feature::avx512bitalg, Feature::avx512bw},
    {Feature::avx512bf16, Feature::avx512bw},
    {Feature::avx512fp16, Feature::avx512bw},
    {Feature::avx10_1, Feature::avx512vl},
    {Feature::avx10_1, Feature::avx512dq},
    {Feature::avx10_1, Feature::avx512cd},
    {Feature::avx10_1, Feature::avx512ifma},
    {Feature::avx10_1, Feature::avx512vbmi},
    {Feature::avx10_1, Feature::avx512vbmi2},
    {Feature::avx10_1, Feature::avx512bitalg},
    {Feature::avx10_1, Feature::avx512bf16},
    {Feature::avx10_1, Feature::avx512fp16},
    {Feature::avx10_1, Feature::avx512vnni},
    {Feature::avx10_1, Feature::avx512vpopcntdq},
    {Feature::avx10_2, Feature::avx10_1},
    {Feature::amx_tile, Feature::xsave},
    {Feature::amx_int8, Feature::amx_tile},
    {Feature::amx_bf16, Feature::amx_tile},
    {Feature::amx_fp16, Feature::amx_tile},
    {Feature::amx_complex, Feature::amx_tile},
    {Feature::amx_fp8, Feature::amx_tile},
    {Feature::amx_tf32, Feature::amx_tile},
    {Feature::amx_transpose, Feature::amx_tile},
    {Feature::amx_movrs, Feature::amx_tile},
    {Feature::amx_avx512, Feature::amx_tile},
    {Feature::amx_avx512, Feature::avx10_2},
    {Feature::apx, Feature::xsave},
};

std::array<IsaSet, kFeatureCount> close_needs() {
  std::array<IsaSet, kFeatureCount> closed;
  for (bool grown = true; grown;) {
    grown = false;
    for (const Need &need : kNeeds) {
      IsaSet &set = closed[static_cast<size_t>(need.feature)];
      IsaSet more = set | closed[static_cast<size_t>(need.needs)];
      more.insert(need.needs);
      grown |= more != set;
      set = more;
    }
  }
  return closed;
}

} // namespace

const IsaSet &needed_by(Feature feature) {
  static const std::array<IsaSet, kFeatureCount> kClosed = close_needs();
  return kClosed[static_cast<size_t>(feature)];
}

IsaSet with_feature(IsaSet set, Feature feature) {
  set |= needed_by(feature);
  set.insert(feature);
  return set;
}

IsaSet without_feature(IsaSet set, Feature feature) {
  for (Feature f : set.list())
    if (f == feature || needed_by(f).contains(feature)) set.erase(f);
  return set;
}

} // namespace isa_audit
