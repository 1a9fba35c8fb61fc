#include "isa-audit/verdict/device_units.h"

#include <gtest/gtest.h>

#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

std::vector<std::string> paths(const std::vector<DeviceUnit> &units) {
  std::vector<std::string> out;
  for (const DeviceUnit &unit : units) out.push_back(unit.origin.path + (unit.set ? "/*" : ""));
  return out;
}

TEST(DeviceUnits, StandaloneFilesOfATreeAreSets) {
  World world;
  world.code_object("top.hsaco", "gfx90a");
  world.code_object("aiter_meta/hsa/gfx942/fmoe/x.co", "gfx942");
  world.code_object("aiter_meta/hsa/gfx950/fmoe/x.co", "gfx950");
  world.code_object("rocblas/library/Kernels.so-000-gfx90a.hsaco", "gfx90a");
  world.code_object("rocblas/library/Kernels.so-000-gfx1100.hsaco", "gfx1100");
  world.code_object("gfxless/plain.co", "gfx1100");
  world.code_object("gfx906/plain.co", "gfx906");
  world.device_file("lib.so", {image({"gfx90a"})});
  std::vector<DeviceUnit> units = device_units(world.inventory);
  EXPECT_EQ(paths(units), (std::vector<std::string>{"./*", "aiter_meta/hsa/*", "gfxless/*", "lib.so", "rocblas/library/*"}));
  EXPECT_EQ(units[0].files.size(), 2u); // top.hsaco and gfx906/plain.co
  EXPECT_EQ(unit_targets(units[4]), (std::vector<std::string>{"gfx90a", "gfx1100"}));
}

TEST(DeviceUnits, SetsOfDifferentInputsStayApart) {
  World world("a", "directory");
  world.code_object("library/a_gfx90a.co", "gfx90a");
  world.input("b", "directory").code_object("library/a_gfx942.co", "gfx942");
  EXPECT_EQ(device_units(world.inventory).size(), 2u);
}

TEST(DeviceUnits, AFileThatIsTheInputIsJudgedAlone) {
  World world("some/where/kernel_gfx90a.co", "code-object");
  world.code_object("kernel_gfx90a.co", "gfx90a");
  std::vector<DeviceUnit> units = device_units(world.inventory);
  ASSERT_EQ(units.size(), 1u);
  EXPECT_FALSE(units[0].set);
}

TEST(DeviceUnits, FoldersOfOneShapeEachAreOneSet) {
  World world;
  for (const char *shape : {"M=1", "M=2", "M=4"}) world.code_object("aot/" + std::string(shape) + "/kernel.hsaco", "gfx950");
  world.code_object("aot/other/kernel.hsaco", "gfx942");
  world.code_object("few/a/kernel.hsaco", "gfx950").code_object("few/b/kernel.hsaco", "gfx950");
  std::vector<std::string> paths;
  for (const DeviceUnit &unit : device_units(world.inventory)) paths.push_back(unit.origin.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"aot", "aot/other", "few/a", "few/b"}));
}

TEST(DeviceUnits, LeaveOutWhatNoLoaderTakes) {
  World world;
  Binary &internal = world.file("libhsa-runtime64.so.1");
  internal.device = device({});
  internal.device->loose = {object("gfx90a")};
  internal.device->runtime_internal = true;
  Binary &relocatable = world.file("a.o");
  relocatable.device = device({image({"gfx90a"})});
  relocatable.device->images[0].code_objects[0].loadable = false;
  Binary &cuda = world.file("cuda.so");
  cuda.device = device({image({"gfx90a"})});
  cuda.device->images[0].code_objects[0].target = {"sm_80", Setting::unsupported, Setting::unsupported, TargetKind::native,
                                                   Vendor::nvidia};
  world.file("plain.so");
  EXPECT_TRUE(device_units(world.inventory).empty());
}

TEST(Cover, CountsImagesAndTheLooseObjectsTogether) {
  World world;
  world.device_file("lib.so",
                    {image({"gfx90a", "gfx942"}), image({"gfx942"}), image({"gfx11-generic"}), image({"amdgcnspirv"})});
  world.inventory.binaries[0].device->loose = {object("gfx908"), object("gfx1100")};
  DeviceUnit unit = device_units(world.inventory)[0];
  auto covers = [&](const char *gpu, Spirv spirv) {
    TargetId id = target(gpu);
    return cover(unit, {&id, 1}, spirv);
  };
  Coverage c = covers("gfx1100", Spirv::counts);
  EXPECT_EQ(c.parts, 5u);
  EXPECT_EQ(c.served, 3u); // generic, SPIR-V, loose
  EXPECT_EQ(c.generic, 1u);
  EXPECT_EQ(c.spirv, 1u);
  EXPECT_FALSE(c.loose_missing);
  c = covers("gfx90a:sramecc+:xnack-", Spirv::does_not_count);
  EXPECT_EQ(c.served, 1u);
  EXPECT_TRUE(c.loose_missing);
}

TEST(Cover, ASetServesWhenOneFileDoes) {
  World world;
  world.code_object("lib/a_gfx90a.co", "gfx90a:xnack+").code_object("lib/a_gfx942.co", "gfx942");
  DeviceUnit unit = device_units(world.inventory)[0];
  TargetId mi300 = target("gfx942:sramecc+:xnack-"), mi200 = target("gfx90a:sramecc+:xnack-"), navi = target("gfx1100");
  EXPECT_TRUE(cover(unit, {&mi300, 1}, Spirv::counts).complete());
  EXPECT_EQ(cover(unit, {&mi200, 1}, Spirv::counts).mismatched, 1u);
  EXPECT_EQ(cover(unit, {&navi, 1}, Spirv::counts).mismatched, 0u);
  EXPECT_EQ(cover(unit, {&navi, 1}, Spirv::counts).parts, 1u);
}

TEST(GpusOf, ExpandsOpenSettingsAndFamilies) {
  auto texts = [](std::string_view text) {
    std::vector<std::string> out;
    for (const TargetId &gpu : gpus_of(target(text))) out.push_back(gpu.text());
    return out;
  };
  EXPECT_EQ(texts("gfx1100"), (std::vector<std::string>{"gfx1100"}));
  EXPECT_EQ(texts("gfx900"), (std::vector<std::string>{"gfx900:xnack-", "gfx900:xnack+"}));
  EXPECT_EQ(texts("gfx90a:xnack-"), (std::vector<std::string>{"gfx90a:sramecc-:xnack-", "gfx90a:sramecc+:xnack-"}));
  EXPECT_EQ(texts("gfx90a").size(), 4u);
  EXPECT_EQ(texts("gfx12-generic"), (std::vector<std::string>{"gfx1200", "gfx1201"}));
  // gfx906 has sramecc although its generic does not.
  std::vector<std::string> gfx9 = texts("gfx9-generic");
  EXPECT_NE(std::ranges::find(gfx9, "gfx906:sramecc+:xnack-"), gfx9.end());
  EXPECT_NE(std::ranges::find(gfx9, "gfx900:xnack+"), gfx9.end());
}

} // namespace
} // namespace isa_audit::test
