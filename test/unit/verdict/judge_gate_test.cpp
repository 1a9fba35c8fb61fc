#include <algorithm>

#include <gtest/gtest.h>

#include "isa-audit/verdict/device_units.h"
#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

TEST(JudgeGate, AnInputThatHoldsNothingIsNoPass) {
  Policy policy;
  policy.max_cpu = make_cpu("x86-64-v3", level_set(3));
  World world;
  world.host_file("a.so", host({Feature::avx2}));
  EXPECT_EQ(judge(world.inventory, {}, policy).exit_code, 0);
  world.input("text", "directory");
  EXPECT_EQ(judge(world.inventory, {}, policy).exit_code, 2);
  EXPECT_EQ(judge(world.inventory, {}, {}).exit_code, 0);
  world.distribution("pure"); // a wheel without code passes
  EXPECT_EQ(judge(world.inventory, {}, policy).exit_code, 0);
}

bool mentions(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

// Whether --require `target` holds for one file of one image with these targets.
bool holds(const std::vector<std::string> &targets, const char *required) {
  World world;
  world.device_file("a.so", {image(targets)});
  Judgement j = judge(world.inventory, {}, require({required}));
  bool missing = std::ranges::any_of(j.findings, [](const Finding &f) { return f.rule == "required-target-missing"; });
  EXPECT_EQ(j.exit_code, missing ? 1 : 0);
  EXPECT_EQ(j.verdict, missing ? Verdict::not_served : Verdict::served);
  return !missing;
}

TEST(Require, EveryImageMustMatch) {
  World world;
  world.device_file("a.so", {image({"gfx942"}), image({"gfx942", "gfx90a"})});
  EXPECT_EQ(judge(world.inventory, {}, require({"gfx942"})).exit_code, 0);
  Judgement j = judge(world.inventory, {}, require({"gfx90a"}));
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"required-target-missing"});
  EXPECT_EQ(j.findings[0].machine, -1);
  EXPECT_EQ(j.findings[0].holds, "gfx90a in 1 of 2 device images");
  EXPECT_EQ(j.exit_code, 1);
}

TEST(Require, OpenSettingsMustAllBeServed) {
  EXPECT_TRUE(holds({"gfx90a"}, "gfx90a"));
  EXPECT_TRUE(holds({"gfx90a:xnack+", "gfx90a:xnack-"}, "gfx90a"));
  EXPECT_FALSE(holds({"gfx90a:xnack-"}, "gfx90a"));
  EXPECT_TRUE(holds({"gfx90a:xnack-"}, "gfx90a:xnack-"));
  EXPECT_FALSE(holds({"gfx90a:xnack-"}, "gfx90a:xnack+"));
  EXPECT_FALSE(holds({"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack+"}, "gfx90a"));
  EXPECT_TRUE(holds({"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack+"}, "gfx90a:sramecc+"));
  World world;
  world.device_file("a.so", {image({"gfx90a:xnack-"})});
  Judgement j = judge(world.inventory, {}, require({"gfx90a"}));
  EXPECT_TRUE(mentions(j.findings.at(0).message, "gfx90a:sramecc-:xnack- gfx90a:sramecc+:xnack- only"))
      << j.findings[0].message;
}

TEST(Require, GenericCountsWithANoteSpirvDoesNot) {
  EXPECT_TRUE(holds({"gfx11-generic"}, "gfx1103"));
  EXPECT_FALSE(holds({"gfx11-generic"}, "gfx1200"));
  EXPECT_FALSE(holds({"amdgcnspirv"}, "gfx1100"));
  EXPECT_TRUE(holds({"amdgcnspirv"}, "amdgcnspirv"));
  EXPECT_FALSE(holds({"gfx1100"}, "amdgcnspirv"));
  World world;
  world.device_file("a.so", {image({"gfx11-generic"})});
  EXPECT_EQ(rules_of(judge(world.inventory, {}, require({"gfx1100"}))), std::vector<std::string>{"gpu-generic-only"});
}

TEST(Require, AFamilyIsItsProcessors) {
  EXPECT_TRUE(holds({"gfx12-generic"}, "gfx12-generic"));
  EXPECT_TRUE(holds({"gfx1200", "gfx1201"}, "gfx12-generic"));
  EXPECT_FALSE(holds({"gfx1200"}, "gfx12-generic"));
}

TEST(Require, ASetNeedsOneFileForEachTarget) {
  World world;
  world.code_object("hsa/gfx942/a.co", "gfx942").code_object("hsa/gfx950/a.co", "gfx950");
  EXPECT_EQ(judge(world.inventory, {}, require({"gfx942", "gfx950"})).exit_code, 0);
  EXPECT_EQ(judge(world.inventory, {}, require({"gfx942", "gfx90a"})).exit_code, 1);
}

TEST(Require, EachInputNeedsDeviceCode) {
  World world;
  world.device_file("a.so", {image({"gfx942"})});
  world.input("kern_cpu-1.2-py3-none-any.whl", "wheel").host_file("b.so", host({}));
  Judgement j = judge(world.inventory, {}, require({"gfx942"}));
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"no-device-code"});
  EXPECT_EQ(j.findings[0].level, Level::error);
  EXPECT_EQ(j.findings[0].origin.input, 1u);
  EXPECT_EQ(j.findings[0].subject, "gfx942");
  EXPECT_EQ(j.verdict, Verdict::partly_served);
  EXPECT_EQ(j.exit_code, 1);
  Policy relaxed = require({"gfx942"});
  relaxed.allowed = {"no-device-code"};
  j = judge(world.inventory, {}, relaxed);
  EXPECT_TRUE(j.findings.empty());
  EXPECT_EQ(j.verdict, Verdict::served);
  EXPECT_EQ(j.exit_code, 0);
}

TEST(Require, AnInputThatCannotBeAuditedGetsNoAnswer) {
  World damaged;
  damaged.problem(Level::error, "kern.whl", "is no zip archive");
  World empty("notes", "directory"), nested; // the last with an archive that was not opened
  nested.problem(Level::warning, "inner.zip", "archive nested deeper than --archive-depth: not looked into");
  World torn; // has a file without device code, but not all could be read
  torn.distribution("kern").host_file("a.so", host({}), "kern").problem(Level::error, "b.so", "is cut short");
  for (const World &world : {damaged, empty, nested, torn}) {
    Judgement j = judge(world.inventory, {}, require({"gfx942"}));
    EXPECT_FALSE(std::ranges::any_of(j.findings, [](const Finding &f) { return f.rule == "no-device-code"; }));
    EXPECT_EQ(j.exit_code, 2);
  }
  World pure; // definite: it was read and has none
  pure.distribution("pure");
  EXPECT_EQ(judge(pure.inventory, {}, require({"gfx942"})).exit_code, 1);
  World mixed; // a good input does not answer for one that holds nothing
  mixed.device_file("a.so", {image({"gfx942"})}).input("notes", "directory");
  EXPECT_EQ(judge(mixed.inventory, {}, require({"gfx942"})).exit_code, 2);
  mixed.device_file("b.so", {image({"gfx90a"})});
  EXPECT_EQ(judge(mixed.inventory, {}, require({"gfx942"})).exit_code, 1);
}

TEST(MaxCpu, GuardedCodeNeverCounts) {
  World world;
  HostCode code = host({Feature::avx2});
  code.guards_analysed = true;
  code.guarded = {Feature::avx512f};
  world.host_file("a.so", code);
  Policy policy;
  policy.max_cpu = make_cpu("x86-64-v3", level_set(3));
  EXPECT_EQ(judge(world.inventory, {}, policy).exit_code, 0);
  policy.max_cpu = make_cpu("x86-64-v2", level_set(2));
  Judgement j = judge(world.inventory, {}, policy);
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"cpu-level-exceeded"});
  EXPECT_EQ(j.findings[0].subject, "avx2");
  EXPECT_EQ(j.findings[0].holds, "avx2 in dot_f32");
  EXPECT_EQ(j.findings[0].strength, "unguarded");
  EXPECT_FALSE(mentions(j.findings[0].message, "not told apart"));
  EXPECT_EQ(j.exit_code, 1);
}

TEST(MaxCpu, SaysWhenGuardsAreUnknown) {
  World world;
  world.host_file("a.so", host({Feature::avx512f, Feature::avx512vl}));
  Policy policy;
  policy.max_cpu = make_cpu("x86-64-v3", level_set(3));
  Judgement j = judge(world.inventory, {}, policy);
  EXPECT_EQ(j.findings.at(0).subject, "avx512f,avx512vl");
  EXPECT_TRUE(mentions(j.findings[0].message, "not told apart"));
}

// All lists of targets of a small world × all requirements: the gate holds exactly when every GPU that the requirement stands
// for finds an entry whose settings do not contradict it.
TEST(Require, AgreesWithItsDefinitionInASmallWorld) {
  const std::vector<std::string> universe = {"gfx90a", "gfx90a:xnack+", "gfx90a:xnack-", "gfx90a:sramecc+",
                                             "gfx942", "gfx11-generic", "gfx1100"};
  const std::vector<const char *> required = {"gfx90a", "gfx90a:xnack+", "gfx90a:sramecc+:xnack-",
                                              "gfx942", "gfx1100",       "gfx1101"};
  for (unsigned mask = 1; mask < 1u << universe.size(); ++mask) {
    std::vector<std::string> held;
    for (size_t i = 0; i < universe.size(); ++i)
      if (mask >> i & 1) held.push_back(universe[i]);
    auto entry_for = [&](const std::string &gpu) {
      return std::ranges::any_of(held, [&](const std::string &h) {
        if (h == "gfx11-generic") return gpu.starts_with("gfx11");
        if (h.substr(0, h.find(':')) != gpu.substr(0, gpu.find(':'))) return false;
        return !h.ends_with(":xnack+") ? (h.ends_with(":xnack-")     ? mentions(gpu, ":xnack-")
                                          : h.ends_with(":sramecc+") ? mentions(gpu, ":sramecc+")
                                                                     : true)
                                       : mentions(gpu, ":xnack+");
      });
    };
    for (const char *text : required) {
      bool expected = true;
      for (const TargetId &gpu : gpus_of(target(text))) expected &= entry_for(gpu.text());
      EXPECT_EQ(holds(held, text), expected) << text << " in world " << mask;
    }
  }
}

} // namespace
} // namespace isa_audit::test
