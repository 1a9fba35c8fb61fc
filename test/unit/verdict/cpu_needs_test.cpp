#include "isa-audit/verdict/cpu_needs.h"

#include <gtest/gtest.h>

#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

HostCode code() {
  HostCode out;
  out.guards_analysed = true;
  return out;
}

TEST(CpuNeeds, ArePutTogetherOverTheFilesOfADistribution) {
  HostCode first = code(), second = code();
  first.at_load = {Feature::sse4_1};
  first.at_import = {Feature::sse4_2};
  first.unguarded = {Feature::aes, Feature::pclmul};
  first.guarded = {Feature::avx512f};
  second.at_call = {{"kern.f", level_set(3)}};
  second.guarded = {Feature::avx2, Feature::amx_tile, Feature::sse2};
  World world;
  world.distribution("kern").host_file("a.so", first, "kern").host_file("b.so", second, "kern");
  auto all = cpu_needs(world.inventory);
  ASSERT_EQ(all.size(), 1u);
  const CpuNeeds &needs = all.at({0, "kern"});
  EXPECT_EQ(needs.files, 2u);
  EXPECT_TRUE(needs.guards_known);
  EXPECT_EQ(needs.import_cpu(), "x86-64-v1+sse4.2");
  EXPECT_EQ(needs.all_cpu(), "x86-64-v3+aes+pclmul");
  // avx2 is needed unguarded by the first file: nothing that a check could spare.
  EXPECT_EQ(needs.exploits.names(), (std::vector<std::string>{"amx-tile", "avx512f"}));
}

TEST(CpuNeeds, NothingBeyondTheBaselineIsV1) {
  World world;
  world.host_file("a.so", code()).file("data.bin");
  const CpuNeeds needs = cpu_needs(world.inventory).at({0, ""});
  EXPECT_EQ(needs.import_cpu(), "x86-64-v1");
  EXPECT_EQ(needs.best_cpu(), "x86-64-v1");
  EXPECT_EQ(needs.files, 1u);
}

TEST(CpuNeeds, ADeclaredLevelIsNeededToLoad) {
  HostCode declared = code();
  declared.needed_level = 3;
  World world;
  world.host_file("a.so", declared);
  EXPECT_EQ(cpu_needs(world.inventory).at({0, ""}).import_cpu(), "x86-64-v3");
}

TEST(CpuNeeds, UnknownGuardsAndInputsAreKeptApart) {
  HostCode unknown;
  World world;
  world.host_file("a.so", unknown, "kern");
  world.input("b.whl", "wheel").host_file("b.so", code(), "kern");
  auto all = cpu_needs(world.inventory);
  EXPECT_FALSE(all.at({0, "kern"}).guards_known);
  EXPECT_TRUE(all.at({1, "kern"}).guards_known);
  EXPECT_TRUE(cpu_needs(Inventory()).empty());
}

// More features never make the needed CPU smaller.
TEST(CpuNeeds, GrowWithTheCode) {
  World world;
  HostCode host = code();
  IsaSet before;
  for (size_t i = 0; i < kFeatureCount; ++i) {
    host.unguarded.insert(static_cast<Feature>(i));
    World one;
    one.host_file("a.so", host);
    IsaSet now = cpu_needs(one.inventory).at({0, ""}).all;
    EXPECT_TRUE(before.is_subset_of(now));
    before = now;
  }
}

} // namespace
} // namespace isa_audit::test
