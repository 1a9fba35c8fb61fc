// --dist: what a distribution's own lists say, and what is there.
#include <gtest/gtest.h>

#include <cstdlib>

#include "isa-audit/scan/scan.h"
#include "isa-audit/verdict/judge.h"
#include "unit/source/temp_folder.h"

namespace isa_audit::test {
namespace {

class NamedDistribution : public testing::Test {
protected:
  void SetUp() override {
    const char *was = std::getenv("VIRTUAL_ENV");
    before_ = was ? was : "";
    setenv("VIRTUAL_ENV", temp.path().c_str(), 1);
    temp.write("pyvenv.cfg", "version = 3.11.2\n");
    temp.write(kSite + "kern-1.dist-info/METADATA", "Name: kern\nVersion: 1\n");
  }
  void TearDown() override {
    if (before_.empty())
      unsetenv("VIRTUAL_ENV");
    else
      setenv("VIRTUAL_ENV", before_.c_str(), 1);
  }
  static Inventory look() {
    ScanOptions options;
    options.distributions = {"kern"};
    options.jobs = 1;
    return scan(options);
  }
  static std::vector<std::string> problems(const Inventory &inventory, Level level) {
    std::vector<std::string> out;
    for (const Problem &p : inventory.problems)
      if (p.level == level) out.push_back(p.message);
    return out;
  }
  static int exit_code(const Inventory &inventory) { return judge(inventory, {Machine()}, {}).exit_code; }

  const std::string kSite = "lib/python3.11/site-packages/";
  TempFolder temp;

private:
  std::string before_;
};

TEST_F(NamedDistribution, NothingThatListsItsFilesIsNoPass) {
  for (const bool record : {false, true}) {
    if (record) temp.write(kSite + "kern-1.dist-info/RECORD", "");
    const Inventory found = look();
    ASSERT_EQ(problems(found, Level::error).size(), 1U) << record;
    EXPECT_NE(problems(found, Level::error)[0].find("lists any of its files"), std::string::npos);
    EXPECT_EQ(exit_code(found), 2);
  }
}

TEST_F(NamedDistribution, CodeThatIsNotThereIsAnError) {
  temp.write(kSite + "kern-1.dist-info/RECORD", "kern/_C.abi3.so,,\nkern/data.txt,,\nkern-1.dist-info/RECORD,,\n");
  const Inventory found = look();
  ASSERT_EQ(problems(found, Level::error).size(), 1U);
  EXPECT_EQ(problems(found, Level::error)[0], "files that its RECORD lists are not there: kern/_C.abi3.so, kern/data.txt");
  EXPECT_EQ(exit_code(found), 2);
}

TEST_F(NamedDistribution, OtherFilesThatAreNotThereAreAWarning) {
  temp.write(kSite + "kern-1.dist-info/RECORD", "kern/data.txt,,\nkern-1.dist-info/RECORD,,\n");
  const Inventory found = look();
  EXPECT_TRUE(problems(found, Level::error).empty());
  EXPECT_EQ(problems(found, Level::warning).size(), 1U);
  Policy strict;
  strict.fail_on = FailOn::warning;
  EXPECT_EQ(judge(found, {Machine()}, strict).exit_code, 1);
}

} // namespace
} // namespace isa_audit::test
