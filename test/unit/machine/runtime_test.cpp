// Filters, overrides and xnack, by the runtimes' sources (see runtime.h).
#include "isa-audit/machine/runtime.h"

#include "gtest/gtest.h"

namespace isa_audit {
namespace {

constexpr uint64_t kIds[] = {0x0123456789abcdef, 0x0123456789ab0000, 0xfedcba9876543210, 0};

using Chosen = std::vector<size_t>;

struct FilterCase {
  const char *value;
  Chosen chosen;
  bool to_the_end;
};

TEST(RocrFilter, Cases) {
  const FilterCase cases[] = {
      {"", {}, true},
      {"0", {0}, true},
      {"2,0", {2, 0}, true}, // the user's order
      {" 1 , 2 ", {1, 2}, true},
      {"0x1", {1}, true},
      {"01", {1}, true},
      {"-1", {}, false},
      {"0,-1,1", {0}, false},
      {"0,7,1", {0}, false},
      {"0,0,1", {0}, false}, // a second mention ends the list
      {"0,x", {0}, false},
      {"0,,1", {0}, false},
      {"1 2", {}, false},
      {"99999999999999999999", {}, false},
      {"GPU-fedcba9876543210", {2}, true},
      {"gpu-FEDC", {2}, true},
      {"GPU-0123456789ab0", {1}, true},
      {"GPU-0123", {}, false}, // begins two ids
      {"GPU-", {}, false},
      {"GPU-XX", {}, false},
      {"GPU-fedcba98765432100", {}, false},
      {"0,1,2,3,9", {0, 1, 2, 3}, true}, // more tokens than GPUs are not read
  };
  for (const FilterCase &c : cases) {
    Selection selection = select_rocr(c.value, kIds);
    EXPECT_EQ(selection.chosen, c.chosen) << c.value;
    EXPECT_EQ(selection.note.empty(), c.to_the_end) << c.value << ": " << selection.note;
  }
}

TEST(HipFilter, Cases) {
  const FilterCase cases[] = {
      {"0", {0}, true},
      {"3,1", {3, 1}, true},
      {"0,0,1", {0, 1}, true}, // a second mention is passed over
      {"0, 1", {0}, false},    // HIP compares with the number printed back
      {"01", {}, false},
      {"+1", {}, false},
      {"0x1", {}, false},
      {"-1", {}, false},
      {"1,9,0", {1}, false},
      {"1,,0", {1}, false},
      {"1,", {1}, true},
      {"GPU-fedcba9876543210,0", {2, 0}, true},
      {"GPU-FEDCBA9876543210", {}, false}, // case matters
      {"GPU-0123", {0}, true},             // the first that holds it
      {"GPU-XX", {3}, true},
      {"abc", {}, false},
  };
  for (const FilterCase &c : cases) {
    Selection selection = select_hip(c.value, kIds);
    EXPECT_EQ(selection.chosen, c.chosen) << c.value;
    EXPECT_EQ(selection.note.empty(), c.to_the_end) << c.value << ": " << selection.note;
  }
}

TEST(Override, DecimalFields) {
  EXPECT_EQ(override_processor("11.0.0"), "gfx1100");
  EXPECT_EQ(override_processor("10.3.0"), "gfx1030");
  EXPECT_EQ(override_processor("9.0.10"), "gfx90a");
  EXPECT_EQ(override_processor("9.4.2"), "gfx942");
  EXPECT_EQ(override_processor("12.0.1"), "gfx1201");
  for (const char *bad : {"", "11", "11.0", "11.0.0.0", "11.0.0 ", "gfx1100", "11.0.a", "9.0.a", "64.0.0", "9.256.0", "9.0.256",
                          "99999999999.0.0", "..", "-1.0.0"})
    EXPECT_EQ(override_processor(bad), "") << bad;
}

struct XnackCase {
  std::vector<std::string> processors;
  int noretry;
  const char *wish;
  bool on;
  bool note;
};

TEST(Xnack, Cases) {
  const XnackCase cases[] = {
      {{"gfx942"}, -1, "", false, false},
      {{"gfx942"}, -1, "1", true, false},
      {{"gfx942"}, -1, "0", false, false},
      {{"gfx942"}, 1, "1", true, false}, // chosen for each process, whatever the module's default
      {{"gfx942"}, 0, "", true, false},
      {{"gfx942"}, 0, "0", false, false},
      {{"gfx942"}, -1, "yes", false, false}, // only 0 and 1 are read
      {{"gfx906"}, -1, "1", false, true},
      {{"gfx906"}, 0, "1", true, false},
      {{"gfx906"}, 0, "", true, false},
      {{"gfx90a", "gfx1036"}, -1, "1", false, true}, // one GPU without retry decides
      {{"gfx90a", "gfx1036"}, 0, "", false, false},
      {{"gfx90a", "gfx906"}, -1, "1", false, true},
      {{"gfx902"}, -1, "", true, false},
      {{"gfx902"}, 1, "", false, false},
      {{"gfx90c"}, -1, "", false, false},
      {{"gfx90c"}, 0, "", true, false},
      {{"gfx1010"}, 0, "", false, false},
      {{"gfx90a", "gfx803"}, -1, "1", true, false}, // gfx8 has no part in it
      {{"gfx950", "gfx942"}, -1, "1", true, false},
      {{}, -1, "", false, false},
  };
  for (const XnackCase &c : cases) {
    XnackMode mode = predict_xnack(c.processors, c.noretry, c.wish);
    std::string what =
        (c.processors.empty() ? "none" : c.processors.back()) + " noretry " + std::to_string(c.noretry) + " wish " + c.wish;
    EXPECT_EQ(mode.on, c.on) << what;
    EXPECT_EQ(!mode.note.empty(), c.note) << what;
  }
}

} // namespace
} // namespace isa_audit
