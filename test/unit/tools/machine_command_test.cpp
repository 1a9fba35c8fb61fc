#include "machine_command.h"

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"

namespace isa_audit {
namespace {

Machine two_gpus() {
  Machine machine = llvm::cantFail(make_machine({"gfx942", "sandybridge", ""}, {}));
  machine.how = How::detected;
  Gpu &gpu = machine.gpus[0];
  gpu.name = "Instinct MI300X";
  gpu.found = "KFD node 1";
  gpu.pci = "1002:74a1 at 0000:05:00.0";
  gpu.assumed = {"xnack"};
  Gpu other = gpu;
  other.found = "KFD node 2";
  machine.gpus.push_back(other);
  Gpu hidden = assume_settings(llvm::cantFail(parse_target_id("gfx1036")));
  hidden.visible = false;
  hidden.effective = llvm::cantFail(parse_target_id("gfx1030"));
  hidden.found = "KFD node 3";
  hidden.notes = {"no access to /dev/dri/renderD128 (Permission denied): it belongs to group render (gid 993), mode 660"};
  machine.gpus.push_back(hidden);
  machine.cpu->model = "Intel(R) Core(TM) i5-2400";
  machine.cpu->notes.clear();
  machine.cpu->hypervisor = "KVM";
  machine.rocm = {"7.0.2"};
  machine.driver = "6.14.0";
  machine.overrides = {{"HSA_OVERRIDE_GFX_VERSION_3", "10.3.0"}};
  machine.notes = {"a note\x1b[31m with control characters"};
  return machine;
}

TEST(MachineText, AtEightyColumns) {
  EXPECT_EQ(machine_text(two_gpus(), 80),
            R"(gpu 0-1  gfx942:sramecc+:xnack-  Instinct MI300X  (2)
         found         KFD node 1, 1002:74a1 at 0000:05:00.0 to KFD node 2
         assumed       xnack
         visible       yes
gpu -    gfx1036
         found         KFD node 3
         override      physical gfx1036, the runtime takes it for gfx1030
         visible       no
         note          no access to /dev/dri/renderD128 (Permission denied): it
                       belongs to group render (gid 993), mode 660
cpu      sandybridge  Intel(R) Core(TM) i5-2400
         found         --cpu
         level         x86-64-v2
         above v2      avx pclmul rdtscp xsave xsaveopt
         lacks for v3  avx2 bmi bmi2 f16c fma lzcnt movbe
         hypervisor    KVM
rocm     7.0.2
amdgpu   6.14.0
set      HSA_OVERRIDE_GFX_VERSION_3=10.3.0
note     a note\x1b[31m with control characters
)");
}

TEST(MachineText, NoLineIsLongerThanTheWidth) {
  for (size_t width : {60u, 80u, 120u}) {
    std::string text = machine_text(two_gpus(), width);
    for (size_t at = 0; at < text.size();) {
      size_t end = text.find('\n', at);
      ASSERT_NE(end, std::string::npos);
      EXPECT_LE(end - at, width) << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST(MachineText, APipeGetsNoWrappedLines) {
  std::string text = machine_text(two_gpus(), 0);
  EXPECT_NE(text.find("(Permission denied): it belongs to group render (gid 993), mode 660\n"), std::string::npos);
}

TEST(MachineText, SaysWhatWasNotAskedFor) {
  EXPECT_NE(machine_text(llvm::cantFail(make_machine({"none", "none", ""}, {})), 80).find("not asked for"), std::string::npos);
  Machine empty;
  empty.judge_gpus = true;
  EXPECT_NE(machine_text(empty, 80).find("none found"), std::string::npos);
}

TEST(MachineProfile, IsTheReportsMachineWithASchema) {
  nlohmann::json profile = nlohmann::json::parse(machine_profile(two_gpus()));
  EXPECT_EQ(profile["schema"], "isa-audit-machine/1");
  EXPECT_EQ(profile["how"], "detected");
  EXPECT_EQ(profile["gpus"][0]["target"], "gfx942:sramecc+:xnack-");
  EXPECT_EQ(profile["gpus"][0]["assumed"][0], "xnack");
  EXPECT_EQ(profile["gpus"][2]["effective_target"], "gfx1030");
  EXPECT_EQ(profile["gpus"][2]["visible"], false);
  EXPECT_EQ(profile["cpu"]["level"], "x86-64-v2");
  EXPECT_EQ(profile["environment"]["overrides"]["HSA_OVERRIDE_GFX_VERSION_3"], "10.3.0");
}

} // namespace
} // namespace isa_audit
