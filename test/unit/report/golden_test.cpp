// Text and JSON of hand-made inventories against testdata/report. ISA_AUDIT_REBASE=1 writes the files anew; look at the
// difference before committing it.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "unit/report/worlds.h"

namespace isa_audit::test {
namespace {

std::string golden_path(const std::string &file) { return std::string(ISA_AUDIT_TESTDATA) + "/report/" + file; }

void expect_golden(const std::string &file, const std::string &actual) {
  ASSERT_FALSE(actual.empty()) << file;
  if (std::getenv("ISA_AUDIT_REBASE")) {
    std::ofstream(golden_path(file), std::ios::binary) << actual;
    return;
  }
  std::ifstream in(golden_path(file), std::ios::binary);
  ASSERT_TRUE(in) << golden_path(file) << " is missing: run with ISA_AUDIT_REBASE=1";
  std::stringstream expected;
  expected << in.rdbuf();
  EXPECT_EQ(actual, expected.str()) << file << ": if the change is meant, run with ISA_AUDIT_REBASE=1";
}

class Golden : public testing::TestWithParam<Scene> {};

TEST_P(Golden, Text) { expect_golden(GetParam().name + ".txt", write_text(GetParam().report(), GetParam().style)); }
TEST_P(Golden, Json) { expect_golden(GetParam().name + ".json", write_json(GetParam().report())); }

INSTANTIATE_TEST_SUITE_P(Report, Golden, testing::ValuesIn(scenes()), [](const auto &info) { return info.param.name; });

} // namespace
} // namespace isa_audit::test
