#include "output_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace isa_audit {
namespace {

namespace fs = std::filesystem;

class OutputFile : public testing::Test {
protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("isa-audit-output-" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string &name) const { return folder_ / name; }
  std::string write(const std::string &name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string read(const std::string &name) const {
    std::stringstream out;
    out << std::ifstream(path(name), std::ios::binary).rdbuf();
    return out.str();
  }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator())); }

  fs::path folder_;
};

TEST_F(OutputFile, AnInputIsNeverWrittenOver) {
  std::vector<std::string> inputs{write("kern.whl", "text"), path("missing")};
  EXPECT_EQ(check_output(inputs[0], inputs), "is an input");
  fs::create_hard_link(inputs[0], path("link"));
  fs::create_symlink(inputs[0], path("symlink"));
  EXPECT_EQ(check_output(path("link"), inputs), "is an input");
  EXPECT_EQ(check_output(path("symlink"), inputs), "is an input");
  EXPECT_EQ(check_output(path("new.json"), inputs), "");
}

TEST_F(OutputFile, BinaryDataIsNoOlderReport) {
  using namespace std::string_view_literals;
  EXPECT_NE(check_output(write("lib.so", "\x7f"
                                         "ELF\2\0"sv),
                         {}),
            "");
  EXPECT_EQ(check_output(write("old.json", "{}"), {}), "");
  EXPECT_EQ(check_output(write("empty", ""), {}), "");
}

TEST_F(OutputFile, WhatCannotBeWrittenIsToldBeforehand) {
  EXPECT_EQ(check_output(path("none/report.json"), {}), "no such folder");
  EXPECT_EQ(check_output(path("report/"), {}), "no such folder");
  EXPECT_EQ(check_output(folder_, {}), "is a folder");
  EXPECT_NE(check_output(write("file", "") + "/report", {}), "");
  EXPECT_EQ(check_output("/dev/null", {}), "");
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere: permissions are not tested";
  fs::permissions(write("read-only", ""), fs::perms::owner_read);
  EXPECT_NE(check_output(path("read-only"), {}), "");
}

TEST_F(OutputFile, IsReplacedInOneStep) {
  std::string file = write("report.json", "old");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  std::ifstream reader(file); // goes on with the old one
  EXPECT_EQ(write_output(file, "new"), "");
  EXPECT_EQ(read("report.json"), "new");
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFile, ANewOneHasTheUsualPermissions) {
  mode_t mask = umask(022);
  EXPECT_EQ(write_output(path("report.json"), "text"), "");
  umask(mask);
  EXPECT_EQ(static_cast<unsigned>(fs::status(path("report.json")).permissions()), 0644u);
}

TEST_F(OutputFile, LinksStayLinksAndDevicesDevices) {
  write("real.json", "old");
  fs::create_symlink("real.json", path("link.json"));
  EXPECT_EQ(write_output(path("link.json"), "new"), "");
  EXPECT_TRUE(fs::is_symlink(path("link.json")));
  EXPECT_EQ(read("real.json"), "new");
  EXPECT_EQ(write_output("/dev/null", "text"), "");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFile, FailuresAreTold) {
  EXPECT_NE(write_output(path("none/report"), "text"), "");
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_NE(write_output("/dev/full", "text"), "");
}

} // namespace
} // namespace isa_audit
