// The three claims of a code object: every claim of an entry id and of the metadata against every kind of flags, held against a
// statement of who rejects what: HIP by the id, ROCr by the flags, nobody by the metadata.
#include <gtest/gtest.h>

#include <map>

#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

std::vector<Finding> labels(const CodeObject &object) {
  World world;
  DeviceImage one = image({"gfx942"});
  one.code_objects = {object};
  world.device_file("a.so", {one});
  std::vector<Finding> out = judge(world.inventory, {}, {}).findings;
  std::erase_if(out, [](const Finding &f) { return f.rule != "gpu-object-mislabelled"; });
  return out;
}

CodeObject claiming(const std::string &actual, const std::string &claim) {
  CodeObject out = object(actual);
  out.claimed = "hipv4-amdgcn-amd-amdhsa--" + claim;
  out.claim_differs = actual != claim;
  return out;
}

// e: some GPU that the id invites refuses the code; n: other words for the same; '.': equal, or nothing can be said.
TEST(JudgeLabels, EveryClaimAgainstEveryKindOfFlags) {
  const std::vector<std::string> claims = {"gfx90a",         "gfx90a:xnack-",
                                           "gfx90a:xnack+",  "gfx90a:sramecc+:xnack-",
                                           "gfx9-4-generic", "gfx9-4-generic:xnack-",
                                           "gfx942",         "gfx1100",
                                           "gfx11-generic",  "gfx99zz"};
  const std::map<std::string, std::string> expected = {
      {"gfx90a", ".nnneeeeee"},         {"gfx90a:xnack-", "e.eneeeeee"},
      {"gfx90a:xnack+", "ee.eeeeeee"},  {"gfx90a:sramecc+:xnack-", "eee.eeeeee"},
      {"gfx9-4-generic", "eeee.nneee"}, {"gfx9-4-generic:xnack-", "eeeee.eeee"},
      {"gfx942", "eeeeee.eee"},         {"gfx1100", "eeeeeee.ee"},
      {"gfx11-generic", "eeeeeeen.e"},
  };
  for (const auto &[actual, row] : expected)
    for (size_t i = 0; i < claims.size(); ++i) {
      auto found = labels(claiming(actual, claims[i]));
      char got = found.empty() ? '.' : found[0].level == Level::error ? 'e' : found[0].level == Level::note ? 'n' : 'w';
      EXPECT_EQ(got, row[i]) << "flags " << actual << ", id " << claims[i];
      EXPECT_LE(found.size(), 1u);
    }
}

TEST(JudgeLabels, AnIdThatNoGpuHas) {
  auto found = labels(claiming("gfx942", "gfx924"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::error);
  EXPECT_NE(found[0].message.find("never chooses the entry"), std::string::npos) << found[0].message;
  // Flags that the table does not know: newer code, of which nothing can be said.
  CodeObject newer = claiming("gfx942", "gfx942");
  newer.target.processor = "mach-0x7f";
  EXPECT_TRUE(labels(newer).empty());
}

TEST(JudgeLabels, OldVersionsLeaveNothingOpen) {
  CodeObject old = claiming("gfx906:sramecc-:xnack-", "gfx906");
  old.object_version = 3;
  old.claimed = "hip-amdgcn-amd-amdhsa-gfx906";
  EXPECT_TRUE(labels(old).empty());
  old.object_version = 4;
  EXPECT_EQ(labels(old).at(0).level, Level::error) << "from version 4 on the id stands for either setting";
}

TEST(JudgeLabels, AGenericWithoutAVersion) {
  CodeObject generic = claiming("gfx11-generic", "gfx11-generic");
  generic.generic_version = 0;
  EXPECT_EQ(labels(generic).at(0).level, Level::error);
}

TEST(JudgeLabels, MetadataIsANote) {
  for (const char *metadata :
       {"amdgcn-amd-amdhsa--gfx90a", "amdgcn-amd-amdhsa--gfx942:xnack-", "amdgpu9-amd-amdhsa-unknown-gfx90a"}) {
    CodeObject object = claiming("gfx942", "gfx942");
    object.metadata_target = metadata;
    auto found = labels(object);
    ASSERT_EQ(found.size(), 1u) << metadata;
    EXPECT_EQ(found[0].level, Level::note) << metadata;
  }
  CodeObject same = claiming("gfx942", "gfx942");
  for (const char *metadata : {"amdgcn-amd-amdhsa--gfx942", "amdgpu9-amd-amdhsa-unknown-gfx942", "", "nonsense"}) {
    same.metadata_target = metadata;
    EXPECT_TRUE(labels(same).empty()) << metadata;
  }
}

TEST(JudgeLabels, UndecodableCodeIsAWarning) {
  CodeObject object = claiming("gfx942", "gfx942");
  object.code = {CodeCheck::State::checked, 40, 3, "kernel+0x10"};
  auto found = labels(object);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::warning);
  EXPECT_EQ(found[0].holds, "3 of 40 functions that gfx942 cannot decode");
  EXPECT_NE(found[0].message.find("kernel+0x10"), std::string::npos);
}

// A GPU is not served by an entry that HIP does not find under its name.
TEST(JudgeLabels, AGpuNeedsTheIdAndTheFlags) {
  World world;
  DeviceImage one = image({"gfx942"});
  one.code_objects = {claiming("gfx942", "gfx90a")};
  world.device_file("a.so", {one});
  for (const char *gpu : {"gfx942:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"}) {
    Judgement j = judge(world.inventory, {gpus({gpu})}, {});
    EXPECT_NE(std::ranges::find(j.findings, "gpu-target-missing", &Finding::rule), j.findings.end()) << gpu;
  }
}

} // namespace
} // namespace isa_audit::test
