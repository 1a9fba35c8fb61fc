#include <gtest/gtest.h>

#include "isa-audit/verdict/external_code.h"
#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

// A base wheel whose library has two translation units, and device wheels that install beside it.
class Split {
public:
  World world{"torch-2.10.whl", "wheel"};

  Split() {
    world.distribution("torch", "2.10");
    Binary &library = world.file("torch/lib/libtorch_hip.so", "torch");
    library.device.emplace().external = {"torch/lib/libtorch_hip.so", {"../.kpack/torch_@GFXARCH@.kpack"}, {0, 1}};
    world.inventory.distributions.back().requires_dist = {"amd-torch-device-gfx942==2.10; extra == 'device-gfx942'",
                                                          "amd-torch-device-gfx110x==2.10; extra == 'device-gfx110x'"};
  }

  Split &archive(const std::string &target, uint32_t units = 2, const std::string &file_target = "") {
    std::string name = "amd-torch-device-" + target;
    world.input(name + "-2.10.whl", "wheel").distribution(name, "2.10");
    Binary &file = world.file("torch/.kpack/torch_" + (file_target.empty() ? target : file_target) + ".kpack", name);
    file.format = "kpack";
    DeviceCode &code = file.device.emplace();
    code.standalone = true;
    for (uint32_t i = 0; i < units; ++i) {
      DeviceImage one = image({target});
      one.place = "torch/lib/libtorch_hip.so#" + std::to_string(i);
      one.carrier = Carrier::kpack;
      code.images.push_back(std::move(one));
    }
    return *this;
  }

  std::vector<Finding> findings(const Machine &machine, const Policy &policy = {}) const {
    return judge(world.inventory, {machine}, policy).findings;
  }
};

TEST(JudgeExternal, AnArchiveOfAnotherWheelServes) {
  Split split;
  split.archive("gfx942");
  auto found = split.findings(gpus({"gfx942:sramecc+:xnack-"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "gpu-code-external");
  EXPECT_EQ(found[0].level, Level::note);
  EXPECT_EQ(found[0].holds, "gfx942");
  EXPECT_NE(found[0].message.find("torch/.kpack/torch_gfx942.kpack (of amd-torch-device-gfx942)"), std::string::npos);
  EXPECT_EQ(judge(split.world.inventory, {gpus({"gfx942:sramecc+:xnack-"})}, {}).verdict, Verdict::served);
}

TEST(JudgeExternal, AnAbsentArchiveNamesTheExtra) {
  Split split;
  split.archive("gfx942");
  auto found = split.findings(gpus({"gfx1100"}));
  ASSERT_EQ(found.size(), 1u) << "the archives for other GPUs are no findings of their own";
  EXPECT_EQ(found[0].rule, "gpu-code-external");
  EXPECT_EQ(found[0].level, Level::error);
  EXPECT_EQ(found[0].subject, "gfx1100");
  EXPECT_EQ(found[0].holds, "gfx942");
  EXPECT_NE(found[0].message.find("torch/.kpack/torch_gfx1100.kpack"), std::string::npos) << found[0].message;
  EXPECT_NE(found[0].fix.find("pip install \"torch[device-gfx110x]\", which brings amd-torch-device-gfx110x"),
            std::string::npos)
      << found[0].fix;
  found = split.findings(gpus({"gfx1201"}));
  EXPECT_NE(found.at(0).fix.find("torch[device-gfx1201]"), std::string::npos) << "no extra in the metadata";
}

TEST(JudgeExternal, AnArchiveWithoutTheLibrary) {
  Split split;
  split.archive("gfx942", 1);
  auto found = split.findings(gpus({"gfx942:sramecc+:xnack-"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::error);
  EXPECT_NE(found[0].message.find("lacks 1 of 2 device images"), std::string::npos) << found[0].message;
}

TEST(JudgeExternal, SpecificTargetsComeFirstAndGenericsLast) {
  Split split;
  split.archive("gfx942:xnack+", 2, "gfx942:xnack+");
  EXPECT_EQ(split.findings(gpus({"gfx942:sramecc+:xnack-"})).at(0).level, Level::error);
  EXPECT_EQ(split.findings(gpus({"gfx942:sramecc+:xnack+"})).at(0).level, Level::note);
  Split generic;
  generic.archive("gfx11-generic");
  auto found = generic.findings(gpus({"gfx1103"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].message.find("generic"), std::string::npos);
}

TEST(JudgeExternal, RequireCountsArchivesOfTheSet) {
  Split split;
  Policy policy = require({"gfx942"});
  Judgement j = judge(split.world.inventory, {}, policy);
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"required-target-missing"});
  EXPECT_EQ(j.exit_code, 1);
  split.archive("gfx942");
  j = judge(split.world.inventory, {}, policy);
  EXPECT_TRUE(j.findings.empty()) << j.findings[0].message;
  EXPECT_EQ(j.exit_code, 0);
}

TEST(JudgeExternal, DifferentGpusShareOneObject) {
  Split split;
  split.archive("gfx942").archive("gfx1100");
  auto found = split.findings(gpus({"gfx942:sramecc+:xnack-", "gfx1100"}));
  EXPECT_EQ(std::ranges::count(found, "gpu-mixed-machine", &Finding::rule), 1);
}

// ROCM_KPACK_PATH and its kin, as rocm-kpack's loader reads them.
TEST(JudgeExternal, VariablesOfTheMachine) {
  auto level = [](const Split &split, const char *name, const char *value) {
    Machine machine = gpus({"gfx942:sramecc+:xnack-"});
    machine.overrides[name] = value;
    return split.findings(machine).at(0);
  };
  Split here;
  here.archive("gfx942");
  EXPECT_EQ(level(here, "ROCM_KPACK_PATH", "/opt/x/torch/.kpack/torch_gfx942.kpack").level, Level::note);
  EXPECT_EQ(level(here, "ROCM_KPACK_PATH", "/opt/x/torch/.kpack/torch_@GFXARCH@.kpack").level, Level::error)
      << "paths of the environment are taken as they are";
  EXPECT_EQ(level(here, "ROCM_KPACK_PATH", "/nowhere/a.kpack:/v/torch/.kpack/torch_gfx942.kpack").level, Level::note);
  Finding replaced = level(here, "ROCM_KPACK_PATH", "/nowhere/torch_gfx942.kpack");
  EXPECT_EQ(replaced.level, Level::error) << "the library's own paths count no more";
  EXPECT_NE(replaced.message.find("ROCM_KPACK_PATH is set"), std::string::npos) << replaced.message;
  EXPECT_TRUE(replaced.fix.starts_with("unset ROCM_KPACK_PATH")) << replaced.fix;
  EXPECT_EQ(level(here, "ROCM_KPACK_PATH_PREFIX", "/nowhere/torch_gfx942.kpack").level, Level::note);
  EXPECT_EQ(level(here, "ROCM_KPACK_PATH", "").level, Level::note) << "empty is not set";
  EXPECT_EQ(level(here, "ROCM_KPACK_DISABLE", "0").level, Level::note);
  Finding disabled = level(here, "ROCM_KPACK_DISABLE", "1");
  EXPECT_EQ(disabled.level, Level::error);
  EXPECT_NE(disabled.message.find("ROCM_KPACK_DISABLE"), std::string::npos);
  // An archive that only the prefix leads to.
  Split elsewhere;
  elsewhere.archive("gfx942");
  elsewhere.world.inventory.binaries.back().origin.path = "device/torch_gfx942.kpack";
  EXPECT_EQ(elsewhere.findings(gpus({"gfx942:sramecc+:xnack-"})).at(0).level, Level::error);
  EXPECT_EQ(level(elsewhere, "ROCM_KPACK_PATH_PREFIX", "/x/device/torch_gfx942.kpack").level, Level::note);
  Machine both = gpus({"gfx942:sramecc+:xnack-"});
  both.overrides = {{"ROCM_KPACK_PATH", "/nowhere/a.kpack"}, {"ROCM_KPACK_PATH_PREFIX", "/x/device/torch_gfx942.kpack"}};
  EXPECT_EQ(elsewhere.findings(both).at(0).level, Level::error) << "the override leaves no prefix";
}

TEST(JudgeExternal, PathsAreThoseOnceInstalled) {
  Split split;
  split.archive("gfx942");
  split.world.inventory.binaries[0].origin.path = "dist/torch.whl!torch-2.10.data/purelib/torch/lib/libtorch_hip.so";
  ExternalIndex index(split.world.inventory);
  EXPECT_EQ(index.found_targets(split.world.inventory.binaries[0], "../.kpack/torch_@GFXARCH@.kpack"),
            std::vector<std::string>{"gfx942"});
  EXPECT_TRUE(index.found_targets(split.world.inventory.binaries[0], "../../.kpack/torch_@GFXARCH@.kpack").empty());
}

} // namespace
} // namespace isa_audit::test
