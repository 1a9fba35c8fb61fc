// The table of CPU features: LLVM's name, the CPUID bit, the XCR0 bits, Linux' word for it.
//
// Sources: Intel SDM volume 2A (CPUID) and volume 1 chapter 13 (XCR0), Intel Architecture Instruction Set Extensions
// reference (leaves 7.1, 1EH, 24H), AMD APM volume 3 appendix E (leaves 8000_0001H, 8000_0008H), Linux
// arch/x86/include/asm/cpufeatures.h for the words of /proc/cpuinfo. Levels: x86-64 psABI, table 3.1.
#include "isa-audit/host/feature.h"

#include <algorithm>
#include <array>

namespace isa_audit {

namespace {

constexpr uint64_t kNoState = 0;
constexpr uint64_t kYmm = 0x6;      // XMM and YMM
constexpr uint64_t kZmm = 0xe6;     // and opmask, ZMM_Hi256, Hi16_ZMM
constexpr uint64_t kTile = 0x60000; // XTILECFG, XTILEDATA
constexpr uint64_t kTileZmm = kTile | kZmm;
constexpr uint64_t kEgpr = 0x80000; // APX
constexpr uint32_t kAmd = 0x80000001;
constexpr uint32_t kAmd8 = 0x80000008;

struct Row {
  Feature feature;
  FeatureInfo info;
};

constexpr Row kRows[] = {
    {Feature::cmov, {"cmov", 1, 0, 'd', 15, kNoState, 0, "cmov"}},
    {Feature::cx8, {"cx8", 1, 0, 'd', 8, kNoState, 0, "cx8"}},
    {Feature::x87, {"x87", 1, 0, 'd', 0, kNoState, 0, "fpu"}},
    {Feature::fxsr, {"fxsr", 1, 0, 'd', 24, kNoState, 0, "fxsr"}},
    {Feature::mmx, {"mmx", 1, 0, 'd', 23, kNoState, 0, "mmx"}},
    {Feature::sse, {"sse", 1, 0, 'd', 25, kNoState, 0, "sse"}},
    {Feature::sse2, {"sse2", 1, 0, 'd', 26, kNoState, 0, "sse2"}},
    {Feature::sse3, {"sse3", 1, 0, 'c', 0, kNoState, 0, "pni"}},
    {Feature::ssse3, {"ssse3", 1, 0, 'c', 9, kNoState, 0, "ssse3"}},
    {Feature::cx16, {"cx16", 1, 0, 'c', 13, kNoState, 0, "cx16"}},
    {Feature::sse4_1, {"sse4.1", 1, 0, 'c', 19, kNoState, 0, "sse4_1"}},
    {Feature::sse4_2, {"sse4.2", 1, 0, 'c', 20, kNoState, 0, "sse4_2"}},
    {Feature::popcnt, {"popcnt", 1, 0, 'c', 23, kNoState, 0, "popcnt"}},
    {Feature::sahf, {"sahf", kAmd, 0, 'c', 0, kNoState, 0, "lahf_lm"}},
    {Feature::avx, {"avx", 1, 0, 'c', 28, kYmm, 0, "avx"}},
    {Feature::avx2, {"avx2", 7, 0, 'b', 5, kYmm, 0, "avx2"}},
    {Feature::bmi, {"bmi", 7, 0, 'b', 3, kNoState, 0, "bmi1"}},
    {Feature::bmi2, {"bmi2", 7, 0, 'b', 8, kNoState, 0, "bmi2"}},
    {Feature::f16c, {"f16c", 1, 0, 'c', 29, kYmm, 0, "f16c"}},
    {Feature::fma, {"fma", 1, 0, 'c', 12, kYmm, 0, "fma"}},
    {Feature::lzcnt, {"lzcnt", kAmd, 0, 'c', 5, kNoState, 0, "abm"}},
    {Feature::movbe, {"movbe", 1, 0, 'c', 22, kNoState, 0, "movbe"}},
    {Feature::xsave, {"xsave", 1, 0, 'c', 27, kNoState, 0, "xsave"}}, // OSXSAVE: what programs may use
    {Feature::avx512f, {"avx512f", 7, 0, 'b', 16, kZmm, 0, "avx512f"}},
    {Feature::avx512bw, {"avx512bw", 7, 0, 'b', 30, kZmm, 0, "avx512bw"}},
    {Feature::avx512cd, {"avx512cd", 7, 0, 'b', 28, kZmm, 0, "avx512cd"}},
    {Feature::avx512dq, {"avx512dq", 7, 0, 'b', 17, kZmm, 0, "avx512dq"}},
    {Feature::avx512vl, {"avx512vl", 7, 0, 'b', 31, kZmm, 0, "avx512vl"}},
    {Feature::adx, {"adx", 7, 0, 'b', 19, kNoState, 0, "adx"}},
    {Feature::aes, {"aes", 1, 0, 'c', 25, kNoState, 0, "aes"}},
    {Feature::amx_bf16, {"amx-bf16", 7, 0, 'd', 22, kTile, 0, "amx_bf16"}},
    {Feature::amx_complex, {"amx-complex", 7, 1, 'd', 8, kTile, 0, "amx_complex"}},
    {Feature::amx_fp16, {"amx-fp16", 7, 1, 'a', 21, kTile, 0, "amx_fp16"}},
    {Feature::amx_int8, {"amx-int8", 7, 0, 'd', 25, kTile, 0, "amx_int8"}},
    {Feature::amx_tile, {"amx-tile", 7, 0, 'd', 24, kTile, 0, "amx_tile"}},
    {Feature::amx_fp8, {"amx-fp8", 0x1e, 1, 'a', 4, kTile, 0, ""}},
    {Feature::amx_transpose, {"amx-transpose", 0x1e, 1, 'a', 5, kTile, 0, ""}},
    {Feature::amx_avx512, {"amx-avx512", 0x1e, 1, 'a', 7, kTileZmm, 0, ""}},
    {Feature::amx_tf32, {"amx-tf32", 0x1e, 1, 'a', 6, kTile, 0, ""}},
    {Feature::amx_movrs, {"amx-movrs", 0x1e, 1, 'a', 8, kTile, 0, ""}},
    {Feature::avx10_1, {"avx10.1", 7, 1, 'd', 19, kZmm, 1, ""}},
    {Feature::avx10_2, {"avx10.2", 7, 1, 'd', 19, kZmm, 2, ""}},
    {Feature::avx512bf16, {"avx512bf16", 7, 1, 'a', 5, kZmm, 0, "avx512_bf16"}},
    {Feature::avx512bitalg, {"avx512bitalg", 7, 0, 'c', 12, kZmm, 0, "avx512_bitalg"}},
    {Feature::avx512er, {"avx512er", 7, 0, 'b', 27, kZmm, 0, "avx512er"}},
    {Feature::avx512fp16, {"avx512fp16", 7, 0, 'd', 23, kZmm, 0, "avx512_fp16"}},
    {Feature::avx512ifma, {"avx512ifma", 7, 0, 'b', 21, kZmm, 0, "avx512ifma"}},
    {Feature::avx512pf, {"avx512pf", 7, 0, 'b', 26, kZmm, 0, "avx512pf"}},
    {Feature::avx512_4fmaps, {"avx5124fmaps", 7, 0, 'd', 3, kZmm, 0, "avx512_4fmaps"}},
    {Feature::avx512_4vnniw, {"avx5124vnniw", 7, 0, 'd', 2, kZmm, 0, "avx512_4vnniw"}},
    {Feature::avx512vbmi, {"avx512vbmi", 7, 0, 'c', 1, kZmm, 0, "avx512vbmi"}},
    {Feature::avx512vbmi2, {"avx512vbmi2", 7, 0, 'c', 6, kZmm, 0, "avx512_vbmi2"}},
    {Feature::avx512vnni, {"avx512vnni", 7, 0, 'c', 11, kZmm, 0, "avx512_vnni"}},
    {Feature::avx512vp2intersect, {"avx512vp2intersect", 7, 0, 'd', 8, kZmm, 0, "avx512_vp2intersect"}},
    {Feature::avx512vpopcntdq, {"avx512vpopcntdq", 7, 0, 'c', 14, kZmm, 0, "avx512_vpopcntdq"}},
    {Feature::avxifma, {"avxifma", 7, 1, 'a', 23, kYmm, 0, "avx_ifma"}},
    {Feature::avxneconvert, {"avxneconvert", 7, 1, 'd', 5, kYmm, 0, ""}},
    {Feature::avxvnni, {"avxvnni", 7, 1, 'a', 4, kYmm, 0, "avx_vnni"}},
    {Feature::avxvnniint16, {"avxvnniint16", 7, 1, 'd', 10, kYmm, 0, ""}},
    {Feature::avxvnniint8, {"avxvnniint8", 7, 1, 'd', 4, kYmm, 0, ""}},
    {Feature::apx, {"apxf", 7, 1, 'd', 21, kEgpr, 0, "apx"}},
    {Feature::cldemote, {"cldemote", 7, 0, 'c', 25, kNoState, 0, "cldemote"}},
    {Feature::clflushopt, {"clflushopt", 7, 0, 'b', 23, kNoState, 0, "clflushopt"}},
    {Feature::clwb, {"clwb", 7, 0, 'b', 24, kNoState, 0, "clwb"}},
    {Feature::clzero, {"clzero", kAmd8, 0, 'b', 0, kNoState, 0, "clzero"}},
    {Feature::cmpccxadd, {"cmpccxadd", 7, 1, 'a', 7, kNoState, 0, "cmpccxadd"}},
    {Feature::enqcmd, {"enqcmd", 7, 0, 'c', 29, kNoState, 0, "enqcmd"}},
    {Feature::fma4, {"fma4", kAmd, 0, 'c', 16, kYmm, 0, "fma4"}},
    {Feature::fsgsbase, {"fsgsbase", 7, 0, 'b', 0, kNoState, 0, "fsgsbase"}},
    {Feature::gfni, {"gfni", 7, 0, 'c', 8, kNoState, 0, "gfni"}},
    {Feature::hreset, {"hreset", 7, 1, 'a', 22, kNoState, 0, "hreset"}},
    {Feature::invpcid, {"invpcid", 7, 0, 'b', 10, kNoState, 0, "invpcid"}},
    {Feature::kl, {"kl", 0x19, 0, 'b', 0, kNoState, 0, ""}},
    {Feature::lwp, {"lwp", kAmd, 0, 'c', 15, 0x4000000000000000, 0, "lwp"}},
    {Feature::mmx_ext, {"mmxext", kAmd, 0, 'd', 22, kNoState, 0, "mmxext"}},
    {Feature::monitor, {"monitor", 1, 0, 'c', 3, kNoState, 0, "monitor"}},
    {Feature::movdir64b, {"movdir64b", 7, 0, 'c', 28, kNoState, 0, "movdir64b"}},
    {Feature::movdiri, {"movdiri", 7, 0, 'c', 27, kNoState, 0, "movdiri"}},
    {Feature::movrs, {"movrs", 7, 1, 'a', 31, kNoState, 0, ""}},
    {Feature::mwaitx, {"mwaitx", kAmd, 0, 'c', 29, kNoState, 0, "mwaitx"}},
    {Feature::pclmul, {"pclmul", 1, 0, 'c', 1, kNoState, 0, "pclmulqdq"}},
    {Feature::pku, {"pku", 7, 0, 'c', 4, kNoState, 0, "ospke"}}, // OSPKE: RDPKRU faults without it
    {Feature::prefetchi, {"prefetchi", 7, 1, 'd', 14, kNoState, 0, ""}},
    {Feature::prefetchwt1, {"prefetchwt1", 7, 0, 'c', 0, kNoState, 0, ""}},
    {Feature::prfchw, {"prfchw", kAmd, 0, 'c', 8, kNoState, 0, "3dnowprefetch"}},
    {Feature::ptwrite, {"ptwrite", 0x14, 0, 'b', 4, kNoState, 0, ""}},
    {Feature::raoint, {"raoint", 7, 1, 'a', 3, kNoState, 0, ""}},
    {Feature::rdpid, {"rdpid", 7, 0, 'c', 22, kNoState, 0, "rdpid"}},
    {Feature::rdpru, {"rdpru", kAmd8, 0, 'b', 4, kNoState, 0, "rdpru"}},
    {Feature::rdrnd, {"rdrnd", 1, 0, 'c', 30, kNoState, 0, "rdrand"}},
    {Feature::rdseed, {"rdseed", 7, 0, 'b', 18, kNoState, 0, "rdseed"}},
    {Feature::rdtscp, {"rdtscp", kAmd, 0, 'd', 27, kNoState, 0, "rdtscp"}},
    {Feature::rtm, {"rtm", 7, 0, 'b', 11, kNoState, 0, "rtm"}},
    {Feature::serialize, {"serialize", 7, 0, 'd', 14, kNoState, 0, "serialize"}},
    {Feature::sgx, {"sgx", 7, 0, 'b', 2, kNoState, 0, "sgx"}},
    {Feature::sha, {"sha", 7, 0, 'b', 29, kNoState, 0, "sha_ni"}},
    {Feature::sha512, {"sha512", 7, 1, 'a', 0, kYmm, 0, "sha512"}},
    {Feature::shstk, {"shstk", 7, 0, 'c', 7, kNoState, 0, "user_shstk"}},
    {Feature::sm3, {"sm3", 7, 1, 'a', 1, kYmm, 0, "sm3"}},
    {Feature::sm4, {"sm4", 7, 1, 'a', 2, kYmm, 0, "sm4"}},
    {Feature::sse4a, {"sse4a", kAmd, 0, 'c', 6, kNoState, 0, "sse4a"}},
    {Feature::tbm, {"tbm", kAmd, 0, 'c', 21, kNoState, 0, "tbm"}},
    {Feature::threednow, {"3dnow", kAmd, 0, 'd', 31, kNoState, 0, "3dnow"}},
    {Feature::threednowa, {"3dnowa", kAmd, 0, 'd', 30, kNoState, 0, "3dnowext"}},
    {Feature::tsxldtrk, {"tsxldtrk", 7, 0, 'd', 16, kNoState, 0, "tsxldtrk"}},
    {Feature::uintr, {"uintr", 7, 0, 'd', 5, kNoState, 0, ""}},
    {Feature::usermsr, {"usermsr", 7, 1, 'd', 15, kNoState, 0, ""}},
    {Feature::vaes, {"vaes", 7, 0, 'c', 9, kYmm, 0, "vaes"}},
    {Feature::vpclmulqdq, {"vpclmulqdq", 7, 0, 'c', 10, kYmm, 0, "vpclmulqdq"}},
    {Feature::vmx, {"vmx", 1, 0, 'c', 5, kNoState, 0, "vmx"}},
    {Feature::svm, {"svm", kAmd, 0, 'c', 2, kNoState, 0, "svm"}},
    {Feature::waitpkg, {"waitpkg", 7, 0, 'c', 5, kNoState, 0, "waitpkg"}},
    {Feature::wbnoinvd, {"wbnoinvd", kAmd8, 0, 'b', 9, kNoState, 0, "wbnoinvd"}},
    {Feature::widekl, {"widekl", 0x19, 0, 'b', 2, kNoState, 0, ""}},
    {Feature::xop, {"xop", kAmd, 0, 'c', 11, kYmm, 0, "xop"}},
    {Feature::xsavec, {"xsavec", 0xd, 1, 'a', 1, kNoState, 0, "xsavec"}},
    {Feature::xsaveopt, {"xsaveopt", 0xd, 1, 'a', 0, kNoState, 0, "xsaveopt"}},
    {Feature::xsaves, {"xsaves", 0xd, 1, 'a', 3, kNoState, 0, "xsaves"}},
};

constexpr bool rows_are_in_order() {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (static_cast<size_t>(kRows[i].feature) != i) return false;
  return std::size(kRows) == kFeatureCount;
}
static_assert(rows_are_in_order(), "one row for each feature, in the order of the enumeration");

// More features of a higher level than this, and the higher level is the shorter description.
constexpr size_t kFewEdits = 3;

IsaSet first_levels(int level) {
  using enum Feature;
  IsaSet set{cmov, cx8, x87, fxsr, mmx, sse, sse2};
  if (level >= 2) set |= {sse3, ssse3, cx16, sse4_1, sse4_2, popcnt, sahf};
  if (level >= 3) set |= {avx, avx2, bmi, bmi2, f16c, fma, lzcnt, movbe, xsave};
  if (level >= 4) set |= {avx512f, avx512bw, avx512cd, avx512dq, avx512vl};
  return set;
}

std::string level_text(int level) { return "x86-64-v" + std::to_string(level); }

} // namespace

std::vector<Feature> IsaSet::list() const {
  static const std::array<Feature, kFeatureCount> kByName = [] {
    std::array<Feature, kFeatureCount> order;
    for (size_t i = 0; i < kFeatureCount; ++i) order[i] = static_cast<Feature>(i);
    std::ranges::sort(order, {}, feature_name);
    return order;
  }();
  std::vector<Feature> features;
  for (Feature f : kByName)
    if (contains(f)) features.push_back(f);
  return features;
}

std::vector<std::string> IsaSet::names() const {
  std::vector<std::string> names;
  for (Feature f : list()) names.emplace_back(feature_name(f));
  return names;
}

const FeatureInfo &feature_info(Feature feature) { return kRows[static_cast<size_t>(feature)].info; }

std::string_view feature_name(Feature feature) { return feature_info(feature).name; }

std::optional<Feature> find_feature(std::string_view name) {
  for (const Row &row : kRows)
    if (row.info.name == name) return row.feature;
  return std::nullopt;
}

std::optional<Feature> find_cpuinfo_flag(std::string_view flag) {
  if (flag.empty()) return std::nullopt;
  for (const Row &row : kRows)
    if (row.info.cpuinfo == flag) return row.feature;
  return std::nullopt;
}

const IsaSet &psabi_level(int level) {
  static const std::array<IsaSet, 4> kLevels{first_levels(1), first_levels(2), first_levels(3), first_levels(4)};
  return kLevels[static_cast<size_t>(std::clamp(level, 1, 4) - 1)];
}

int highest_level(const IsaSet &features) {
  int level = 0;
  while (level < 4 && psabi_level(level + 1).is_subset_of(features)) ++level;
  return level;
}

std::string describe_isa(const IsaSet &features) {
  // No CPU has AVX without v2, so v1 with AVX would be a description of nothing that exists.
  int level = (features - psabi_level(2)).empty() ? 1 : 2;
  if (level == 2 && ((features - psabi_level(1)) & (psabi_level(4) - psabi_level(2))).empty()) level = 1;
  while (level < 4 && ((features & psabi_level(4)) - psabi_level(level)).size() > kFewEdits) ++level;
  std::string text = level_text(level);
  const std::vector<Feature> edits = (features - psabi_level(level)).list();
  for (const Feature f : edits)
    if (std::ranges::none_of(edits, [&](Feature other) { return needed_by(other).contains(f); }))
      text.append("+").append(feature_name(f));
  return text;
}

} // namespace isa_audit
