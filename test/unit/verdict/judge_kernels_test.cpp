#include <gtest/gtest.h>

#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

std::vector<Finding> missing(const World &world, const Machine &machine) {
  std::vector<Finding> out = judge(world.inventory, {machine}, {}).findings;
  std::erase_if(out, [](const Finding &f) { return f.rule != "gpu-kernels-missing"; });
  return out;
}

// An image of gfx942 with three kernels and gfx90a with the first only.
DeviceImage uneven() {
  DeviceImage out = image({"gfx90a", "gfx942"}, {"a", "b", "c"});
  out.code_objects[0].kernels = {0};
  return out;
}

TEST(JudgeKernels, ATargetBuiltByHalf) {
  World world;
  world.device_file("a.so", {uneven()});
  auto found = missing(world, gpus({"gfx90a:sramecc+:xnack-"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::warning);
  EXPECT_EQ(found[0].holds, "gfx90a has 1 of 3 kernels");
  EXPECT_NE(found[0].message.find("2 kernels that gfx90a lacks: b, c;"), std::string::npos) << found[0].message;
  EXPECT_TRUE(missing(world, gpus({"gfx942:sramecc+:xnack-"})).empty());
}

TEST(JudgeKernels, AnotherImageMayHaveThem) {
  World world;
  world.device_file("a.so", {uneven(), image({"gfx90a"}, {"b", "c"})});
  EXPECT_TRUE(missing(world, gpus({"gfx90a:sramecc+:xnack-"})).empty());
}

// gpu-target-partial tells of it; the count of kernels is a note.
TEST(JudgeKernels, AnImageWithoutTheTargetIsANote) {
  World world;
  world.device_file("a.so", {image({"gfx90a", "gfx942"}), image({"gfx942"}, {"other"})});
  auto found = missing(world, gpus({"gfx90a:sramecc+:xnack-"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::note);
  EXPECT_EQ(found[0].holds, "gfx90a has 1 of 2 kernels");
}

TEST(JudgeKernels, UnknownKernelsSayNothing) {
  World world;
  DeviceImage one = uneven();
  one.code_objects[1].kernels_known = false;
  world.device_file("a.so", {one});
  EXPECT_TRUE(missing(world, gpus({"gfx90a:sramecc+:xnack-"})).empty());
}

// Kernel files of a folder, one processor each, are compared together; a library may do without by design.
TEST(JudgeKernels, FilesOfAFolderAreANote) {
  World world;
  for (auto [file, target, kernels] : {std::tuple{"hsa/gfx942/a.co", "gfx942", 3u}, std::tuple{"hsa/gfx950/a.co", "gfx950", 3u},
                                       std::tuple{"hsa/gfx90a/a.co", "gfx90a", 1u}}) {
    world.code_object(file, target);
    DeviceCode &code = *world.inventory.binaries.back().device;
    code.loose_kernel_names = {"a", "b", "c"};
    code.loose[0].kernels.clear();
    for (uint32_t i = 0; i < kernels; ++i) code.loose[0].kernels.push_back(i);
  }
  auto found = missing(world, gpus({"gfx90a:sramecc+:xnack-"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::note);
  EXPECT_EQ(found[0].origin.path, "hsa");
  EXPECT_EQ(found[0].holds, "gfx90a has 1 of 3 kernels");
  EXPECT_TRUE(missing(world, gpus({"gfx942:sramecc+:xnack-"})).empty());
}

} // namespace
} // namespace isa_audit::test
