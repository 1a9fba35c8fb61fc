#include <gtest/gtest.h>

#include "../../../lib/verdict/elsewhere.h"

using namespace isa_audit;

namespace {

TEST(Nearest, SameVersionFirstThenTheNearestMinorOfTheGeneration) {
  EXPECT_EQ(nearest_text("gfx942", {"gfx900", "gfx906", "gfx908", "gfx90a", "gfx1100"}),
            "nearest is gfx90a, another ISA (9.0, not 9.4)");
  EXPECT_EQ(nearest_text("gfx942", {"gfx900", "gfx950"}), "nearest is gfx950, another ISA (9.5, not 9.4)");
  EXPECT_EQ(nearest_text("gfx1103", {"gfx1100", "gfx1150"}),
            "nearest is gfx1100, of the same family (11.0) but another processor to the loader");
  EXPECT_EQ(nearest_text("gfx1200", {"gfx90a", "gfx1100"}), "");
}

} // namespace
