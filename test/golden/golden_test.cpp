// One test a folder of testdata/golden. `build` makes the inputs with sh in an empty folder; `run` is a sh script that calls
// `isa-audit`; what it prints, with the exit code as last line, must equal `expected`. ISA_AUDIT_REBASE=1 rewrites `expected`.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "support/run_tool.h"

using namespace isa_audit::test;
namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path &file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<std::string> cases() {
  std::vector<std::string> out;
  for (const auto &entry : fs::directory_iterator(std::string(ISA_AUDIT_TESTDATA) + "/golden"))
    if (entry.is_directory()) out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, Prints) {
  ASSERT_EQ(run_shell(shell_word(ISA_AUDIT_BINARY) + " --version").exit_code, 0)
      << ISA_AUDIT_BINARY << " has to be built first";
  fs::path source = fs::path(ISA_AUDIT_TESTDATA) / "golden" / GetParam();
  fs::path folder = fs::temp_directory_path() / ("isa-audit-golden-" + GetParam() + "-" + std::to_string(getpid()));
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::string prelude =
      "cd " + shell_word(folder.string()) + " && export CASE=" + shell_word(source.string()) +
      " && export PATH=" + shell_word(fs::path(ISA_AUDIT_BINARY).parent_path().string()) + ":/usr/lib/llvm-22/bin:$PATH" +
      " && unset HSA_OVERRIDE_GFX_VERSION ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES HSA_XNACK && ";
  if (fs::exists(source / "build")) {
    if (run_shell("command -v /usr/lib/llvm-22/bin/clang").exit_code) {
      ASSERT_EQ(std::getenv("CI"), nullptr) << "clang-22 builds the fixtures";
      GTEST_SKIP() << "clang-22, lld-22 and clang-tools-22 build the fixtures and are not installed";
    }
    Ran built = run_shell(prelude + "sh -e " + shell_word((source / "build").string()) + " 2>&1");
    ASSERT_EQ(built.exit_code, 0) << built.output;
  }
  Ran ran = run_shell(prelude + "sh " + shell_word((source / "run").string()) + " 2>&1");
  std::string printed = ran.output + "exit " + std::to_string(ran.exit_code) + "\n";
  // Whatever a shell prints that cannot run the tool is no expectation.
  ASSERT_FALSE(ran.output.empty() || ran.exit_code > 2) << printed;
  if (std::getenv("ISA_AUDIT_REBASE")) std::ofstream(source / "expected", std::ios::binary) << printed;
  EXPECT_EQ(printed, text_of(source / "expected"));
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Case, Golden, testing::ValuesIn(cases()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
