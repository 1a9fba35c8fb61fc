// x86 instruction set extensions as CPUID flags, not as marketing names. Names are LLVM's (avx512vl, fma, bmi2, lzcnt).
// CPUID leaf and bit of each, and the state that the operating system must have enabled (XCR0): Intel SDM volume 2A (CPUID),
// AMD APM volume 3 appendix E.
#pragma once

#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isa_audit {

// Ordered by name in reports, not by value: values may change from version to version.
enum class Feature : uint8_t {
  // x86-64-v1
  cmov,
  cx8,
  x87,
  fxsr,
  mmx,
  sse,
  sse2,
  // x86-64-v2
  sse3,
  ssse3,
  cx16,
  sse4_1,
  sse4_2,
  popcnt,
  sahf,
  // x86-64-v3
  avx,
  avx2,
  bmi,
  bmi2,
  f16c,
  fma,
  lzcnt,
  movbe,
  xsave,
  // x86-64-v4
  avx512f,
  avx512bw,
  avx512cd,
  avx512dq,
  avx512vl,
  // in no level
  adx,
  aes,
  amx_bf16,
  amx_complex,
  amx_fp16,
  amx_int8,
  amx_tile,
  amx_fp8,
  amx_transpose,
  amx_avx512,
  amx_tf32,
  amx_movrs,
  avx10_1,
  avx10_2,
  avx512bf16,
  avx512bitalg,
  avx512er,
  avx512fp16,
  avx512ifma,
  avx512pf,
  avx512_4fmaps,
  avx512_4vnniw,
  avx512vbmi,
  avx512vbmi2,
  avx512vnni,
  avx512vp2intersect,
  avx512vpopcntdq,
  avxifma,
  avxneconvert,
  avxvnni,
  avxvnniint16,
  avxvnniint8,
  apx,
  cldemote,
  clflushopt,
  clwb,
  clzero,
  cmpccxadd,
  enqcmd,
  fma4,
  fsgsbase,
  gfni,
  hreset,
  invpcid,
  kl,
  lwp,
  mmx_ext,
  monitor,
  movdir64b,
  movdiri,
  movrs,
  mwaitx,
  pclmul,
  pku,
  prefetchi,
  prefetchwt1,
  prfchw,
  ptwrite,
  raoint,
  rdpid,
  rdpru,
  rdrnd,
  rdseed,
  rdtscp,
  rtm,
  serialize,
  sgx,
  sha,
  sha512,
  shstk,
  sm3,
  sm4,
  sse4a,
  tbm,
  threednow,
  threednowa,
  tsxldtrk,
  uintr,
  usermsr,
  vaes,
  vpclmulqdq,
  vmx,
  svm,
  waitpkg,
  wbnoinvd,
  widekl,
  xop,
  xsavec,
  xsaveopt,
  xsaves,
  count_
};
inline constexpr size_t kFeatureCount = static_cast<size_t>(Feature::count_);

class IsaSet {
public:
  IsaSet() = default;
  IsaSet(std::initializer_list<Feature> features) {
    for (Feature f : features) insert(f);
  }
  bool contains(Feature f) const { return bits_.test(static_cast<size_t>(f)); }
  void insert(Feature f) { bits_.set(static_cast<size_t>(f)); }
  void erase(Feature f) { bits_.reset(static_cast<size_t>(f)); }
  bool empty() const { return bits_.none(); }
  size_t size() const { return bits_.count(); }
  bool is_subset_of(const IsaSet &other) const { return (bits_ & ~other.bits_).none(); }
  IsaSet operator|(const IsaSet &o) const {
    IsaSet r;
    r.bits_ = bits_ | o.bits_;
    return r;
  }
  IsaSet operator&(const IsaSet &o) const {
    IsaSet r;
    r.bits_ = bits_ & o.bits_;
    return r;
  }
  IsaSet operator-(const IsaSet &o) const {
    IsaSet r;
    r.bits_ = bits_ & ~o.bits_;
    return r;
  }
  IsaSet &operator|=(const IsaSet &o) {
    bits_ |= o.bits_;
    return *this;
  }
  bool operator==(const IsaSet &) const = default;

  // The features in the order of their names.
  std::vector<Feature> list() const;
  // Their names in that order.
  std::vector<std::string> names() const;

private:
  std::bitset<kFeatureCount> bits_;
};

// Where CPUID reports a feature, and what else must hold before a program may use it.
struct FeatureInfo {
  std::string_view name; // LLVM's spelling: "avx512vl", "sse4.1", "amx-tile"
  uint32_t leaf = 0;     // EAX on input, 0x80000001 for AMD's leaves
  uint32_t subleaf = 0;  // ECX on input
  char reg = 'a';        // output register: 'a', 'b', 'c' or 'd'
  uint8_t bit = 0;
  uint64_t xcr0 = 0;         // bits that XGETBV(0) must all report: 0x6 for AVX, 0xe6 for AVX-512
  uint8_t avx10_version = 0; // not 0: CPUID.(24H,0).EBX[7:0] must be at least this
  std::string_view cpuinfo;  // Linux' word in /proc/cpuinfo ("pni" for SSE3); empty where it prints none
};
const FeatureInfo &feature_info(Feature feature);

std::string_view feature_name(Feature feature);
std::optional<Feature> find_feature(std::string_view name);
// By Linux' word in /proc/cpuinfo.
std::optional<Feature> find_cpuinfo_flag(std::string_view flag);

// x86-64-v1 … v4 exactly as the psABI has them (without OS support bits); level is 1 … 4.
const IsaSet &psabi_level(int level);
// The highest level all of whose features are in `features`, 0 for none; "x86-64-v3".
int highest_level(const IsaSet &features);
// What a processor must also have to have `feature`, directly and indirectly; `feature` itself is not in it.
const IsaSet &needed_by(Feature feature);
// `set` with `feature` and all that it needs.
IsaSet with_feature(IsaSet set, Feature feature);
// `set` without `feature` and without all that needs it.
IsaSet without_feature(IsaSet set, Feature feature);

// "x86-64-v2", or "x86-64-v2+avx2+fma": the lowest level that with few edits covers `features`. What another edit needs anyway
// (AVX for AVX2) is left out, as in the grammar of --cpu.
std::string describe_isa(const IsaSet &features);

} // namespace isa_audit
