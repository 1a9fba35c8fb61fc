#include <gtest/gtest.h>

#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

std::vector<Finding> told(const World &world, const Machine &machine) {
  std::vector<Finding> out = judge(world.inventory, {machine}, {}).findings;
  std::erase_if(out, [](const Finding &f) { return f.rule != "gpu-runtime-dependent"; });
  return out;
}

bool mentions(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(JudgeRuntimes, OldObjectsDependOnNothing) {
  World world;
  world.device_file("a.so", {image({"gfx942", "gfx1100"})});
  EXPECT_TRUE(told(world, gpus({"gfx1100"})).empty());
}

TEST(JudgeRuntimes, ObjectVersion6IsToldOnceForADistribution) {
  World world;
  world.distribution("kern");
  for (const char *file : {"a.so", "b.so"}) {
    DeviceImage one = image({"gfx1100"});
    one.code_objects[0].object_version = 6;
    world.device_file(file, {one}, "kern");
  }
  auto found = told(world, gpus({"gfx1100"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::note);
  EXPECT_EQ(found[0].subject, "gfx1100");
  EXPECT_EQ(found[0].holds, "code object version 6");
  EXPECT_EQ(found[0].message, "its code for gfx1100 is loaded by ROCm 6.2 and newer; refused by ROCm 6.1 and older");
  EXPECT_TRUE(found[0].origin.path.empty());
  Machine old = gpus({"gfx1100"});
  old.rocm = {"6.1.2"};
  found = told(world, old);
  EXPECT_EQ(found.at(0).level, Level::warning);
  EXPECT_TRUE(mentions(found[0].message, "ROCm 6.1.2 of this machine is too old")) << found[0].message;
  old.rocm = {"6.1.2", "6.4.0"};
  EXPECT_EQ(told(world, old).at(0).level, Level::note);
}

TEST(JudgeRuntimes, GenericCodeInABundleAndByItself) {
  World world;
  world.device_file("a.so", {image({"gfx11-generic"})});
  auto found = told(world, gpus({"gfx1100"}));
  EXPECT_EQ(found.at(0).message, "its code for gfx1100 is loaded by ROCm 6.4 and newer; refused by ROCm 6.3 and older");
  EXPECT_EQ(found[0].origin.path, "a.so");
  World naked("k.co", "code-object");
  naked.code_object("k.co", "gfx11-generic");
  EXPECT_EQ(told(naked, gpus({"gfx1100"})).at(0).message,
            "its code for gfx1100 is loaded by ROCm 6.2 and newer; refused by ROCm 6.1 and older");
}

TEST(JudgeRuntimes, WhatNoSourceSaysIsUnknown) {
  World world;
  DeviceImage one = image({"gfx1100"});
  one.code_objects[0].carrier = Carrier::ccob;
  one.code_objects[0].ccob_version = 3;
  world.device_file("a.so", {one});
  auto found = told(world, gpus({"gfx1100"}));
  EXPECT_EQ(found.at(0).message, "its code for gfx1100 is loaded by ROCm 7.2 and newer; refused by ROCm 6.4 and older; not "
                                 "known for ROCm 7.0 to 7.1");
  EXPECT_EQ(found[0].holds, "compressed bundles of version 3");
}

TEST(JudgeRuntimes, ClientApusHaveTwoOutcomes) {
  World world;
  world.device_file("a.so", {image({"gfx90c:xnack+"})});
  auto found = told(world, gpus({"gfx90c:xnack+"}));
  EXPECT_EQ(found.at(0).message, "its code for gfx90c is loaded by ROCm 7.1 and older; refused by runtimes newer than ROCm "
                                 "10.0; not known for ROCm 7.2 to 10.0");
  EXPECT_EQ(found[0].holds, "the xnack setting of gfx90c");
  World off;
  off.code_object("k.co", "gfx90c:xnack-");
  found = told(off, gpus({"gfx90c:xnack+"}));
  EXPECT_TRUE(mentions(found.at(0).message, "loaded by runtimes newer than ROCm 10.0; refused by ROCm 7.1 and older"))
      << found[0].message;
}

TEST(JudgeRuntimes, PartsThatOnlyNewerRuntimesLoad) {
  World world;
  DeviceImage one = image({"gfx1100"}), two = image({"gfx1100"});
  one.code_objects[0].object_version = 6;
  world.device_file("a.so", {one, two});
  EXPECT_EQ(told(world, gpus({"gfx1100"})).at(0).message,
            "its code for gfx1100 is loaded by ROCm 6.2 and newer; loaded in part by ROCm 6.1 and older");
}

} // namespace
} // namespace isa_audit::test
