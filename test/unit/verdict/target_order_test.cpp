#include "isa-audit/verdict/target_order.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace isa_audit {
namespace {

TEST(TargetOrder, IsTheOrderOfGenerations) {
  const std::vector<std::string> expected = {"gfx803",        "gfx900",        "gfx906",  "gfx90a",          "gfx90a:xnack+",
                                             "gfx90a:xnack-", "gfx90c",        "gfx942",  "gfx950",          "gfx9-4-generic",
                                             "gfx9-generic",  "gfx1010",       "gfx1030", "gfx10-3-generic", "gfx1100",
                                             "gfx1151",       "gfx11-generic", "gfx1200", "gfx1250-strict",  "amdgcnspirv",
                                             "mach-0x6a",     "sm_53",         "sm_90",   "compute_90",      "sm_100"};
  std::vector<std::string> shuffled = expected;
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    std::ranges::shuffle(shuffled, random);
    std::ranges::sort(shuffled, TargetOrder());
    EXPECT_EQ(shuffled, expected);
  }
}

// Names of code objects come from files.
TEST(TargetOrder, IsAnOrderForAnyText) {
  const std::vector<std::string> odd = {"",    "gfx",      "gfx9", "gfx99", "gfx:", "gfx-generic", "gfx99999999999999999999",
                                        "sm_", "compute_", ":"};
  for (const std::string &a : odd)
    for (const std::string &b : odd) {
      EXPECT_FALSE(TargetOrder()(a, b) && TargetOrder()(b, a));
      EXPECT_EQ(a == b, !TargetOrder()(a, b) && !TargetOrder()(b, a)) << a << " " << b;
    }
}

TEST(JoinTargets, CutsLongLists) {
  EXPECT_EQ(join_targets({}), "nothing");
  EXPECT_EQ(join_targets({"a", "b", "c"}), "a b c");
  EXPECT_EQ(join_targets({"a", "b", "c"}, 3), "a b c");
  EXPECT_EQ(join_targets({"a", "b", "c"}, 1), "a +2");
}

} // namespace
} // namespace isa_audit
