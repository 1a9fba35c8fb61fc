// Named CPUs and edits. The expected sets are stated from the psABI and from processors' manuals, not from LLVM's lists.
#include <set>

#include "isa-audit/machine/cpu.h"
#include "isa-audit/machine/detect.h"
#include "tree.h"
#include "llvm/TargetParser/X86TargetParser.h"

namespace isa_audit {
namespace {

using enum Feature;

Cpu cpu(std::string_view text) {
  llvm::Expected<Cpu> parsed = parse_cpu(text);
  if (!parsed) {
    ADD_FAILURE() << text << ": " << llvm::toString(parsed.takeError());
    return {};
  }
  return *parsed;
}

std::string error_of(std::string_view text) {
  llvm::Expected<Cpu> parsed = parse_cpu(text);
  return parsed ? "" : llvm::toString(parsed.takeError());
}

TEST(CpuName, LevelsAreThePsAbis) {
  const IsaSet v1{cmov, cx8, x87, fxsr, mmx, sse, sse2};
  const IsaSet v2 = v1 | IsaSet{cx16, sahf, popcnt, sse3, sse4_1, sse4_2, ssse3};
  const IsaSet v3 = v2 | IsaSet{avx, avx2, bmi, bmi2, f16c, fma, lzcnt, movbe, xsave};
  const IsaSet v4 = v3 | IsaSet{avx512f, avx512bw, avx512cd, avx512dq, avx512vl};
  EXPECT_EQ(cpu("x86-64-v1").features, v1);
  EXPECT_EQ(cpu("x86-64-v2").features, v2);
  EXPECT_EQ(cpu("x86-64-v3").features, v3);
  EXPECT_EQ(cpu("X86-64-V4").features, v4);
  EXPECT_EQ(cpu("x86-64").features, v1);
}

TEST(CpuName, EveryNameOfLlvmIsClosedAndHasTheBaseline) {
  llvm::SmallVector<llvm::StringRef, 128> names;
  llvm::X86::fillValidCPUArchList(names, true);
  ASSERT_GT(names.size(), 60u);
  for (llvm::StringRef name : names) {
    Cpu found = cpu(std::string_view(name));
    EXPECT_TRUE(psabi_level(1).is_subset_of(found.features)) << name.str();
    for (Feature feature : found.features.list())
      EXPECT_TRUE(needed_by(feature).is_subset_of(found.features)) << name.str() << " " << feature_name(feature);
  }
}

// Every feature that LLVM lists for a CPU and that has a CPUID flag here must arrive.
TEST(CpuName, NoFeatureOfLlvmIsLost) {
  const std::set<std::string> without_flag = {"crc32", "pconfig", "egpr", "ndd",       "ccmp",
                                              "nf",    "zu",      "ppx",  "push2pop2", "64bit"};
  llvm::SmallVector<llvm::StringRef, 128> names;
  llvm::X86::fillValidCPUArchList(names, true);
  for (llvm::StringRef name : names) {
    llvm::SmallVector<llvm::StringRef, 128> features;
    llvm::X86::getFeaturesForCPU(name, features);
    IsaSet set = cpu(std::string_view(name)).features;
    for (llvm::StringRef text : features) {
      if (without_flag.count(text.str())) continue;
      std::optional<Feature> feature = find_feature(std::string_view(text));
      ASSERT_TRUE(feature.has_value()) << text.str();
      EXPECT_TRUE(set.contains(*feature)) << name.str() << " " << text.str();
    }
  }
}

struct LevelCase {
  const char *name;
  int level;
  IsaSet has, lacks;
};

TEST(CpuName, HolesBetweenLevels) {
  const LevelCase cases[] = {
      {"core2", 1, {ssse3, cx16}, {sse4_1, popcnt, rdtscp}},
      {"penryn", 1, {sse4_1}, {sse4_2, popcnt}},
      {"nehalem", 2, {sse4_2, popcnt, rdtscp}, {aes, avx}},
      {"sandybridge", 2, {avx, xsave}, {avx2, f16c}},
      {"ivybridge", 2, {avx, f16c}, {avx2, fma}},
      {"haswell", 3, {avx2, fma}, {aes, adx}},
      {"skylake-avx512", 4, {aes, avx512vl}, {avx512vnni}},
      {"alderlake", 3, {avx, avx2, avxvnni, vaes}, {avx512f}},
      {"knl", 3, {avx512f, avx512cd, avx512er, avx512pf, fma}, {avx512bw, avx512dq, avx512vl}},
      {"sapphirerapids", 4, {amx_tile, amx_int8, amx_bf16, avx512fp16}, {amx_fp16}},
      {"diamondrapids", 4, {apx, avx10_2, amx_avx512}, {}},
      {"goldmont", 2, {aes, sha, movbe}, {avx, bmi}},
      {"k8", 1, {cmov, threednow}, {sse3, cx16}},
      {"amdfam10", 1, {popcnt, lzcnt, sse4a, rdtscp}, {ssse3}},
      {"bdver2", 2, {avx, fma, bmi, f16c, fma4, xop, tbm}, {avx2, bmi2, movbe}},
      {"btver2", 2, {avx, bmi, movbe, f16c}, {avx2, fma, bmi2}},
      {"znver1", 3, {cmov, avx2, sha, clzero}, {avx512f, vaes}},
      {"znver4", 4, {avx512bf16, vaes, gfni}, {avx512fp16, amx_tile}},
      {"kvm64", 1, {sse3, cx16}, {ssse3, popcnt}},
      {"qemu64", 1, {sse3, cx16, sahf}, {ssse3}},
      {"x86-64-v2-AES", 2, {aes}, {pclmul, avx}},
      {"x86-64-v2-aes", 2, {aes}, {avx}},
      {"Conroe", 1, {ssse3, sahf}, {cx16, sse4_1}},
      {"Penryn", 1, {sse4_1, cx16}, {popcnt}},
      {"Nehalem", 2, {sse4_2, popcnt}, {aes}},
      {"Westmere", 2, {aes, pclmul}, {avx}},
      {"SandyBridge", 2, {avx, aes}, {f16c}},
      {"Haswell", 3, {aes, rtm}, {adx}},
      {"Haswell-noTSX", 3, {aes}, {rtm}},
      {"haswell-notsx-ibrs", 3, {aes}, {rtm}},
      {"Haswell-v4", 3, {aes}, {}},
      {"Skylake-Server-noTSX-IBRS", 4, {aes, pku}, {rtm, avx512vnni}},
      {"Cascadelake-Server", 4, {avx512vnni}, {avx512bf16}},
      {"EPYC", 3, {sha, aes}, {clwb}},
      {"epyc-rome-v2", 3, {clwb}, {vaes}},
      {"EPYC-Genoa", 4, {avx512bf16}, {avxvnni}},
      {"Opteron_G4", 2, {avx, fma4, xop}, {fma, f16c}},
      {"rosetta2", 2, {aes, pclmul}, {avx}},
  };
  for (const LevelCase &c : cases) {
    Cpu found = cpu(c.name);
    EXPECT_EQ(highest_level(found.features), c.level) << c.name;
    EXPECT_TRUE(c.has.is_subset_of(found.features)) << c.name << " lacks a feature of " << describe_isa(c.has - found.features);
    EXPECT_TRUE((c.lacks & found.features).empty()) << c.name << " has too much";
  }
}

TEST(CpuName, CaseTellsQemuFromLlvm) {
  EXPECT_TRUE(cpu("Haswell").features.contains(aes));
  EXPECT_FALSE(cpu("haswell").features.contains(aes));
  EXPECT_FALSE(cpu("HASWELL").features.contains(aes));
  EXPECT_EQ(cpu("HASWELL").name, "haswell");
  EXPECT_FALSE(cpu("haswell").notes.empty());
  EXPECT_TRUE(cpu("haswell+aes").notes.empty());
}

TEST(CpuEdits, AddingBringsWhatIsNeeded) {
  IsaSet set = cpu("x86-64-v1+avx2").features;
  EXPECT_TRUE((IsaSet{avx, xsave, sse4_2, sse4_1, ssse3, sse3}.is_subset_of(set)));
  EXPECT_TRUE((set & IsaSet{fma, f16c, popcnt, bmi}).empty());
}

// LLVM models F16C and FMA as implied by AVX-512; CPUID does not.
TEST(CpuEdits, Avx512ImpliesNoFmaAndNoF16c) {
  IsaSet set = cpu("x86-64-v2+avx512vl").features;
  EXPECT_TRUE((IsaSet{avx512f, avx512vl, avx2, avx}.is_subset_of(set)));
  EXPECT_TRUE((set & IsaSet{fma, f16c, avx512bw}).empty());
}

TEST(CpuEdits, RemovingTakesWhatDependsOnIt) {
  IsaSet set = cpu("znver4-avx").features;
  EXPECT_TRUE((set & IsaSet{avx, avx2, fma, f16c, avx512f, avx512vl, avx512bf16, vaes, vpclmulqdq}).empty());
  EXPECT_TRUE((IsaSet{sse4_2, aes, pclmul, bmi, bmi2, lzcnt, movbe, gfni}.is_subset_of(set)));
  IsaSet no_512 = cpu("skylake-avx512-avx512f").features;
  EXPECT_TRUE(no_512.contains(avx2));
  EXPECT_TRUE((no_512 & IsaSet{avx512f, avx512bw, avx512cd, avx512dq, avx512vl}).empty());
}

TEST(CpuEdits, InOrderAndInAnySpelling) {
  EXPECT_EQ(cpu("x86-64-v2+avx-avx").features, cpu("x86-64-v2+xsave").features);
  EXPECT_EQ(cpu("x86-64-v2+aes+pclmulqdq").features, psabi_level(2) | (IsaSet{aes, pclmul}));
  EXPECT_EQ(cpu("x86-64-v1+pni").features, psabi_level(1) | IsaSet{sse3});
  EXPECT_EQ(cpu("x86-64-v1+sse4_1").features, cpu("x86-64-v1+SSE4.1").features);
  EXPECT_EQ(cpu("x86-64-v1+abm").features, psabi_level(1) | IsaSet{lzcnt});
  EXPECT_EQ(cpu("x86-64-v1+bmi1").features, psabi_level(1) | IsaSet{bmi});
  EXPECT_EQ(cpu("x86-64-v4+avx512_bf16").features, psabi_level(4) | IsaSet{avx512bf16});
  EXPECT_EQ(cpu("x86-64-v4+amx-int8-avx512f").features, cpu("x86-64-v3+amx_int8").features);
  EXPECT_EQ(cpu("haswell+aes-bmi2").name, "haswell+aes-bmi2");
}

TEST(CpuSpelling, EveryNameAndLinuxWordIsFound) {
  for (size_t i = 0; i < kFeatureCount; ++i) {
    Feature feature = static_cast<Feature>(i);
    const FeatureInfo &info = feature_info(feature);
    EXPECT_EQ(find_feature_spelling(info.name), feature) << info.name;
    if (!info.cpuinfo.empty()) {
      EXPECT_EQ(find_feature_spelling(info.cpuinfo), feature) << info.cpuinfo;
    }
  }
  EXPECT_FALSE(find_feature_spelling("").has_value());
  EXPECT_FALSE(find_feature_spelling("-").has_value());
  EXPECT_FALSE(find_feature_spelling("avx512").has_value());
}

TEST(CpuErrors, NameNearOnes) {
  EXPECT_NE(error_of("hasswell").find("haswell"), std::string::npos);
  EXPECT_NE(error_of("znver9").find("znver"), std::string::npos);
  EXPECT_NE(error_of("x86-64-v5").find("x86-64-v4"), std::string::npos);
  EXPECT_NE(error_of("haswell+avx513f").find("avx512f"), std::string::npos);
  EXPECT_NE(error_of("haswell-avx512").find("'avx512'"), std::string::npos);
  EXPECT_NE(error_of("haswell+avx512").find("did you mean avx512f, "), std::string::npos) << error_of("haswell+avx512");
  for (const char *bad : {"", "+avx", "-avx", "haswell+", "haswell++avx", "haswell avx", "@", "@/no/such/file", "@/"})
    EXPECT_NE(error_of(bad), "") << bad;
}

TEST(CpuFile, ReadsACopyOfCpuinfo) {
  Cpu found = cpu("@" + std::string(ISA_AUDIT_TESTDATA) + "/cpuinfo/vm_kvm64.cpuinfo");
  EXPECT_EQ(found.name, "kvm64");
  EXPECT_EQ(highest_level(found.features), 1);
  EXPECT_TRUE(found.masked);
  EXPECT_FALSE(cpu("@" + std::string(ISA_AUDIT_TESTDATA) + "/cpuinfo/zen4_epyc-9654.cpuinfo").masked);
  test::Tree tree;
  tree.write("readme", "nothing of the kind\n");
  EXPECT_NE(error_of("@" + tree.path("readme")).find("no flags line"), std::string::npos);
}

} // namespace
} // namespace isa_audit
