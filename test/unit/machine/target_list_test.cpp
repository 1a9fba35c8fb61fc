#include "isa-audit/machine/detect.h"

#include "gtest/gtest.h"

namespace isa_audit {
namespace {

std::string parsed(std::string_view text) {
  llvm::Expected<std::vector<TargetId>> targets = parse_target_list(text);
  if (!targets) return "error: " + llvm::toString(targets.takeError());
  std::string out;
  for (const TargetId &target : *targets) {
    if (!out.empty()) out += ' ';
    out += target.text();
  }
  return out;
}

TEST(TargetList, SeparatorsOfBuildVariables) {
  EXPECT_EQ(parsed("gfx942"), "gfx942");
  EXPECT_EQ(parsed("gfx942,gfx90a"), "gfx942 gfx90a");
  EXPECT_EQ(parsed("gfx942;gfx90a;gfx1100"), "gfx942 gfx90a gfx1100");
  EXPECT_EQ(parsed(" gfx942 ,\tgfx90a\n"), "gfx942 gfx90a");
  EXPECT_EQ(parsed(",gfx942,,gfx90a;"), "gfx942 gfx90a");
}

TEST(TargetList, KeepsPinnedSettingsAndDropsRepeats) {
  EXPECT_EQ(parsed("gfx90a:sramecc+:xnack-,gfx90a:xnack+"), "gfx90a:sramecc+:xnack- gfx90a:xnack+");
  EXPECT_EQ(parsed("gfx942,gfx942"), "gfx942");
  EXPECT_EQ(parsed("GFX1100"), "gfx1100");
  EXPECT_EQ(parsed("gfx9-4-generic"), "gfx9-4-generic");
}

TEST(TargetList, ErrorsNameTheNearestProcessor) {
  EXPECT_NE(parsed("gfx942,gfx11000").find("gfx1100"), std::string::npos);
  EXPECT_EQ(parsed("").rfind("error", 0), 0u);
  EXPECT_EQ(parsed(" ,; ").rfind("error", 0), 0u);
  EXPECT_EQ(parsed("gfx1100:xnack+").rfind("error", 0), 0u);
}

TEST(TargetList, ErrorsKnowMarketingNames) {
  EXPECT_NE(parsed("mi300x").find("a GPU of that name is gfx942"), std::string::npos) << parsed("mi300x");
  EXPECT_NE(parsed("RX 7900 XTX").find("a GPU of that name is gfx1100"), std::string::npos) << parsed("RX 7900 XTX");
  EXPECT_NE(parsed("gfx942,MI210").find("'MI210' is not a gfx processor; a GPU of that name is gfx90a"), std::string::npos);
  EXPECT_EQ(parsed("radeon").find("that name"), std::string::npos); // of too many
  EXPECT_EQ(parsed("xtx").find("that name"), std::string::npos);
}

TEST(MakeMachine, OtherToolsWordsForAuto) {
  for (const char *word : {"native", "Host", "local"}) {
    for (const MachineRequest &request : {MachineRequest{word, "none", ""}, MachineRequest{"none", word, ""}}) {
      llvm::Expected<Machine> machine = make_machine(request, {});
      ASSERT_FALSE(machine);
      EXPECT_NE(llvm::toString(machine.takeError()).find(" auto"), std::string::npos);
    }
  }
}

TEST(MakeMachine, ATreeWithoutACpuSaysThatOneWasAskedFor) {
  llvm::Expected<Machine> none = make_machine({"none", "none", ""}, {});
  ASSERT_TRUE(bool(none));
  EXPECT_FALSE(none->judge_cpu);
  llvm::Expected<Machine> given = make_machine({"none", "haswell", ""}, {});
  ASSERT_TRUE(bool(given));
  EXPECT_TRUE(given->judge_cpu);
  llvm::Expected<Machine> tree = make_machine({"none", "auto", ISA_AUDIT_TESTDATA "/golden"}, {});
  ASSERT_TRUE(bool(tree));
  EXPECT_TRUE(tree->judge_cpu);
  EXPECT_FALSE(tree->cpu);
}

Gpu assumed(std::string_view text) {
  llvm::Expected<TargetId> target = parse_target_id(text);
  EXPECT_TRUE(bool(target)) << text;
  return target ? assume_settings(*target) : Gpu();
}

TEST(AssumeSettings, FillsOnlyWhatTheUserLeftOpen) {
  Gpu mi300 = assumed("gfx942");
  EXPECT_EQ(mi300.target.text(), "gfx942:sramecc+:xnack-");
  EXPECT_EQ(mi300.assumed, (std::vector<std::string>{"sramecc", "xnack"}));
  Gpu pinned = assumed("gfx90a:sramecc-:xnack+");
  EXPECT_EQ(pinned.target.text(), "gfx90a:sramecc-:xnack+");
  EXPECT_TRUE(pinned.assumed.empty());
  EXPECT_EQ(assumed("gfx1100").target.text(), "gfx1100");
  EXPECT_TRUE(assumed("gfx1100").assumed.empty());
  EXPECT_EQ(assumed("gfx90c").target.text(), "gfx90c:xnack-");
}

TEST(MakeMachine, GivenAndNone) {
  llvm::Expected<Machine> machine = make_machine({"gfx942,gfx1100", "x86-64-v3", ""}, {});
  ASSERT_TRUE(bool(machine));
  EXPECT_EQ(machine->how, How::given);
  EXPECT_TRUE(machine->judge_gpus);
  EXPECT_EQ(machine->gpus.size(), 2u);
  EXPECT_EQ(machine->cpu->name, "x86-64-v3");
  llvm::Expected<Machine> nothing = make_machine({"none", "none", ""}, {});
  ASSERT_TRUE(bool(nothing));
  EXPECT_FALSE(nothing->judge_gpus);
  EXPECT_FALSE(nothing->cpu.has_value());
}

TEST(MakeMachine, AGpuIsNoGenericAndNoSpirv) {
  for (const char *list : {"gfx11-generic", "gfx9-4-generic", "amdgcnspirv", "sm_80", "all"}) {
    llvm::Expected<Machine> machine = make_machine({list, "none", ""}, {});
    EXPECT_FALSE(bool(machine)) << list;
    llvm::consumeError(machine.takeError());
  }
}

} // namespace
} // namespace isa_audit
