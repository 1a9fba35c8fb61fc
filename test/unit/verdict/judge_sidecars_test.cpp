#include <gtest/gtest.h>

#include <algorithm>

#include "isa-audit/verdict/side_cars.h"
#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

std::vector<Finding> sidecar_findings(const World &world, const Machine &machine, const Policy &policy = {}) {
  std::vector<Finding> out = judge(world.inventory, {machine}, policy).findings;
  std::erase_if(out, [](const Finding &f) { return !f.rule.starts_with("sidecar-"); });
  return out;
}

void add_processor(World &world, const std::string &folder, const std::string &processor) {
  world.side_file(folder + "/TensileLibrary_lazy_" + processor + ".dat");
  world.code_object(folder + "/Kernels.so-000-" + processor + ".hsaco", processor);
  world.code_object(folder + "/TensileLibrary_Type_HH_x_fallback_" + processor + ".hsaco", processor);
}

World rocblas(const std::vector<std::string> &processors) {
  World world("torch", "directory");
  world.side_file("lib/rocblas/library/TensileManifest.txt");
  for (const std::string &processor : processors) add_processor(world, "lib/rocblas/library", processor);
  return world;
}

TEST(SideCars, AreFoldersWithFilesForEachTarget) {
  World world = rocblas({"gfx90a", "gfx1100"});
  world.code_object("lib/rocblas/library/Kernels.so-000-gfx90a-xnack-.hsaco", "gfx90a:xnack-");
  std::vector<SideCar> cars = side_cars(world.inventory);
  ASSERT_EQ(cars.size(), 1u);
  EXPECT_EQ(cars[0].origin.path, "lib/rocblas/library");
  std::map<std::string, uint64_t, TargetOrder> expected{{"gfx90a", 3}, {"gfx90a:xnack-", 1}, {"gfx1100", 3}};
  EXPECT_EQ(cars[0].targets, expected);
}

TEST(SideCars, FlagsOutrankNames) {
  World world = rocblas({});
  world.side_file("lib/rocblas/library/TensileLibrary_lazy_gfx1100.dat");
  world.code_object("lib/rocblas/library/Kernels.so-000-gfx1100.hsaco", "gfx1102");
  auto found = sidecar_findings(world, gpus({"gfx1100"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "sidecar-incomplete");
  EXPECT_NE(found[0].message.find("an index but no kernel file for gfx1100"), std::string::npos) << found[0].message;
}

TEST(JudgeSideCars, RocblasWithoutTheProcessorIsAnErrorWithTheTextThatWillBeSeen) {
  World world = rocblas({"gfx900", "gfx1100"});
  auto found = sidecar_findings(world, gpus({"gfx1103"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "sidecar-missing");
  EXPECT_EQ(found[0].level, Level::error);
  EXPECT_EQ(found[0].origin.path, "lib/rocblas/library");
  EXPECT_EQ(found[0].subject, "gfx1103");
  EXPECT_EQ(found[0].holds, "gfx900 gfx1100");
  for (const char *text :
       {"TensileLibrary_lazy_gfx1103.dat", "rocBLAS error: Cannot read TensileLibrary.dat", "GPU arch : gfx1103"})
    EXPECT_NE(found[0].message.find(text), std::string::npos) << found[0].message;
  for (const char *text : {"ROCBLAS_TENSILE_LIBPATH", "-DGPU_TARGETS='gfx1103'", "HSA_OVERRIDE_GFX_VERSION=11.0.0"})
    EXPECT_NE(found[0].fix.find(text), std::string::npos) << found[0].fix;
  EXPECT_EQ(judge(world.inventory, {gpus({"gfx1103"})}, {}).exit_code, 1);
  EXPECT_EQ(judge(world.inventory, {gpus({"gfx1100"})}, {}).exit_code, 0);
  EXPECT_EQ(judge(world.inventory, {gpus({"gfx1100"})}, {}).verdict, Verdict::served);
}

TEST(JudgeSideCars, KernelsWithoutAnIndex) {
  World world = rocblas({"gfx900"});
  world.code_object("lib/rocblas/library/Kernels.so-000-gfx1100.hsaco", "gfx1100");
  auto found = sidecar_findings(world, gpus({"gfx1100"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "sidecar-incomplete");
  EXPECT_EQ(found[0].level, Level::error);
  EXPECT_EQ(found[0].holds, "gfx900");
  EXPECT_TRUE(found[0].message.starts_with("1 kernel file for gfx1100 but no index (TensileLibrary_lazy_gfx1100.dat)"))
      << found[0].message;
}

TEST(JudgeSideCars, TheOldIndexIsForAllProcessors) {
  World world("rocm", "directory");
  world.side_file("lib/rocblas/library/TensileLibrary.dat");
  world.code_object("lib/rocblas/library/Kernels.so-000-gfx906.hsaco", "gfx906");
  EXPECT_TRUE(sidecar_findings(world, gpus({"gfx906:sramecc+:xnack-"})).empty());
  EXPECT_EQ(sidecar_findings(world, gpus({"gfx1030"})).size(), 1u);
}

TEST(JudgeSideCars, FilesThatTheIndexNames) {
  World world = rocblas({"gfx942"});
  SideFile &index = world.inventory.side_files.back();
  ASSERT_EQ(index.part, SidePart::index);
  index.names = {"TensileLibrary_Type_DD_x_gfx942", "TensileLibrary_Type_HH_x_fallback"};
  world.side_file("lib/rocblas/library/TensileLibrary_Type_HH_x_fallback.dat");
  auto found = sidecar_findings(world, gpus({"gfx942:sramecc+:xnack-"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "sidecar-incomplete");
  EXPECT_NE(found[0].message.find("TensileLibrary_Type_DD_x_gfx942.dat"), std::string::npos) << found[0].message;
  EXPECT_EQ(found[0].message.find("fallback"), std::string::npos);
  world.side_file("lib/rocblas/library/TensileLibrary_Type_DD_x_gfx942.dat");
  EXPECT_TRUE(sidecar_findings(world, gpus({"gfx942:sramecc+:xnack-"})).empty());
}

TEST(JudgeSideCars, FallbacksThatSiblingsHave) {
  World world = rocblas({"gfx1100", "gfx1101"});
  world.code_object("lib/rocblas/library/TensileLibrary_Type_DD_x_fallback_gfx1100.hsaco", "gfx1100");
  EXPECT_TRUE(sidecar_findings(world, gpus({"gfx1100"})).empty());
  auto found = sidecar_findings(world, gpus({"gfx1101"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].message.find("TensileLibrary_Type_DD_x_fallback_gfx1101.hsaco"), std::string::npos) << found[0].message;
}

TEST(JudgeSideCars, FarFewerFilesThanASibling) {
  World world = rocblas({"gfx1100", "gfx1101", "gfx942"});
  for (int i = 0; i < 5; ++i) {
    world.code_object("lib/rocblas/library/T" + std::to_string(i) + "_gfx1100.co", "gfx1100");
    world.code_object("lib/rocblas/library/T" + std::to_string(i) + "_gfx942.co", "gfx942");
  }
  EXPECT_TRUE(sidecar_findings(world, gpus({"gfx1100", "gfx942:sramecc+:xnack-"})).empty());
  auto found = sidecar_findings(world, gpus({"gfx1101"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::note);
  EXPECT_EQ(found[0].holds, "2 files");
  EXPECT_NE(found[0].message.find("gfx1100 (7)"), std::string::npos) << found[0].message;
}

TEST(JudgeSideCars, OtherSettingsOfXnack) {
  World world("torch", "directory");
  world.side_file("lib/rocblas/library/TensileLibrary_lazy_gfx90a.dat");
  world.code_object("lib/rocblas/library/Kernels.so-000-gfx90a-xnack-.hsaco", "gfx90a:xnack-");
  EXPECT_TRUE(sidecar_findings(world, gpus({"gfx90a:sramecc+:xnack-"})).empty());
  auto found = sidecar_findings(world, gpus({"gfx90a:sramecc+:xnack+"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].message.find("other settings than gfx90a:sramecc+:xnack+"), std::string::npos) << found[0].message;
}

TEST(JudgeSideCars, HipblasltIsNotMadeForEveryProcessor) {
  World world("torch", "directory");
  add_processor(world, "lib/hipblaslt/library", "gfx942");
  auto found = sidecar_findings(world, gpus({"gfx1151"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::error);
  EXPECT_NE(found[0].fix.find("TORCH_BLAS_PREFER_HIPBLASLT=0"), std::string::npos) << found[0].fix;
  found = sidecar_findings(world, gpus({"gfx1030"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::note);
  EXPECT_NE(found[0].message.find("Attempting to use hipBLASLt on an unsupported architecture"), std::string::npos);
}

TEST(JudgeSideCars, HipblasltHelpsRocblasOut) {
  World world = rocblas({"gfx1100"});
  add_processor(world, "lib/hipblaslt/library", "gfx1103");
  auto found = sidecar_findings(world, gpus({"gfx1103"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].fix.find("ROCBLAS_USE_HIPBLASLT=1"), std::string::npos) << found[0].fix;
}

TEST(JudgeSideCars, SlowFirstRunsAreNotes) {
  World world("torch", "directory");
  world.side_file("share/miopen/db/gfx942130.db.txt");
  world.side_file("share/miopen/db/gfx942e4.db.txt");
  world.side_file("share/miopen/db/gfx90a.kdb");
  world.side_file("lib/rocfft/rocfft_kernel_cache.db").targets = {"gfx906"};
  Judgement judgement = judge(world.inventory, {gpus({"gfx1030"})}, {});
  EXPECT_EQ(judgement.exit_code, 0);
  auto found = sidecar_findings(world, gpus({"gfx1030"}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].level, Level::note);
  EXPECT_EQ(found[0].holds, "gfx906");
  EXPECT_EQ(found[1].level, Level::note);
  EXPECT_EQ(found[1].holds, "gfx90a gfx942 (228, 304 CUs)");
  EXPECT_NE(found[1].message.find("the first run is slow"), std::string::npos);
}

TEST(JudgeSideCars, AotritonByFlagsBelowFamilyFolders) {
  World world("torch", "directory");
  world.code_object("lib/aotriton.images/amd-gfx11xx/flash/attn_fwd.zip!a.aks2", "gfx1100");
  EXPECT_TRUE(sidecar_findings(world, gpus({"gfx1100"})).empty());
  auto found = sidecar_findings(world, gpus({"gfx1151"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::warning);
  EXPECT_NE(found[0].message.find("flash and memory-efficient attention"), std::string::npos);
  EXPECT_EQ(judge(world.inventory, {gpus({"gfx1151"})}, {}).verdict, Verdict::partly_served);
}

TEST(JudgeSideCars, AotritonImagesOfTwoBuilds) {
  World world("torch", "directory");
  world.code_object("lib/aotriton.images/amd-gfx942/flash/a.aks2", "gfx942");
  world.side_file("lib/aotriton.images/amd-gfx942/__signature__").detail = "dd1b68b604b5258e";
  world.side_file("lib/aotriton.images/amd-gfx90a/__signature__").detail = "dd1b68b604b5258e";
  EXPECT_TRUE(sidecar_findings(world, gpus({"gfx942:sramecc+:xnack-"})).empty());
  world.side_file("lib/aotriton.images/amd-gfx11xx/__signature__").detail = "33fb6bd5290b2e9e";
  auto found = sidecar_findings(world, gpus({"gfx942:sramecc+:xnack-"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::warning);
  EXPECT_NE(found[0].message.find("different builds"), std::string::npos);
}

TEST(JudgeSideCars, TablesOfAiterAgainstTheirCodeObjects) {
  World world("aiter.whl", "wheel");
  world.code_object("aiter_meta/hsa/gfx942/pa/a.co", "gfx942");
  world.side_file("aiter_meta/hsa/gfx942/pa/pa_asm.csv").names = {"a.co"};
  EXPECT_TRUE(sidecar_findings(world, gpus({"gfx942:sramecc+:xnack-"})).empty());
  world.side_file("aiter_meta/hsa/gfx942/fmoe/fmoe.csv").names = {"b.co"};
  auto found = sidecar_findings(world, gpus({"gfx942:sramecc+:xnack-"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "sidecar-incomplete");
  EXPECT_NE(found[0].message.find("its tables for gfx942 name are not there: b.co"), std::string::npos) << found[0].message;
  EXPECT_EQ(sidecar_findings(world, gpus({"gfx1100"})).at(0).rule, "sidecar-missing");
}

TEST(JudgeSideCars, DeviceLibraries) {
  World world("rocm", "directory");
  for (const char *isa : {"90a", "1030", "11-generic"})
    world.side_file("amdgcn/bitcode/oclc_isa_version_" + std::string(isa) + ".bc");
  world.side_file("amdgcn/bitcode/ocml.bc");
  EXPECT_TRUE(sidecar_findings(world, gpus({"gfx1030"})).empty());
  auto found = sidecar_findings(world, gpus({"gfx942:sramecc+:xnack-"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::warning);
}

TEST(JudgeSideCars, ALibraryWithoutItsFolder) {
  World world("torch", "directory");
  world.device_file("lib/librocblas.so.4", {image({"gfx1100"})});
  auto found = sidecar_findings(world, gpus({"gfx1100"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "sidecar-missing");
  EXPECT_EQ(found[0].origin.path, "lib/librocblas.so.4");
  add_processor(world, "lib/rocblas/library", "gfx1100");
  EXPECT_TRUE(sidecar_findings(world, gpus({"gfx1100"})).empty());
  World alone("librocblas.so.4", "elf");
  alone.device_file("librocblas.so.4", {image({"gfx1100"})});
  EXPECT_TRUE(sidecar_findings(alone, gpus({"gfx1100"})).empty());
}

TEST(JudgeSideCars, GatesAskForThemToo) {
  World world = rocblas({"gfx942"});
  EXPECT_EQ(judge(world.inventory, {}, require({"gfx942"})).exit_code, 0);
  Judgement judgement = judge(world.inventory, {}, require({"gfx90a"}));
  EXPECT_EQ(rules_of(judgement), std::vector<std::string>{"required-target-missing"});
  world.code_object("lib/rocblas/library/Kernels.so-000-gfx90a.hsaco", "gfx90a");
  judgement = judge(world.inventory, {}, require({"gfx90a"}));
  EXPECT_EQ(judgement.exit_code, 1);
  ASSERT_EQ(rules_of(judgement), std::vector<std::string>{"sidecar-incomplete"});
  EXPECT_EQ(judgement.findings[0].machine, -1);
}

TEST(JudgeSideCars, DeviceWheelsCompleteTheBaseWheel) {
  World world("rocm_sdk_libraries-7.whl", "wheel");
  const std::string folder = "_rocm_sdk_libraries/lib/rocblas/library";
  world.distribution("rocm-sdk-libraries").side_file(folder + "/TensileLibrary_Type_HH_x_fallback.dat", "rocm-sdk-libraries");
  auto device_wheel = [&](const std::string &gpu) {
    std::string name = "rocm-sdk-device-" + gpu;
    world.input(name + "-7.whl", "wheel").distribution(name);
    world.side_file(folder + "/TensileLibrary_lazy_" + gpu + ".dat", name).names = {"TensileLibrary_Type_HH_x_fallback"};
    world.code_object(folder + "/TensileLibrary_Type_HH_x_fallback_" + gpu + ".hsaco", gpu, name);
  };
  EXPECT_EQ(sidecar_findings(world, gpus({"gfx942:sramecc+:xnack-"})).size(), 1u);
  device_wheel("gfx942");
  device_wheel("gfx1100");
  EXPECT_EQ(side_cars(world.inventory).size(), 1u);
  EXPECT_TRUE(sidecar_findings(world, gpus({"gfx942:sramecc+:xnack-", "gfx1100"})).empty());
  EXPECT_EQ(judge(world.inventory, {}, require({"gfx942", "gfx1100"})).exit_code, 0);
  EXPECT_EQ(judge(world.inventory, {}, require({"gfx90a"})).exit_code, 1);
}

TEST(JudgeSideCars, GatesAskForEverySetting) {
  World world("torch", "directory");
  world.side_file("lib/rocblas/library/TensileLibrary_lazy_gfx90a.dat");
  world.code_object("lib/rocblas/library/Kernels.so-000-gfx90a-xnack-.hsaco", "gfx90a:xnack-");
  EXPECT_EQ(judge(world.inventory, {}, require({"gfx90a"})).exit_code, 1);
  EXPECT_EQ(judge(world.inventory, {}, require({"gfx90a:xnack-"})).exit_code, 0);
  world.code_object("lib/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco", "gfx90a:xnack+");
  EXPECT_EQ(judge(world.inventory, {}, require({"gfx90a"})).exit_code, 0);
}

TEST(JudgeSideCars, FoldersAreNoUnitsOfTheirOwn) {
  World world = rocblas({"gfx1100"});
  Judgement judgement = judge(world.inventory, {gpus({"gfx1103"})}, {});
  EXPECT_EQ(std::ranges::count(rules_of(judgement), "gpu-target-missing"), 0);
}

} // namespace
} // namespace isa_audit::test
