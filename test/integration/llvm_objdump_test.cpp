// Held against llvm-objdump --offloading and llvm-readelf where those are right: libraries whose bundles are all plain. (On
// mixed and on compressed ones llvm-objdump loses bundles or writes something else than the code objects.)
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/run_tool.h"

using namespace isa_audit::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char *kLlvm = "/usr/lib/llvm-22/bin/";

// "gfx90a:xnack-" → count, from the names under which llvm-objdump extracts entries: FILE.N.KIND-TRIPLE--TARGET.
std::map<std::string, int> objdump_targets(const std::string &output) {
  std::map<std::string, int> out;
  std::stringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (size_t at = line.find("amdhsa--"); line.starts_with("Extracting") && at != std::string::npos)
      ++out[line.substr(at + 8)];
  return out;
}

class PlainBundles : public testing::TestWithParam<const char *> {};

TEST_P(PlainBundles, AgreeWithObjdumpAndReadelf) {
  if (!fs::exists(std::string(kLlvm) + "llvm-objdump")) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << "llvm-22 brings llvm-objdump";
    GTEST_SKIP() << "llvm-objdump of llvm-22 is not installed";
  }
  fs::path folder = fs::temp_directory_path() / ("isa-audit-objdump-" + std::to_string(getpid()));
  fs::create_directories(folder);
  fs::copy_file(std::string(ISA_AUDIT_TESTDATA) + "/device/ok/" + GetParam(), folder / "lib.so",
                fs::copy_options::overwrite_existing);
  std::string go = "cd " + shell_word(folder.string()) + " && ";
  Ran objdump = run_shell(go + kLlvm + "llvm-objdump --offloading lib.so");
  std::map<std::string, int> expected = objdump_targets(objdump.output), listed;
  ASSERT_FALSE(expected.empty()) << objdump.output;
  json report = json::parse(run_shell(go + ISA_AUDIT_BINARY + " --gpu none --cpu none --format json lib.so").output);
  for (const json &target : report["binaries"][0]["device"]["targets"]) listed[target["target"]] = target["code_objects"];
  EXPECT_EQ(listed, expected);
  // What e_flags say, by LLVM's own decoding of the extracted objects.
  for (auto &[target, count] : expected) {
    Ran readelf = run_shell(go + kLlvm + "llvm-readelf -h lib.so.0.*--" + shell_word(target));
    std::string processor = target.substr(0, target.find(':'));
    EXPECT_NE(readelf.output.find(", " + processor), std::string::npos) << target << "\n" << readelf.output;
  }
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Samples, PlainBundles, testing::Values("ab.so"));

} // namespace
