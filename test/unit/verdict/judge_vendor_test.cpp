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

TEST(JudgeVendor, TorchsVersionFileSaysWhatMetadataDoesNot) {
  auto world_with = [](const TorchVersion &version) {
    World world;
    world.distribution("torch", "2.9.0").file("torch/lib/libtorch.so", "torch");
    world.inventory.torch_versions = {version};
    return world;
  };
  const Origin origin{0, "torch/version.py", "", 0};
  auto found = mismatches(world_with({origin, "torch", "2.9.0+cu128", "12.8", "", ""}), gpus({"gfx1100"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "torch/version.py (2.9.0+cu128) is a build for CUDA: nothing in it runs on the GPU");
  found = mismatches(world_with({origin, "torch", "2.9.0", "", "", ""}), gpus({"gfx1100"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].message.find("a build for CPU only"), std::string::npos);
  EXPECT_TRUE(mismatches(world_with({origin, "torch", "2.9.0", "", "6.4.43482", ""}), gpus({"gfx1100"})).empty());
  EXPECT_TRUE(mismatches(world_with({origin, "fork", "2.9.0", "", "", ""}), gpus({"gfx1100"})).empty()) << "of another";
}

TEST(JudgeVendor, PackagesForDifferentVendorsInOneEnvironment) {
  World world("lib/site-packages", "directory");
  world.distribution("torch", "2.9.0+cu126").distribution("ctranslate2").distribution("nvidia-cublas").distribution("numpy");
  world.file("torch/lib/a.so", "torch").device = cuda({"sm_90"});
  world.file("nvidia/b.so", "nvidia-cublas").device = cuda({"sm_90"});
  world.device_file("ctranslate2/c.so", {image({"gfx1100"})}, "ctranslate2");
  world.file("numpy/d.so", "numpy");
  auto found = mismatches(world, cpu("haswell", level_set(3)));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].distribution, "ctranslate2");
  EXPECT_TRUE(found[0].message.starts_with("ctranslate2 is built for AMD GPUs, torch beside it for NVIDIA GPUs"))
      << found[0].message;
  World other("lib/site-packages", "directory");
  other.distribution("torch", "2.9.0+rocm6.4").distribution("kern");
  other.device_file("torch/lib/a.so", {image({"gfx942"})}, "torch");
  other.file("kern/b.so", "kern").device = cuda({"sm_90"});
  found = mismatches(other, cpu("haswell", level_set(3)));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].distribution, "kern");
}

TEST(JudgeVendor, WheelsInOneFolderAreNoEnvironment) {
  World world("dist", "directory");
  world.distribution("a").distribution("b");
  world.inventory.distributions[0].path = "a.whl!a.dist-info";
  world.inventory.distributions[1].path = "b.whl!b.dist-info";
  world.file("a.whl!a.so", "a").device = cuda({"sm_90"});
  world.device_file("b.whl!b.so", {image({"gfx942"})}, "b");
  EXPECT_TRUE(mismatches(world, cpu("haswell", level_set(3))).empty());
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
