#include "../../../lib/scan/threads.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

using namespace isa_audit;
namespace fs = std::filesystem;

namespace {

// A made-up root with the files of a control group.
class DefaultThreads : public ::testing::Test {
protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / ("threads-" + std::to_string(::getpid()));
    fs::create_directories(root_ / "sys/fs/cgroup/cpu");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string &name, const std::string &text) const { std::ofstream(root_ / "sys/fs/cgroup" / name) << text; }
  unsigned get() const { return default_threads(root_.string()); }
  static unsigned processors() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 0;
  }

  fs::path root_;
};

TEST_F(DefaultThreads, AllOfTheAffinityMask) { EXPECT_EQ(get(), processors()); }

TEST_F(DefaultThreads, NoMoreThanTheControlGroupLeaves) {
  write("cpu.max", "100000 100000\n");
  EXPECT_EQ(get(), 1U);
  write("cpu.max", "50000 100000\n");
  EXPECT_EQ(get(), 1U);
  write("cpu.max", "100001 100000\n");
  EXPECT_EQ(get(), std::min(2U, processors()));
  for (const char *none : {"max 100000\n", "100000 0\n", "-5 100000\n", "garbage\n", "99999999999999999999 1\n"}) {
    write("cpu.max", none);
    EXPECT_EQ(get(), processors()) << none;
  }
}

TEST_F(DefaultThreads, OlderControlGroupsToo) {
  write("cpu/cpu.cfs_quota_us", "100000\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(get(), 1U);
  write("cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(get(), processors());
}

} // namespace
