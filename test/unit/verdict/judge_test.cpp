// What holds for judge() as a whole: policy, exit codes, order, monotony.
#include "isa-audit/verdict/judge.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

TEST(Judge, PolicyChangesLevels) {
  World world;
  world.device_file("a.so", {image({"gfx90a"}), image({"gfx1100"})});
  Machine machine = gpus({"gfx1100"});
  EXPECT_EQ(judge(world.inventory, {machine}, {}).exit_code, 0);
  Policy deny;
  deny.levels["gpu-target-partial"] = Level::error;
  EXPECT_EQ(judge(world.inventory, {machine}, deny).exit_code, 1);
  deny.fail_on = FailOn::never;
  EXPECT_EQ(judge(world.inventory, {machine}, deny).exit_code, 0);
  Policy allow;
  allow.allowed = {"gpu-target-partial"};
  Judgement j = judge(world.inventory, {machine}, allow);
  EXPECT_TRUE(j.findings.empty());
  ASSERT_EQ(j.allowed.size(), 1u);
  EXPECT_EQ(j.allowed[0].rule, "gpu-target-partial");
  EXPECT_EQ(j.verdict, Verdict::partly_served); // what the file lacks it lacks
  EXPECT_EQ(j.exit_code, 0);
}

TEST(Judge, UnreadableInputIsTwoUnlessSomethingIsDefinite) {
  World world;
  world.device_file("a.so", {image({"gfx1100"})}).problem(Level::error, "b.so", "is cut short");
  Judgement j = judge(world.inventory, {gpus({"gfx1100"})}, {});
  EXPECT_EQ(rules_of(j), std::vector<std::string>{"input-incomplete"});
  EXPECT_EQ(j.findings[0].level, Level::warning);
  EXPECT_EQ(j.verdict, Verdict::incomplete);
  EXPECT_EQ(j.exit_code, 2);
  Policy policy;
  policy.fail_on = FailOn::warning;
  EXPECT_EQ(judge(world.inventory, {gpus({"gfx1100"})}, policy).exit_code, 2);
  policy.fail_on = FailOn::never;
  EXPECT_EQ(judge(world.inventory, {gpus({"gfx1100"})}, policy).exit_code, 2);
  policy = {};
  policy.levels["input-incomplete"] = Level::error;
  EXPECT_EQ(judge(world.inventory, {gpus({"gfx1100"})}, policy).exit_code, 1);
  j = judge(world.inventory, {gpus({"gfx1101"})}, {});
  EXPECT_EQ(j.exit_code, 1);
  EXPECT_EQ(j.verdict, Verdict::not_served);
}

TEST(Judge, AnInputOfWhichNothingCouldBeReadIsAnError) {
  World world;
  world.problem(Level::error, "kern.whl", "is no zip archive");
  Judgement j = judge(world.inventory, {gpus({"gfx1100"})}, {});
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"input-incomplete"}); // and not: no device code
  EXPECT_EQ(j.findings[0].level, Level::error);
  EXPECT_EQ(j.exit_code, 2);
  EXPECT_EQ(j.verdict, Verdict::incomplete);
}

TEST(Judge, WarningsOfReadersDoNotMakeItIncomplete) {
  World world;
  world.device_file("a.so", {image({"gfx1100"})}).problem(Level::warning, "a.so", "has a gap");
  Judgement j = judge(world.inventory, {gpus({"gfx1100"})}, {});
  EXPECT_TRUE(j.findings.empty());
  EXPECT_EQ(j.verdict, Verdict::served);
  EXPECT_EQ(j.exit_code, 0);
}

TEST(Judge, ProblemsBelongToTheDistributionOfTheFile) {
  World world("env", "directory");
  world.distribution("a").distribution("b");
  world.device_file("a/a.so", {image({"gfx1100"})}, "a").device_file("b/b.so", {image({"gfx1100"})}, "b");
  world.problem(Level::error, "b/b.so", "is cut short");
  Judgement j = judge(world.inventory, {gpus({"gfx1100"})}, {});
  EXPECT_EQ(j.distributions, (std::vector<Verdict>{Verdict::served, Verdict::incomplete}));
}

TEST(Judge, NothingToAuditIsTwo) {
  World world("empty", "directory");
  EXPECT_EQ(judge(world.inventory, {gpus({})}, {}).exit_code, 2);
  EXPECT_EQ(judge(world.inventory, {gpus({})}, {}).verdict, Verdict::not_judged);
  world.distribution("pure-python"); // a definite answer: nothing in it depends on a GPU or CPU
  EXPECT_EQ(judge(world.inventory, {gpus({})}, {}).exit_code, 0);
}

TEST(Judge, WithoutBinariesADistributionIsServedByAnything) {
  World world;
  world.distribution("pure");
  for (const Machine &machine : {gpus({"gfx1100"}), gpus({}), cpu("x86-64-v1", level_set(1)), Machine()}) {
    Judgement j = judge(world.inventory, {machine}, {});
    EXPECT_EQ(j.verdict, Verdict::served);
    EXPECT_EQ(j.distributions, std::vector<Verdict>{Verdict::served});
    EXPECT_EQ(j.exit_code, 0);
  }
  world.problem(Level::error, "gap.so", "is cut short");
  EXPECT_EQ(judge(world.inventory, {gpus({"gfx1100"})}, {}).verdict, Verdict::incomplete);
  // Of one that was named and does not tell its files nothing is known.
  World named("pure", "distribution");
  named.distribution("pure").problem(Level::note, "", "nothing lists its files");
  EXPECT_EQ(judge(named.inventory, {gpus({"gfx1100"})}, {}).verdict, Verdict::not_judged);
}

// Beside a distribution that fails, one that needs nothing does not turn all of it into "partly".
TEST(Judge, PureDistributionsDoNotWeighOnTheWhole) {
  World world("env", "directory");
  world.distribution("kern").device_file("kern.so", {image({"gfx90a"})}, "kern").distribution("pure");
  Judgement j = judge(world.inventory, {gpus({"gfx1100"})}, {});
  EXPECT_EQ(j.verdict, Verdict::not_served);
  EXPECT_EQ(j.distributions, (std::vector<Verdict>{Verdict::not_served, Verdict::served}));
}

TEST(Judge, VerdictIsTheWorseOfBothSides) {
  World world;
  world.device_file("gpu.so", {image({"gfx90a"})}).host_file("gpu.so", host({})).host_file("b.so", host({}));
  Machine machine = cpu("x86-64-v2", level_set(2));
  machine.judge_gpus = true;
  machine.gpus = gpus({"gfx1100"}).gpus;
  // The only device file fails: good CPU code elsewhere does not make that "partly".
  EXPECT_EQ(judge(world.inventory, {machine}, {}).verdict, Verdict::not_served);
  world.device_file("other.so", {image({"gfx1100"})});
  EXPECT_EQ(judge(world.inventory, {machine}, {}).verdict, Verdict::partly_served);
}

TEST(Judge, EachMachineIsJudged) {
  World world;
  world.device_file("a.so", {image({"gfx90a"})});
  Judgement j = judge(world.inventory, {gpus({"gfx90a:sramecc+:xnack-"}), gpus({"gfx1100"})}, {});
  ASSERT_EQ(j.findings.size(), 1u);
  EXPECT_EQ(j.findings[0].machine, 1);
}

TEST(Judge, DuplicatesAreReportedForEachPath) {
  World world;
  world.device_file("a.so", {image({"gfx90a"})}).device_file("copy/a.so", {image({"gfx90a"})});
  world.inventory.binaries[1].same_as = "a.so";
  Judgement j = judge(world.inventory, {gpus({"gfx1100"})}, {});
  ASSERT_EQ(j.findings.size(), 2u);
  EXPECT_EQ(j.findings[1].origin.path, "copy/a.so");
}

TEST(Judge, FindingsAreSortedAndIndependentOfTheOrderOfMachinesGpus) {
  World world;
  for (int i = 0; i < 12; ++i)
    world.device_file("lib" + std::to_string(i) + ".so",
                      {image({i % 2 ? "gfx90a" : "gfx1100"}), image({i % 3 ? "gfx90a" : "gfx942"})});
  Machine machine = gpus({"gfx90a:sramecc+:xnack-", "gfx1100", "gfx942:sramecc+:xnack-"});
  auto without_mixed = [](Judgement j) {
    std::erase_if(j.findings, [](const Finding &f) { return f.rule == "gpu-mixed-machine"; });
    return j.findings;
  };
  Judgement first = judge(world.inventory, {machine}, {});
  EXPECT_TRUE(std::ranges::is_sorted(first.findings, std::greater<>(), &Finding::level));
  std::ranges::sort(machine.gpus, {}, [](const Gpu &g) { return g.target.processor; });
  do {
    EXPECT_EQ(without_mixed(judge(world.inventory, {machine}, {})), without_mixed(first));
  } while (std::ranges::next_permutation(machine.gpus, {}, [](const Gpu &g) { return g.target.processor; }).found);
}

// For every subset of targets in two images and every GPU: one more entry never makes the verdict worse, and the verdict is
// what counting the images says.
TEST(Judge, MonotoneInTheDeviceCode) {
  const std::vector<std::string> universe = {"gfx90a:xnack+", "gfx90a:xnack-", "gfx90a",
                                             "gfx1100",       "gfx11-generic", "amdgcnspirv"};
  auto subset = [&](unsigned mask) {
    std::vector<std::string> out;
    for (size_t i = 0; i < universe.size(); ++i)
      if (mask >> i & 1) out.push_back(universe[i]);
    return out;
  };
  auto rank = [&](unsigned a, unsigned b, const char *gpu) {
    World world;
    world.device_file("a.so", {image(subset(a)), image(subset(b))});
    Judgement j = judge(world.inventory, {gpus({gpu})}, {});
    EXPECT_LE(std::ranges::count_if(j.findings, [](const Finding &f) { return f.level > Level::note; }), 1);
    return j.verdict == Verdict::served ? 0 : j.verdict == Verdict::partly_served ? 1 : 2;
  };
  auto serves = [](unsigned mask, std::string_view gpu) {
    if (mask & 32) return true;
    if (gpu == "gfx1101") return (mask & 16) != 0;
    return (mask & 4) != 0 || (mask & (gpu.ends_with("xnack+") ? 1u : 2u)) != 0;
  };
  for (const char *gpu : {"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack+", "gfx1101"})
    for (unsigned a = 1; a < 64; ++a)
      for (unsigned b : {1u, 6u, 8u, 48u}) {
        int now = rank(a, b, gpu);
        EXPECT_EQ(now, 2 - serves(a, gpu) - serves(b, gpu));
        for (unsigned bit = 0; bit < 6; ++bit) EXPECT_LE(rank(a | 1u << bit, b, gpu), now);
      }
}

TEST(Judge, WheelsOfOneReleaseInAFolderHaveOneVerdict) {
  World world("dist", "directory");
  world.distribution("kern").distribution("kern");
  world.device_file("kern-1.2-cp311.whl!kern/_C.so", {image({"gfx942"})}, "kern");
  world.device_file("kern-1.2-cp312.whl!kern/_C.so", {image({"gfx942"})}, "kern");
  Judgement j = judge(world.inventory, {gpus({"gfx942:sramecc+:xnack-"})}, {});
  EXPECT_EQ(j.distributions, (std::vector<Verdict>{Verdict::served, Verdict::served}));
}

} // namespace
} // namespace isa_audit::test
