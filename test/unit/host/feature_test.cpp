#include "isa-audit/host/feature.h"

#include "gtest/gtest.h"

#include <set>
#include <tuple>

namespace isa_audit {
namespace {

TEST(Feature, NamesAreUniqueAndFound) {
  std::set<std::string_view> names, flags;
  std::set<std::tuple<uint32_t, uint32_t, char, int, int>> bits;
  for (size_t i = 0; i < kFeatureCount; ++i) {
    const Feature f = static_cast<Feature>(i);
    const FeatureInfo &info = feature_info(f);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(bits.insert({info.leaf, info.subleaf, info.reg, info.bit, info.avx10_version}).second) << info.name;
    EXPECT_EQ(find_feature(info.name), f);
    if (info.cpuinfo.empty()) continue;
    EXPECT_TRUE(flags.insert(info.cpuinfo).second) << info.cpuinfo;
    EXPECT_EQ(find_cpuinfo_flag(info.cpuinfo), f);
  }
  EXPECT_EQ(find_feature("avx1024"), std::nullopt);
  EXPECT_EQ(find_feature(""), std::nullopt);
  EXPECT_EQ(find_cpuinfo_flag(""), std::nullopt);
}

TEST(Feature, CpuidBitsOfTheManuals) {
  const FeatureInfo &vl = feature_info(Feature::avx512vl);
  EXPECT_EQ(std::tuple(vl.leaf, vl.subleaf, vl.reg, vl.bit, vl.xcr0), std::tuple(7U, 0U, 'b', 31, uint64_t{0xe6}));
  const FeatureInfo &vnni = feature_info(Feature::avxvnni);
  EXPECT_EQ(std::tuple(vnni.leaf, vnni.subleaf, vnni.reg, vnni.bit, vnni.xcr0), std::tuple(7U, 1U, 'a', 4, uint64_t{6}));
  EXPECT_EQ(find_cpuinfo_flag("pni"), Feature::sse3);
  EXPECT_EQ(find_cpuinfo_flag("abm"), Feature::lzcnt);
  EXPECT_EQ(find_cpuinfo_flag("sha_ni"), Feature::sha);
}

TEST(Feature, LevelsAreThoseOfThePsAbi) {
  EXPECT_EQ(psabi_level(1).size(), 7U);
  EXPECT_EQ((psabi_level(2) - psabi_level(1)).names(),
            (std::vector<std::string>{"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}));
  EXPECT_EQ((psabi_level(3) - psabi_level(2)).names(),
            (std::vector<std::string>{"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}));
  EXPECT_EQ((psabi_level(4) - psabi_level(3)).names(),
            (std::vector<std::string>{"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}));
  for (int level = 1; level <= 4; ++level) EXPECT_EQ(highest_level(psabi_level(level)), level);
  IsaSet holed = psabi_level(4);
  holed.erase(Feature::movbe);
  EXPECT_EQ(highest_level(holed), 2);
  EXPECT_EQ(highest_level({}), 0);
}

TEST(Feature, DescribesASetByLevelAndEdits) {
  const IsaSet v2 = psabi_level(2);
  EXPECT_EQ(describe_isa({}), "x86-64-v1");
  EXPECT_EQ(describe_isa({Feature::sse3}), "x86-64-v1+sse3");
  EXPECT_EQ(describe_isa(v2), "x86-64-v2");
  EXPECT_EQ(describe_isa(v2 | IsaSet{Feature::avx, Feature::fma}), "x86-64-v2+fma");
  EXPECT_EQ(describe_isa({Feature::avx}), "x86-64-v2+avx");
  EXPECT_EQ(describe_isa(psabi_level(3) | IsaSet{Feature::aes}), "x86-64-v3+aes");
  EXPECT_EQ(describe_isa({Feature::aes}), "x86-64-v1+aes");
  EXPECT_EQ(describe_isa(psabi_level(4)), "x86-64-v4");
}

TEST(IsaSet, IsASet) {
  IsaSet a{Feature::avx, Feature::fma};
  EXPECT_TRUE(a.contains(Feature::fma));
  a.erase(Feature::fma);
  EXPECT_EQ(a, IsaSet{Feature::avx});
  EXPECT_TRUE((IsaSet{Feature::avx} - a).empty());
  EXPECT_TRUE(a.is_subset_of(psabi_level(3)));
  EXPECT_FALSE(psabi_level(3).is_subset_of(a));
}

} // namespace
} // namespace isa_audit
