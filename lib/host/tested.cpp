#include "tested.h"

#include <array>
#include <bit>
#include <utility>

namespace isa_audit::host {

namespace {

// The words of CPUID that have features, as {leaf, subleaf, register}; their places are word numbers.
struct Word {
  uint32_t leaf, subleaf;
  char reg;
};
constexpr Word kWords[] = {{1, 0, 'c'}, {1, 0, 'd'}, {7, 0, 'b'},   {7, 0, 'c'},          {7, 0, 'd'},
                           {7, 1, 'a'}, {7, 1, 'd'}, {0xd, 1, 'a'}, {0x80000001, 0, 'c'}, {0x80000001, 0, 'd'}};

// The features that code is chosen by; their places are the bits of a set.
using enum Feature;
constexpr std::array kChecked{
    sse3,     ssse3,      cx16,       sse4_1,      sse4_2,     popcnt,       movbe,           avx,        f16c,
    fma,      avx2,       bmi,        bmi2,        lzcnt,      aes,          pclmul,          vaes,       vpclmulqdq,
    gfni,     sha,        adx,        rdrnd,       rdseed,     avx512f,      avx512bw,        avx512cd,   avx512dq,
    avx512vl, avx512ifma, avx512vbmi, avx512vbmi2, avx512vnni, avx512bitalg, avx512vpopcntdq, avx512bf16, avx512fp16,
    avx512er, avx512pf,   avxvnni,    avxifma,     amx_tile,   amx_int8,     amx_bf16,        xop,        fma4,
    tbm,      sse4a,      rdtscp,     fsgsbase};
static_assert(kChecked.size() < 60);

int64_t pack(const IsaSet &features) {
  int64_t bits = 0;
  for (size_t i = 0; i < kChecked.size(); ++i)
    if (features.contains(kChecked[i])) bits |= int64_t{1} << i;
  return bits;
}

// The features whose bits of the word are in `mask`.
IsaSet in_word(size_t word, uint64_t mask) {
  IsaSet set;
  if (word >= std::size(kWords)) return set;
  const Word &w = kWords[word];
  for (const Feature f : kChecked) {
    const FeatureInfo &info = feature_info(f);
    if (info.leaf == w.leaf && info.subleaf == w.subleaf && info.reg == w.reg && (mask >> info.bit & 1)) set.insert(f);
  }
  return set;
}

} // namespace

int64_t Tested::word(uint32_t leaf, uint32_t subleaf, char reg) {
  for (size_t i = 0; i < std::size(kWords); ++i)
    if (kWords[i].leaf == leaf && kWords[i].reg == reg && ((leaf != 7 && leaf != 0xd) || kWords[i].subleaf == subleaf))
      return kWord | static_cast<int64_t>(i);
  return kUnknown;
}

int64_t Tested::nothing() { return kSet; }

int64_t Tested::of(const IsaSet &features) { return kSet | pack(features); }

int64_t Tested::shifted(int64_t tested, unsigned count) {
  if (!(tested & kWord)) return kUnknown;
  const auto before = static_cast<unsigned>(tested >> 8 & 63);
  return before + count < 32 ? (tested & ~int64_t{0x3f00}) | static_cast<int64_t>(before + count) << 8 : kUnknown;
}

int64_t Tested::masked(int64_t tested, uint64_t mask) {
  if (tested & kSet) return mask & 1 && !is_any(tested) ? tested : kUnknown; // a truth value
  if (!(tested & kWord)) return kUnknown;
  mask = (mask & 0xffffffff) << (tested >> 8 & 63);
  return of(in_word(static_cast<size_t>(tested & 0xff), mask)) | (std::has_single_bit(mask) ? 0 : kAny);
}

int64_t Tested::bit(int64_t tested, unsigned n) {
  return tested & kWord && n < 32 ? masked(tested, uint64_t{1} << n) : kUnknown;
}

int64_t Tested::both(int64_t a, int64_t b) {
  if (!(a & kSet) || !(b & kSet) || is_any(a) || is_any(b)) return kUnknown;
  return a | b;
}

std::optional<IsaSet> Tested::features(int64_t tested, bool all) {
  if (!(tested & kSet) || (is_any(tested) && !all)) return std::nullopt;
  IsaSet set;
  for (size_t i = 0; i < kChecked.size(); ++i)
    if (tested >> i & 1) set.insert(kChecked[i]);
  return set;
}

IsaSet with_companions(IsaSet set) {
  // Each line: who has one of the first has all of the second. From the CPUs that Intel, AMD, VIA and Zhaoxin made; it keeps
  // apart what some of them had alone: AVX without AVX2, AVX2 without FMA, BMI or BMI2, AVX512F without BW, DQ and VL.
  static const std::pair<IsaSet, IsaSet> kCompanions[] = {
      {{avx512er, avx512pf, avx512bw, avx512dq, avx512vl}, {avx512f, avx512cd}},
      {{avx512bw, avx512dq, avx512vl, avx512ifma, avx512vbmi, avx512vbmi2, avx512vnni, avx512bitalg, avx512bf16, avx512fp16},
       {avx512f, avx512cd, avx512bw, avx512dq, avx512vl}},
      {{avx512vbmi2, avx512bitalg}, {avx512vbmi, avx512vnni, avx512vpopcntdq, avx512ifma}},
      {{avx512fp16, amx_tile}, {avx512f, avx512bf16, avx512vbmi2, avx512bitalg, avx512vbmi, avx512vnni, avx512vpopcntdq}},
      {{avx512f, avx512vpopcntdq}, {avx512f, avx512cd, avx2, fma, f16c, bmi, bmi2, lzcnt, movbe}},
      {{avxvnni, avxifma, vaes, vpclmulqdq}, {avx2, fma, f16c, bmi, bmi2, aes, pclmul}},
      {{avx2}, {avx, lzcnt, movbe}},
      {{avx, fma, f16c, xop, fma4}, {avx, sse4_2}},
      {{aes, pclmul, sha, movbe, bmi, bmi2, adx, rdseed}, {ssse3}},
      {{sse4_2, sha}, {sse4_2, popcnt}},
      {{sse4_2}, {sse4_1}},
      {{sse4_1}, {ssse3, cx16}},
      {{ssse3}, {sse3}},
  };
  for (const auto &[one, all] : kCompanions)
    if (!(one & set).empty()) set |= all;
  return set;
}

} // namespace isa_audit::host
