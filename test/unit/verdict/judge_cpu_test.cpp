#include <gtest/gtest.h>

#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

bool mentions(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

Judgement on(const HostCode &code, int level, std::string distribution = "") {
  World world;
  if (!distribution.empty()) world.distribution(distribution);
  world.host_file("a.so", code, distribution);
  return judge(world.inventory, {cpu("x86-64-v" + std::to_string(level), level_set(level))}, {});
}

HostCode analysed() {
  HostCode out;
  out.guards_analysed = true;
  return out;
}

TEST(JudgeCpu, WithoutGuardAnalysisItIsAWarningThatSaysSo) {
  Judgement j = on(host({Feature::avx, Feature::avx2}), 2);
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"cpu-feature-missing"});
  const Finding &f = j.findings[0];
  EXPECT_EQ(f.level, Level::warning);
  EXPECT_EQ(f.strength, "unguarded");
  EXPECT_EQ(f.subject, "avx,avx2");
  EXPECT_EQ(f.holds, "avx avx2 in dot_f32");
  EXPECT_TRUE(mentions(f.message, "not told apart"));
  EXPECT_TRUE(mentions(f.message, "Illegal instruction"));
  EXPECT_EQ(j.verdict, Verdict::not_judged);
  EXPECT_EQ(j.exit_code, 0);
  EXPECT_TRUE(on(host({Feature::avx, Feature::avx2}), 3).findings.empty());
  EXPECT_EQ(on(host({Feature::avx, Feature::avx2}), 3).verdict, Verdict::served);
}

TEST(JudgeCpu, LoadAndImportAreErrorsByGrade) {
  for (Strength strength : {Strength::load, Strength::import})
    for (Grade grade : {Grade::certain, Grade::likely, Grade::possible}) {
      HostCode code = analysed();
      (strength == Strength::load ? code.at_load : code.at_import) = {Feature::avx2};
      code.evidence = {{Feature::avx2, strength, grade, 0x3ef7d, "", "c4", "vpbroadcastd ymm0, xmm0", {}, ""}};
      Judgement j = on(code, 2);
      ASSERT_EQ(j.findings.size(), 1u);
      EXPECT_EQ(j.findings[0].level, grade == Grade::possible ? Level::warning : Level::error);
      EXPECT_EQ(j.findings[0].strength, strength == Strength::load ? "load" : "import");
      EXPECT_EQ(j.findings[0].holds, "avx2 at 0x3ef7d");
      EXPECT_EQ(j.exit_code, grade == Grade::possible ? 0 : 1);
      EXPECT_EQ(j.verdict, grade == Grade::possible ? Verdict::partly_served : Verdict::not_served);
    }
}

TEST(JudgeCpu, CallsNameTheirFunctions) {
  HostCode code = analysed();
  code.at_call = {{"kern.dot", {Feature::avx512f}}, {"kern.sum", {Feature::avx2}}, {"kern.id", {}}};
  Judgement j = on(code, 3);
  ASSERT_EQ(j.findings.size(), 1u);
  EXPECT_EQ(j.findings[0].strength, "call");
  EXPECT_EQ(j.findings[0].level, Level::warning);
  EXPECT_EQ(j.findings[0].subject, "avx512f");
  EXPECT_TRUE(mentions(j.findings[0].message, "calling kern.dot may end"));
}

TEST(JudgeCpu, ACheckThatTestsTooLittleIsAWarningWhereItBites) {
  HostCode code = analysed();
  code.under_checked = {{{Feature::avx2}, {Feature::fma}, 0x1234, "dot", "vfmadd231ps ymm0, ymm1, ymm2", 0x1200}};
  World world;
  world.host_file("a.so", code);
  IsaSet without = level_set(3);
  without.erase(Feature::fma);
  Judgement j = judge(world.inventory, {cpu("masked", without)}, {});
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"cpu-guard-insufficient"});
  EXPECT_EQ(j.findings[0].level, Level::warning);
  EXPECT_EQ(j.findings[0].subject, "fma");
  EXPECT_EQ(j.findings[0].holds, "fma behind a check of avx2");
  EXPECT_TRUE(mentions(j.findings[0].message, "the check at 0x1200 tests avx2"));
  EXPECT_TRUE(mentions(j.findings[0].message, "in dot"));
  EXPECT_TRUE(mentions(j.findings[0].message, "masked passes the check"));
  // A CPU that has both, or neither, comes to no harm.
  for (int level : {2, 3}) {
    Judgement other = on(code, level);
    ASSERT_EQ(rules_of(other), std::vector<std::string>{"cpu-guard-insufficient"});
    EXPECT_EQ(other.findings[0].level, Level::note);
    EXPECT_FALSE(mentions(other.findings[0].message, "passes the check"));
  }
}

TEST(JudgeCpu, InlineCodeAndInitialisersAreRemarkedOn) {
  HostCode code = analysed();
  code.at_load = {Feature::avx2};
  code.evidence = {{Feature::avx2,
                    Strength::load,
                    Grade::certain,
                    0x10,
                    "std::vector<int>::grow",
                    "c4",
                    "vpxor",
                    {"initialiser", "a", "b"},
                    "",
                    true}};
  EXPECT_TRUE(mentions(on(code, 2).findings.at(0).message, "inline code"));
  code.evidence[0].weak = false;
  EXPECT_FALSE(mentions(on(code, 2).findings.at(0).message, "static initialiser"));
  code.evidence[0].path = {"initialiser", "_GLOBAL__sub_I_a.cpp"};
  EXPECT_TRUE(mentions(on(code, 2).findings.at(0).message, "static initialiser"));
}

TEST(JudgeCpu, UnguardedAloneIsADoubtAndNoVerdict) {
  HostCode code = host({Feature::avx512f});
  code.guards_analysed = true;
  Judgement j = on(code, 3);
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"cpu-feature-missing"});
  EXPECT_EQ(j.findings[0].level, Level::warning);
  EXPECT_TRUE(mentions(j.findings[0].message, "no run-time check was found"));
  EXPECT_TRUE(mentions(j.findings[0].fix, "only if it crashes"));
  EXPECT_EQ(j.verdict, Verdict::served);
}

HostCode fails_at(Strength strength) {
  HostCode out = analysed();
  (strength == Strength::load ? out.at_load : out.at_import) = {Feature::avx512f};
  out.evidence = {{Feature::avx512f, strength, Grade::certain, 0x10, "f", "62", "vaddps zmm0, zmm0, zmm1", {}, ""}};
  return out;
}

TEST(JudgeCpu, NotServedWhenEveryModuleFails) {
  auto verdict = [](const World &world) { return judge(world.inventory, {cpu("x86-64-v3", level_set(3))}, {}).verdict; };
  World only;
  only.host_file("kern/_C.cpython-312-x86_64-linux-gnu.so", fails_at(Strength::import))
      .host_file("kern.libs/libomp.so", analysed());
  EXPECT_EQ(verdict(only), Verdict::not_served);
  World one_of_two = only;
  one_of_two.host_file("kern/_D.abi3.so", analysed());
  EXPECT_EQ(verdict(one_of_two), Verdict::partly_served);
  World library; // the module is well, but what it needs, by way of another, is not
  library.host_file("kern.libs/libdeep.so", fails_at(Strength::load)).file("kern.libs/libmid.so").needed = {"libdeep.so"};
  library.host_file("kern/_C.abi3.so", analysed());
  EXPECT_EQ(verdict(library), Verdict::partly_served);
  library.inventory.binaries.back().needed = {"libc.so.6", "libmid.so"};
  EXPECT_EQ(verdict(library), Verdict::not_served);
}

TEST(JudgeCpu, GuardedIsANote) {
  HostCode code = analysed();
  code.guarded = {Feature::avx512f};
  Judgement j = on(code, 3);
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"cpu-feature-guarded"});
  EXPECT_EQ(j.findings[0].level, Level::note);
  EXPECT_EQ(j.verdict, Verdict::served);
}

TEST(JudgeCpu, SilentDifferenceIsOnlyWhatTheDecoderSays) {
  HostCode code = analysed();
  code.used = {Feature::lzcnt};
  EXPECT_TRUE(on(code, 2).findings.empty());
  code.silently_different = {Feature::lzcnt};
  Judgement j = on(code, 2);
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"cpu-silently-different"});
  EXPECT_EQ(j.findings[0].level, Level::warning);
  EXPECT_TRUE(on(code, 3).findings.empty());
}

TEST(JudgeCpu, ANoteAboveTheLevelIsRefusedByTheLoader) {
  HostCode code = analysed();
  code.needed_level = 3;
  Judgement j = on(code, 2);
  ASSERT_EQ(rules_of(j), std::vector<std::string>{"cpu-feature-missing"});
  EXPECT_EQ(j.findings[0].level, Level::error);
  EXPECT_EQ(j.findings[0].strength, "load");
  EXPECT_EQ(j.findings[0].subject, "x86-64-v3");
  EXPECT_TRUE(on(code, 3).findings.empty());
}

TEST(JudgeCpu, AdviceKnowsProjectsAndVirtualMachines) {
  HostCode code = host({Feature::avx2});
  EXPECT_TRUE(mentions(on(code, 2, "Polars").findings.at(0).fix, "polars-lts-cpu"));
  World world;
  world.host_file("a.so", code);
  Machine machine = cpu("kvm64", level_set(1));
  machine.cpu->hypervisor = "KVM";
  EXPECT_FALSE(mentions(judge(world.inventory, {machine}, {}).findings.at(0).fix, "virtual machine"));
  machine.cpu->masked = true;
  EXPECT_TRUE(mentions(judge(world.inventory, {machine}, {}).findings.at(0).fix, "virtual machine (KVM)"));
}

// Over every subset of a few features, used or present: a feature more in the CPU never makes it worse.
TEST(JudgeCpu, MonotoneInTheCpu) {
  const std::vector<Feature> few = {Feature::avx, Feature::avx2, Feature::avx512f, Feature::sha};
  auto subset = [&](unsigned mask) {
    IsaSet out = level_set(2);
    for (size_t i = 0; i < few.size(); ++i)
      if (mask >> i & 1) out.insert(few[i]);
    return out;
  };
  auto severity = [&](unsigned used, unsigned present) {
    World world;
    HostCode code = analysed();
    code.at_import = subset(used);
    for (Feature f : code.at_import.list())
      code.evidence.push_back({f, Strength::import, Grade::certain, 1, "f", "", "", {}, ""});
    world.host_file("a.so", code);
    Judgement j = judge(world.inventory, {cpu("c", subset(present))}, {});
    EXPECT_EQ(j.exit_code == 1, !subset(used).is_subset_of(subset(present)));
    return std::pair(j.exit_code, j.findings.empty() ? size_t{0} : j.findings[0].subject.size());
  };
  for (unsigned used = 0; used < 16; ++used)
    for (unsigned present = 0; present < 16; ++present)
      for (unsigned bit = 0; bit < 4; ++bit) EXPECT_LE(severity(used, present | 1u << bit), severity(used, present));
}

} // namespace
} // namespace isa_audit::test
