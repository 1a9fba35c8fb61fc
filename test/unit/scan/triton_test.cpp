#include <gtest/gtest.h>

#include <algorithm>

#include "isa-audit/scan/scan.h"
#include "isa-audit/verdict/judge.h"
#include "support/device_builder.h"
#include "unit/source/temp_folder.h"

namespace isa_audit::test {
namespace {

std::string code_object(uint32_t flags, const std::string &target) {
  CodeObjectSpec spec;
  spec.flags = flags;
  spec.target = "amdgcn-amd-amdhsa--" + target;
  return build_code_object(spec);
}

// As Triton writes it, shortened.
std::string json_of(const std::string &arch) {
  return R"({"hash": "4971", "target": {"backend": "hip", "arch": ")" + arch + R"(", "warp_size": 64}, "num_warps": 2})";
}

class TritonCache : public testing::Test {
protected:
  TempFolder temp;

  Inventory look() {
    ScanOptions options;
    options.paths = {temp.path()};
    options.jobs = 1;
    return scan(options);
  }
  static std::vector<Finding> findings(const Inventory &inventory, const std::string &gpu) {
    Machine machine;
    machine.judge_gpus = true;
    machine.gpus.emplace_back().target = llvm::cantFail(parse_target_id(gpu));
    return judge(inventory, {machine}, {}).findings;
  }
};

TEST_F(TritonCache, IsReadWithItsJson) {
  temp.write("cache/ABC/add.hsaco", code_object(0x54c, "gfx942"));
  temp.write("cache/ABC/add.json", json_of("gfx942"));
  temp.write("cache/DEF/plain.hsaco", code_object(0x54c, "gfx942"));
  temp.write("cache/DEF/plain.json", R"({"target": {"backend": "cuda", "arch": 90}})");
  Inventory inventory = look();
  ASSERT_EQ(inventory.binaries.size(), 2u);
  ASSERT_TRUE(inventory.binaries[0].triton);
  EXPECT_EQ(inventory.binaries[0].triton->arch, "gfx942");
  EXPECT_EQ(inventory.binaries[0].triton->warp_size, 64u);
  EXPECT_FALSE(inventory.binaries[1].triton);
  EXPECT_TRUE(inventory.problems.empty());
}

// Another GPU makes Triton compile again: nothing is missing.
TEST_F(TritonCache, OfAnotherGpuIsANote) {
  for (const char *hash : {"A", "B", "C"}) {
    temp.write(std::string("cache/") + hash + "/k.hsaco", code_object(0x54c, "gfx942"));
    temp.write(std::string("cache/") + hash + "/k.json", json_of("gfx942"));
  }
  Inventory inventory = look();
  auto found = findings(inventory, "gfx1100");
  ASSERT_EQ(std::ranges::count(found, "gpu-target-missing", &Finding::rule), 1) << "one cache, one finding";
  const Finding &finding = *std::ranges::find(found, "gpu-target-missing", &Finding::rule);
  EXPECT_EQ(finding.level, Level::note);
  EXPECT_EQ(finding.origin.path, "cache");
  EXPECT_NE(finding.message.find("Triton"), std::string::npos);
  for (const Finding &f : findings(inventory, "gfx942:sramecc+:xnack-")) EXPECT_NE(f.rule, "gpu-target-missing");
}

TEST_F(TritonCache, ThatDisagreesWithItsJsonIsStale) {
  temp.write("cache/ABC/add.hsaco", code_object(0x41, "gfx1100"));
  temp.write("cache/ABC/add.json", json_of("gfx1103"));
  auto found = findings(look(), "gfx1103");
  auto stale = std::ranges::find(found, "stale-build", &Finding::rule);
  ASSERT_NE(stale, found.end());
  EXPECT_EQ(stale->level, Level::warning);
  EXPECT_EQ(stale->holds, "gfx1100");
  EXPECT_EQ(stale->subject, "gfx1103");
}

TEST_F(TritonCache, OddJsonIsIgnored) {
  for (const char *text : {"", "{", "[1]", R"({"target": "hip:gfx942"})", R"({"target": {"backend": "hip"}})",
                           R"({"target": {"backend": "hip", "arch": 942}})"}) {
    temp.write("c/k.hsaco", code_object(0x54c, "gfx942"));
    temp.write("c/k.json", text);
    Inventory inventory = look();
    ASSERT_EQ(inventory.binaries.size(), 1u);
    EXPECT_FALSE(inventory.binaries[0].triton) << text;
  }
}

} // namespace
} // namespace isa_audit::test
