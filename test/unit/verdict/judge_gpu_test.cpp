#include "isa-audit/verdict/judge.h"

#include <gtest/gtest.h>

#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

Judgement judged(const World &world, const Machine &machine, const Policy &policy = {}) {
  return judge(world.inventory, {machine}, policy);
}

const Finding *find(const Judgement &judgement, std::string_view rule) {
  for (const Finding &finding : judgement.findings)
    if (finding.rule == rule) return &finding;
  return nullptr;
}

bool mentions(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(JudgeGpu, AllImagesMatchIsServed) {
  World world;
  world.device_file("a.so", {image({"gfx90a", "gfx1100"}), image({"gfx1100"})});
  Judgement j = judged(world, gpus({"gfx1100"}));
  EXPECT_TRUE(j.findings.empty());
  EXPECT_EQ(j.verdict, Verdict::served);
  EXPECT_EQ(j.exit_code, 0);
}

TEST(JudgeGpu, NoImageMatchesIsMissing) {
  World world;
  world.distribution("torch").device_file("torch/lib/a.so", {image({"gfx90a", "gfx1030"})}, "torch");
  Judgement j = judged(world, gpus({"gfx1031"}));
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"gpu-target-missing"});
  const Finding &f = j.findings[0];
  EXPECT_EQ(f.level, Level::error);
  EXPECT_EQ(f.subject, "gfx1031");
  EXPECT_EQ(f.holds, "gfx90a gfx1030");
  EXPECT_EQ(f.machine, 0);
  EXPECT_EQ(f.distribution, "torch");
  EXPECT_TRUE(mentions(f.message, "no kernel image is available for execution on the device"));
  EXPECT_TRUE(mentions(f.fix, "PYTORCH_ROCM_ARCH='gfx1031'"));
  EXPECT_TRUE(mentions(f.fix, "HSA_OVERRIDE_GFX_VERSION=10.3.0"));
  EXPECT_TRUE(mentions(f.fix, "gfx10-3-generic"));
  EXPECT_EQ(j.verdict, Verdict::not_served);
  EXPECT_EQ(j.distributions, std::vector<Verdict>{Verdict::not_served});
  EXPECT_EQ(j.exit_code, 1);
}

TEST(JudgeGpu, OverrideIsOnlyOfferedWithinAFamily) {
  auto fix = [](const char *held, const char *gpu) {
    World world;
    world.device_file("a.so", {image({held})});
    return judged(world, gpus({gpu})).findings.at(0).fix;
  };
  EXPECT_TRUE(mentions(fix("gfx1100", "gfx1103"), "HSA_OVERRIDE_GFX_VERSION=11.0.0"));
  EXPECT_TRUE(mentions(fix("gfx900", "gfx90c:xnack-"), "HSA_OVERRIDE_GFX_VERSION=9.0.0"));
  EXPECT_FALSE(mentions(fix("gfx1100", "gfx1151"), "HSA_OVERRIDE"));
  EXPECT_FALSE(mentions(fix("gfx1030", "gfx1010:xnack-"), "HSA_OVERRIDE"));
  EXPECT_FALSE(mentions(fix("gfx900", "gfx906:sramecc+:xnack-"), "HSA_OVERRIDE"));
  EXPECT_FALSE(mentions(fix("gfx908", "gfx90a:sramecc+:xnack-"), "HSA_OVERRIDE"));
}

TEST(JudgeGpu, SomeImagesMatchIsPartialAndNamesKernels) {
  World world;
  std::vector<DeviceImage> images(237, image({"gfx90a", "gfx942"}, {"common"}));
  images[3] = image({"gfx942"}, {"_ZN5petit4gemmIiEEvPT_", "common", "second"});
  images[7] = image({"gfx942"}, {"third", "fourth", "fifth"});
  world.device_file("a.so", images);
  Judgement j = judged(world, gpus({"gfx90a:sramecc+:xnack-"}));
  ASSERT_EQ(rules_of(j), (std::vector<std::string>{"gpu-target-partial", "gpu-kernels-missing"}));
  EXPECT_EQ(j.findings[1].level, Level::note);
  EXPECT_EQ(j.findings[1].holds, "gfx90a has 1 of 6 kernels");
  const Finding &f = j.findings[0];
  EXPECT_EQ(f.level, Level::warning);
  EXPECT_EQ(f.subject, "gfx90a");
  EXPECT_EQ(f.holds, "gfx90a in 235 of 237 device images");
  EXPECT_TRUE(mentions(f.message, "5 kernels without code for gfx90a: petit::gemm<int>, fifth, fourth and 2 more"))
      << f.message;
  EXPECT_FALSE(mentions(f.message, "common"));
  EXPECT_TRUE(mentions(f.message, "invalid device function"));
  EXPECT_EQ(j.verdict, Verdict::partly_served);
  EXPECT_EQ(j.exit_code, 0);
  Policy strict;
  strict.fail_on = FailOn::warning;
  EXPECT_EQ(judged(world, gpus({"gfx90a:sramecc+:xnack-"}), strict).exit_code, 1);
}

TEST(JudgeGpu, OnlySettingsWrongIsAMismatch) {
  World world;
  world.device_file("a.so", {image({"gfx90a:xnack+", "gfx942"}), image({"gfx90a:xnack+"})});
  Judgement j = judged(world, gpus({"gfx90a:sramecc+:xnack-"}));
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"gpu-feature-mismatch"});
  EXPECT_EQ(j.findings[0].level, Level::error);
  EXPECT_EQ(j.findings[0].subject, "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(j.findings[0].holds, "gfx90a:xnack+");
  EXPECT_TRUE(mentions(j.findings[0].fix, "HSA_XNACK=1"));
  EXPECT_EQ(j.verdict, Verdict::not_served);
  // The other way round nothing can be switched.
  j = judged(world, gpus({"gfx90a:sramecc+:xnack+"}));
  EXPECT_TRUE(j.findings.empty());
  // One image without any code for the processor: missing, whatever the others are.
  world.inventory.binaries[0].device->images.push_back(image({"gfx942"}));
  EXPECT_EQ(rules_of(judged(world, gpus({"gfx90a:sramecc+:xnack-"}))), std::vector<std::string>{"gpu-target-missing"});
}

TEST(JudgeGpu, GenericAndSpirvAreNotes) {
  World world;
  world.device_file("generic.so", {image({"gfx11-generic"})}).device_file("spirv.so", {image({"amdgcnspirv"})});
  world.device_file("all.so", {image({"amdgcnspirv", "gfx11-generic", "gfx1100"})});
  Judgement j = judged(world, gpus({"gfx1100"}));
  EXPECT_EQ(rules_of(j), (std::vector<std::string>{"gpu-generic-only", "gpu-runtime-compiled", "gpu-runtime-dependent",
                                                   "gpu-runtime-dependent"}));
  EXPECT_EQ(j.findings[0].level, Level::note);
  EXPECT_EQ(j.findings[0].origin.path, "generic.so");
  EXPECT_EQ(j.findings[1].origin.path, "spirv.so");
  EXPECT_EQ(j.verdict, Verdict::served);
}

TEST(JudgeGpu, LooseObjectsAreAlternatives) {
  World world;
  Binary &binary = world.file("libMIOpen.so");
  binary.device = device({});
  binary.device->loose = {object("gfx900"), object("gfx1100")};
  EXPECT_TRUE(judged(world, gpus({"gfx1100"})).findings.empty());
  EXPECT_EQ(rules_of(judged(world, gpus({"gfx1101"}))), std::vector<std::string>{"gpu-target-missing"});
  // Beside images they are one more thing that must serve.
  binary.device->images = {image({"gfx1101"})};
  Judgement j = judged(world, gpus({"gfx1101"}));
  EXPECT_EQ(rules_of(j), std::vector<std::string>{"gpu-target-partial"});
  EXPECT_TRUE(mentions(j.findings[0].message, "outside of the device images"));
}

TEST(JudgeGpu, SetsOfAPackageThatServesTheGpuOtherwiseAreWarnings) {
  World world;
  world.distribution("aiter").code_object("aiter_meta/hsa/gfx942/a.co", "gfx942", "aiter");
  for (const char *shape : {"M=1", "M=2", "M=4"})
    world.code_object("aiter/aot/" + std::string(shape) + "/kernel.hsaco", "gfx950", "aiter");
  Judgement j = judged(world, gpus({"gfx942:sramecc+:xnack-"}));
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"gpu-target-missing"});
  EXPECT_EQ(j.findings[0].level, Level::warning);
  EXPECT_EQ(j.findings[0].origin.path, "aiter/aot");
  EXPECT_EQ(j.verdict, Verdict::partly_served);
  EXPECT_EQ(j.exit_code, 0);
}

TEST(JudgeGpu, ASetIsJudgedAsAWhole) {
  World world;
  world.code_object("kern/hsa/K_gfx90a.co", "gfx90a").code_object("kern/hsa/K_gfx1100.co", "gfx1100");
  EXPECT_TRUE(judged(world, gpus({"gfx1100"})).findings.empty());
  Judgement j = judged(world, gpus({"gfx1103"}));
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"gpu-target-missing"});
  EXPECT_EQ(j.findings[0].origin.path, "kern/hsa");
  EXPECT_EQ(j.findings[0].holds, "gfx90a gfx1100");
  EXPECT_TRUE(mentions(j.findings[0].message, "no file of this folder is for gfx1103"));
}

TEST(JudgeGpu, RuntimeInternalCodeNeitherServesNorFails) {
  World world;
  Binary &binary = world.file("libhsa-runtime64.so.1");
  binary.device = device({});
  binary.device->loose = {object("gfx90a")};
  binary.device->runtime_internal = true;
  for (const char *gpu : {"gfx90a:sramecc+:xnack-", "gfx1100"})
    EXPECT_EQ(rules_of(judged(world, gpus({gpu}))), std::vector<std::string>{"no-device-code"}) << gpu;
  EXPECT_EQ(judge(world.inventory, {}, require({"gfx90a"})).exit_code, 1);
}

TEST(JudgeGpu, EqualGpusAreJudgedOnceAndHiddenOnesNot) {
  World world;
  world.device_file("a.so", {image({"gfx90a"})});
  EXPECT_EQ(judged(world, gpus({"gfx1100", "gfx1100"})).findings.size(), 1u);
  Machine machine = gpus({"gfx1100", "gfx90a:sramecc+:xnack-"});
  machine.gpus[0].visible = false;
  EXPECT_TRUE(judged(world, machine).findings.empty());
  machine.gpus[1].visible = false; // none is visible: all are meant
  EXPECT_EQ(rules_of(judged(world, machine)), (std::vector<std::string>{"gpu-target-missing", "gpu-mixed-machine"}));
}

TEST(JudgeGpu, TheOverrideIsWhatTheLoaderSees) {
  World world;
  world.device_file("a.so", {image({"gfx1030"})});
  Machine machine = gpus({"gfx1031"});
  machine.gpus[0].effective = target("gfx1030");
  machine.overrides["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0";
  Judgement j = judged(world, machine);
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"gpu-override-active"});
  EXPECT_EQ(j.findings[0].subject, "gfx1031");
  EXPECT_TRUE(mentions(j.findings[0].message, "HSA_OVERRIDE_GFX_VERSION=10.3.0"));
  EXPECT_EQ(j.verdict, Verdict::served);
  machine.gpus[0].effective = target("gfx1100"); // what is missing is missing because of it
  j = judged(world, machine);
  ASSERT_EQ(j.findings[0].rule, "gpu-target-missing");
  EXPECT_TRUE(j.findings[0].fix.starts_with("unset HSA_OVERRIDE_GFX_VERSION: the GPU is gfx1031")) << j.findings[0].fix;
}

TEST(JudgeGpu, AGpuWithoutCodeTakesItFromThoseBehindIt) {
  World world;
  world.device_file("a.so", {image({"gfx1100"}), image({"gfx1100", "gfx1036"})});
  Judgement j = judged(world, gpus({"gfx1036", "gfx1100"}));
  const Finding *mixed = find(j, "gpu-mixed-machine");
  ASSERT_NE(mixed, nullptr);
  EXPECT_EQ(mixed->subject, "gfx1036");
  EXPECT_TRUE(mentions(mixed->message, "1 device image of the file lacks"));
  EXPECT_TRUE(mentions(mixed->fix, "HIP_VISIBLE_DEVICES"));
  EXPECT_EQ(j.verdict, Verdict::partly_served);
  // Behind the one that has code it takes nothing.
  EXPECT_EQ(find(judged(world, gpus({"gfx1100", "gfx1036"})), "gpu-mixed-machine"), nullptr);
  // Neither from a GPU that has no code anyway.
  EXPECT_EQ(find(judged(world, gpus({"gfx1036", "gfx906:sramecc+:xnack-"})), "gpu-mixed-machine"), nullptr);
}

// Both outcomes of an override are counted: as what the GPU is, and as what it poses.
TEST(JudgeGpu, AnOverrideIsJudgedBothWays) {
  World world;
  world.device_file("own.so", {image({"gfx1103"})}).device_file("posed.so", {image({"gfx1100"})});
  world.device_file("both.so", {image({"gfx1100", "gfx1103"})});
  Machine machine = gpus({"gfx1103"});
  machine.gpus[0].effective = target("gfx1100");
  machine.overrides["HSA_OVERRIDE_GFX_VERSION"] = "11.0.0";
  Judgement j = judged(world, machine);
  const Finding *active = find(j, "gpu-override-active");
  ASSERT_NE(active, nullptr);
  EXPECT_TRUE(mentions(active->message, "of 3 files with device code 2 would serve gfx1103 itself, 2 serve it as gfx1100"))
      << active->message;
  const Finding *missing = find(j, "gpu-target-missing");
  ASSERT_NE(missing, nullptr);
  EXPECT_EQ(missing->origin.path, "own.so");
  EXPECT_TRUE(missing->fix.starts_with("unset HSA_OVERRIDE_GFX_VERSION")) << missing->fix;
}

TEST(JudgeGpu, ForcedSpirvPassesOverNativeCode) {
  World world;
  world.device_file("a.so", {image({"gfx1100", "amdgcnspirv"}), image({"gfx1100"})});
  Machine machine = gpus({"gfx1100"});
  for (const char *off : {"", "0"}) {
    machine.overrides["HIP_FORCE_SPIRV_CODEOBJECT"] = off;
    EXPECT_EQ(find(judged(world, machine), "gpu-override-active"), nullptr) << off;
  }
  machine.overrides["HIP_FORCE_SPIRV_CODEOBJECT"] = "1";
  Judgement j = judged(world, machine);
  const Finding *forced = find(j, "gpu-override-active");
  ASSERT_NE(forced, nullptr);
  EXPECT_EQ(forced->holds, "SPIR-V in 1 of 2 device images");
}

// HIP adds a naked image for every GPU without a look at its target, so no GPU takes it from another; ROCr refuses it where it
// is not for the GPU.
TEST(JudgeGpu, NakedImagesStopNoOtherGpu) {
  World world;
  Binary &file = world.file("a.so");
  file.device = standalone("gfx1100");
  file.device->standalone = false;
  Judgement j = judged(world, gpus({"gfx1036", "gfx1100"}));
  EXPECT_EQ(find(j, "gpu-mixed-machine"), nullptr);
  const Finding *missing = find(j, "gpu-target-missing");
  ASSERT_NE(missing, nullptr);
  EXPECT_EQ(missing->subject, "gfx1036");
}

TEST(JudgeGpu, NoLocalGpuIsNotJudged) {
  World world;
  world.distribution("kern").device_file("a.so", {image({"gfx90a"})}, "kern");
  Judgement j = judged(world, gpus({}));
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"no-local-gpu"});
  EXPECT_EQ(j.findings[0].level, Level::note);
  EXPECT_TRUE(mentions(j.findings[0].fix, "--gpu"));
  EXPECT_EQ(j.verdict, Verdict::not_judged);
  EXPECT_EQ(j.distributions, std::vector<Verdict>{Verdict::not_judged});
  EXPECT_EQ(j.exit_code, 0);
  // Also when the CPU is fine.
  Machine machine = cpu("x86-64-v3", level_set(3));
  machine.judge_gpus = true;
  EXPECT_EQ(judged(world, machine).verdict, Verdict::not_judged);
}

TEST(JudgeGpu, NoDeviceCodeIsSaidOnceForAnInput) {
  World world;
  world.distribution("kern").host_file("a.so", host({}), "kern").host_file("b.so", host({}), "kern");
  EXPECT_EQ(rules_of(judged(world, gpus({"gfx1100"}))), std::vector<std::string>{"no-device-code"});
  EXPECT_EQ(judged(world, gpus({"gfx1100"})).exit_code, 0);
  EXPECT_TRUE(judged(world, cpu("x86-64-v1", level_set(1))).findings.empty()); // no GPU is judged: nothing to say
  world.inventory.binaries[0].device = DeviceCode();
  world.inventory.binaries[0].device->external.emplace();
  EXPECT_EQ(rules_of(judged(world, gpus({"gfx1100"}))), std::vector<std::string>{"gpu-code-external"});
}

TEST(JudgeGpu, MislabelledObjects) {
  auto rules_for = [](const std::string &claim, const char *actual, uint8_t version = 5) {
    World world;
    world.device_file("a.so", {image({actual})});
    CodeObject &o = world.inventory.binaries[0].device->images[0].code_objects[0];
    o.claimed = "hipv4-amdgcn-amd-amdhsa--" + claim;
    o.object_version = version;
    Judgement j = judge(world.inventory, {}, {});
    return j.findings.empty() ? "right" : j.findings[0].level == Level::error ? "wrong" : "note";
  };
  EXPECT_STREQ(rules_for("gfx90a", "gfx90a"), "right");
  EXPECT_STREQ(rules_for("gfx90a:xnack+", "gfx90a:xnack+"), "right");
  EXPECT_STREQ(rules_for("gfx90a", "gfx942"), "wrong");
  EXPECT_STREQ(rules_for("gfx90a:xnack-", "gfx90a:xnack+"), "wrong");
  EXPECT_STREQ(rules_for("gfx90a", "gfx90a:xnack+"), "wrong");    // refused where xnack is off
  EXPECT_STREQ(rules_for("gfx90a:xnack-", "gfx90a"), "note");     // taken everywhere
  EXPECT_STREQ(rules_for("gfx1100", "gfx11-generic", 6), "note"); // the generic covers it
  EXPECT_STREQ(rules_for("gfx11-generic", "gfx1100", 6), "wrong");
  EXPECT_STREQ(rules_for("gfx906", "gfx906:sramecc-:xnack-", 3), "right"); // version 3 has no "any"
  EXPECT_STREQ(rules_for("gfx906", "gfx908:sramecc-:xnack-", 3), "wrong");
}

} // namespace
} // namespace isa_audit::test
