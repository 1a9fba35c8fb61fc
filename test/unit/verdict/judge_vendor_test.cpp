#include <gtest/gtest.h>

#include <algorithm>

#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

DeviceCode cuda(const std::vector<std::string> &processors) {
  DeviceCode out;
  DeviceImage image;
  image.carrier = Carrier::nv_fatbin;
  for (const std::string &name : processors) {
    CodeObject object;
    object.target.processor = name;
    object.target.vendor = Vendor::nvidia;
    object.carrier = Carrier::nv_fatbin;
    image.code_objects.push_back(std::move(object));
  }
  out.nvidia.push_back(std::move(image));
  return out;
}

std::vector<Finding> mismatches(const World &world, const Machine &machine) {
  std::vector<Finding> out = judge(world.inventory, {machine}, {}).findings;
  std::erase_if(out, [](const Finding &f) { return f.rule != "gpu-vendor-mismatch"; });
  return out;
}

TEST(JudgeVendor, CudaOnlyOnAnAmdMachine) {
  World world;
  world.distribution("ctranslate2").file("a.so", "ctranslate2").device = cuda({"sm_90", "sm_86"});
  world.file("host.so", "ctranslate2");
  auto found = mismatches(world, gpus({"gfx1100"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::warning);
  EXPECT_EQ(found[0].origin.path, "a.so");
  EXPECT_EQ(found[0].holds, "sm_86 sm_90");
  EXPECT_EQ(found[0].subject, "gfx1100");
  EXPECT_NE(found[0].fix.find("ROCm build of ctranslate2"), std::string::npos) << found[0].fix;
}

TEST(JudgeVendor, OneFindingForADistribution) {
  World world;
  world.distribution("torch", "2.9.0+cu126");
  world.file("a.so", "torch").device = cuda({"sm_90"});
  world.file("b.so", "torch").device = cuda({"sm_80"});
  auto found = mismatches(world, gpus({"gfx1100", "gfx942"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].origin.path, "");
  EXPECT_EQ(found[0].holds, "sm_80 sm_90");
  EXPECT_NE(found[0].fix.find("pip install torch --index-url"), std::string::npos);
}

TEST(JudgeVendor, CodeForBothIsNoMismatch) {
  World world;
  world.distribution("both").file("a.so", "both").device = cuda({"sm_90"});
  world.device_file("b.so", {image({"gfx942"})}, "both");
  EXPECT_TRUE(mismatches(world, gpus({"gfx942"})).empty());
}

TEST(JudgeVendor, TheVersionSaysSo) {
  auto count = [](const std::string &version, const Machine &machine) {
    World world;
    world.distribution("torch", version).file("torch/lib/libtorch.so", "torch");
    return mismatches(world, machine).size();
  };
  EXPECT_EQ(count("2.9.0+cpu", gpus({"gfx1100"})), 1u);
  EXPECT_EQ(count("2.9.0+cpu.cxx11.abi", gpus({"gfx1100"})), 1u);
  EXPECT_EQ(count("2.9.0+cu126", gpus({"gfx1100"})), 1u);
  EXPECT_EQ(count("2.9.0+custom", gpus({"gfx1100"})), 0u);
  EXPECT_EQ(count("2.9.0+rocm6.4", gpus({"gfx1100"})), 0u);
  EXPECT_EQ(count("2.9.0", gpus({"gfx1100"})), 0u);
  EXPECT_EQ(count("2.9.0+cpu", cpu("haswell", level_set(3))), 0u) << "no GPU is judged";
}

TEST(JudgeVendor, FilesThatNobodyOwnsAreJudgedEach) {
  World world("folder", "directory");
  world.file("a.so").device = cuda({"sm_90"});
  world.device_file("b.so", {image({"gfx942"})});
  auto found = mismatches(world, gpus({"gfx942"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].origin.path, "a.so");
}

} // namespace
} // namespace isa_audit::test
