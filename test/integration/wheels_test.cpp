// Real wheels against results that an independent reader counted (testdata/wheels.json). The wheels are named by
// ISA_AUDIT_WHEELS; one that is not there skips, unless ISA_AUDIT_REQUIRE_WHEELS is set, as it is in the gate.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/run_tool.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

using namespace isa_audit::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const json &known() {
  static const json all = json::parse(std::ifstream(std::string(ISA_AUDIT_TESTDATA) + "/wheels.json"));
  return all["wheels"];
}

const json &wheel_named(const std::string &name) {
  for (const json &wheel : known())
    if (wheel["name"] == name) return wheel;
  ADD_FAILURE() << name << " is not in wheels.json";
  return known()[0];
}

// The path of a wheel whose hash is right, or empty.
std::string wheel_path(const json &wheel) {
  const char *folder = std::getenv("ISA_AUDIT_WHEELS");
  if (!folder) return "";
  fs::path path = fs::path(folder) / wheel["file"].get<std::string>();
  auto buffer = llvm::MemoryBuffer::getFile(path.string(), false, false);
  if (!buffer) return "";
  llvm::StringRef bytes = (*buffer)->getBuffer();
  auto digest = llvm::SHA256::hash(llvm::ArrayRef<uint8_t>(bytes.bytes_begin(), bytes.size()));
  EXPECT_EQ(llvm::toHex(digest, true), wheel["sha256"].get<std::string>()) << path;
  return path.string();
}

#define REQUIRE_WHEEL(path, wheel)                                                                                             \
  if (path.empty()) {                                                                                                          \
    ASSERT_EQ(std::getenv("ISA_AUDIT_REQUIRE_WHEELS"), nullptr) << wheel["file"] << " is not there";                           \
    GTEST_SKIP() << wheel["file"] << " is not in $ISA_AUDIT_WHEELS (.ci/fetch-wheels fetches it)";                             \
  }

Ran audit(const std::string &arguments) { return run_shell(std::string(ISA_AUDIT_BINARY) + " " + arguments); }

using Counts = std::map<std::string, int>;

class Wheel : public testing::TestWithParam<std::string> {};

TEST_P(Wheel, HoldsWhatIsKnown) {
  const json &wheel = wheel_named(GetParam());
  std::string path = wheel_path(wheel);
  REQUIRE_WHEEL(path, wheel)
  Ran run = audit("--format json --gpu none --cpu none --fail-on never " + shell_word(path));
  ASSERT_EQ(run.exit_code, 0);
  json report = json::parse(run.output);
  for (const json &problem : report["problems"]) EXPECT_NE(problem["level"], "error") << problem;
  const json &files = wheel["files"];
  size_t seen = 0;
  for (const json &binary : report["binaries"]) {
    if (!binary.contains("device")) continue;
    const json &device = binary["device"];
    Counts objects, kernels;
    for (const json &target : device["targets"]) {
      if (target["vendor"] != "amd") continue;
      objects[target["target"]] = target["code_objects"];
      kernels[target["target"]] = target["kernels"];
    }
    std::string file = binary["path"];
    if (objects.empty()) continue;
    ASSERT_TRUE(files.contains(file)) << file << " is known to hold no code";
    ++seen;
    EXPECT_EQ(objects, files[file]["code_objects"].get<Counts>()) << file;
    EXPECT_EQ(kernels, files[file]["kernels"].get<Counts>()) << file;
    EXPECT_EQ(device["images"], files[file].value("bundles", 0)) << file;
    EXPECT_EQ(device["loose"], files[file].value("loose", 0)) << file;
  }
  size_t expected = 0;
  for (auto &[file, facts] : files.items()) expected += facts.contains("kernels");
  EXPECT_EQ(seen, expected);
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const json &wheel : known()) out.push_back(wheel["name"]);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Known, Wheel, testing::ValuesIn(names()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// gfx90a in 235 of 237 device images, gfx942 and gfx950 in all.
TEST(Petit, Gates) {
  const json &wheel = wheel_named("petit-kernel");
  std::string path = wheel_path(wheel);
  REQUIRE_WHEEL(path, wheel)
  EXPECT_EQ(audit("--require gfx942 " + shell_word(path)).exit_code, 0);
  EXPECT_EQ(audit("--require gfx90a " + shell_word(path)).exit_code, 1);
  EXPECT_EQ(audit("--gpu gfx1100 --cpu none " + shell_word(path)).exit_code, 1);
  Ran partial = audit("--gpu gfx90a --cpu none " + shell_word(path));
  EXPECT_EQ(partial.exit_code, 0);
  EXPECT_NE(partial.output.find("235 of 237"), std::string::npos);
  EXPECT_NE(partial.output.find("causalflow::petit"), std::string::npos) << partial.output;
}

TEST(Petit, SameBytesForAnyThreads) {
  const json &wheel = wheel_named("petit-kernel");
  std::string path = wheel_path(wheel);
  REQUIRE_WHEEL(path, wheel)
  Ran one = audit("--format json --gpu gfx90a -j1 " + shell_word(path)),
      many = audit("--format json --gpu gfx90a -j8 " + shell_word(path));
  EXPECT_EQ(one.output, many.output);
}

// The wheel and the tree it unpacks to hold the same facts.
TEST(Petit, WheelEqualsTree) {
  const json &wheel = wheel_named("petit-kernel");
  std::string path = wheel_path(wheel);
  REQUIRE_WHEEL(path, wheel)
  fs::path folder = fs::temp_directory_path() / ("isa-audit-tree-" + std::to_string(getpid()));
  fs::create_directories(folder);
  ASSERT_EQ(run_shell("python3 -m zipfile -e " + shell_word(path) + " " + shell_word(folder.string())).exit_code, 0);
  json a = json::parse(audit("--format json --gpu gfx90a --cpu none " + shell_word(path)).output);
  json b = json::parse(audit("--format json --gpu gfx90a --cpu none " + shell_word(folder.string())).output);
  fs::remove_all(folder);
  for (const char *part : {"binaries", "distributions", "findings", "problems", "sidecars"})
    EXPECT_EQ(a[part], b[part]) << part;
}

} // namespace
