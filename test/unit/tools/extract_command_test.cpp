#include "extract_command.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "support/device_builder.h"
#include "unit/source/temp_folder.h"

namespace isa_audit::test {
namespace {

namespace fs = std::filesystem;

std::string code_object(uint32_t flags, const std::string &target, const std::string &kernel) {
  CodeObjectSpec spec;
  spec.flags = flags;
  spec.target = "amdgcn-amd-amdhsa--" + target;
  spec.kernels = {kernel};
  return build_code_object(spec);
}

std::string read_file(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

class Extract : public testing::Test {
protected:
  TempFolder temp;
  const std::string gfx942 = code_object(0x54c, "gfx942", "_Z4gemmPf"), gfx1100 = code_object(0x41, "gfx1100", "axpy"),
                    generic = code_object(0x01000054, "gfx11-generic", "axpy");
  fs::path out = fs::path(temp.path()) / "out";
  std::string shown, said;

  Extract() {
    std::string bundle = build_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", gfx942},
                                       {"hipv4-amdgcn-amd-amdhsa--gfx1100", gfx1100},
                                       {"hipv4-amdgcn-amd-amdhsa--gfx11-generic", generic}});
    std::ofstream(temp / "lib\n kern.so", std::ios::binary) << build_host(bundle + build_ccob(bundle, 3, 1));
  }

  int run(const std::function<void(ExtractRequest &)> &change = {}) {
    ExtractRequest request;
    request.scan.paths = {temp / "lib\n kern.so"};
    request.scan.jobs = 2;
    request.folder = out.string();
    if (change) change(request);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int exit_code = extract_command(std::move(request));
    shown = testing::internal::GetCapturedStdout();
    said = testing::internal::GetCapturedStderr();
    return exit_code;
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto &entry : fs::directory_iterator(out)) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  nlohmann::json manifest() const { return nlohmann::json::parse(read_file(out / "manifest.json")); }
};

TEST_F(Extract, WritesEveryObjectAndSaysWhatItIs) {
  ASSERT_EQ(run(), 0) << said;
  EXPECT_EQ(shown, "6 code objects and manifest.json in " + out.string() + "\n");
  EXPECT_EQ(files().size(), 7u);
  nlohmann::json m = manifest();
  EXPECT_EQ(m["schema"], "isa-audit-extract/1");
  ASSERT_EQ(m["objects"].size(), 6u);
  std::vector<std::string> expected = {gfx942, gfx1100, generic, gfx942, gfx1100, generic};
  for (size_t i = 0; i < 6; ++i) {
    const auto &object = m["objects"][i];
    std::string name = object["file"];
    EXPECT_EQ(read_file(out / name), expected[i]) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"), std::string::npos)
        << name;
    EXPECT_EQ(object["size"], expected[i].size());
    EXPECT_EQ(object["carrier"], i < 3 ? "bundle" : "ccob");
    EXPECT_EQ(object["kernels"], 1);
    EXPECT_EQ(object["path"], "lib\\x0a kern.so");
    EXPECT_EQ(object["sha256"].get<std::string>().size(), 64u);
  }
  EXPECT_EQ(m["objects"][2]["target"], "gfx11-generic");
  EXPECT_EQ(m["objects"][0]["entry"], "hipv4-amdgcn-amd-amdhsa--gfx942");
}

TEST_F(Extract, TheSameFilesForAnyNumberOfThreads) {
  ASSERT_EQ(run([](ExtractRequest &r) { r.scan.jobs = 1; }), 0);
  auto first = files();
  std::string listed = read_file(out / "manifest.json");
  fs::remove_all(out);
  ASSERT_EQ(run([](ExtractRequest &r) { r.scan.jobs = 4; }), 0);
  EXPECT_EQ(files(), first);
  EXPECT_EQ(read_file(out / "manifest.json"), listed);
}

TEST_F(Extract, ChoosesByGpuAndByKernel) {
  ASSERT_EQ(run([](ExtractRequest &r) { r.targets = {llvm::cantFail(parse_target_id("gfx1100"))}; }), 0);
  EXPECT_EQ(manifest()["objects"].size(), 4u) << "native and generic code, in two bundles";
  fs::remove_all(out);
  ASSERT_EQ(run([](ExtractRequest &r) { r.kernels = {"gemm(float*)"}; }), 0);
  EXPECT_EQ(manifest()["objects"].size(), 2u);
  EXPECT_EQ(manifest()["objects"][0]["target"], "gfx942");
  fs::remove_all(out);
  EXPECT_EQ(run([](ExtractRequest &r) { r.kernels = {"nothing"}; }), 2);
  EXPECT_NE(said.find("no code object was chosen"), std::string::npos) << said;
}

TEST_F(Extract, ReplacesOnlyWhenForced) {
  ASSERT_EQ(run(), 0);
  std::string name = manifest()["objects"][0]["file"];
  std::ofstream(out / name, std::ios::trunc) << "mine";
  EXPECT_EQ(run(), 2);
  EXPECT_NE(said.find("manifest.json is there already"), std::string::npos) << said;
  EXPECT_EQ(read_file(out / name), "mine");
  fs::remove(out / "manifest.json");
  EXPECT_EQ(run(), 2) << "a file of the same name, without a manifest";
  EXPECT_EQ(read_file(out / name), "mine");
  EXPECT_EQ(run([](ExtractRequest &r) { r.force = true; }), 0) << said;
  EXPECT_EQ(read_file(out / name), gfx942);
}

TEST_F(Extract, NeverWritesThroughALink) {
  ASSERT_EQ(run(), 0);
  std::string name = manifest()["objects"][0]["file"];
  fs::path victim = temp / "victim";
  std::ofstream(victim) << "mine";
  fs::remove_all(out);
  fs::create_directories(out);
  fs::create_symlink(victim, out / name);
  EXPECT_EQ(run(), 2);
  EXPECT_EQ(read_file(victim), "mine");
  EXPECT_EQ(run([](ExtractRequest &r) { r.force = true; }), 0) << said;
  EXPECT_EQ(read_file(victim), "mine") << "the link is replaced, not followed";
  EXPECT_EQ(read_file(out / name), gfx942);
}

TEST_F(Extract, StopsAtTheCap) {
  EXPECT_EQ(run([&](ExtractRequest &r) {
              r.max_bytes = gfx942.size() + 1;
              r.scan.jobs = 1;
            }),
            2);
  EXPECT_NE(said.find("see --max-size"), std::string::npos) << said;
  EXPECT_EQ(manifest()["objects"].size(), 1u);
}

TEST_F(Extract, SaysWhatCouldNotBeRead) {
  EXPECT_EQ(run([&](ExtractRequest &r) { r.scan.paths.push_back(temp / "absent"); }), 2);
  EXPECT_NE(said.find("absent"), std::string::npos) << said;
  EXPECT_EQ(manifest()["objects"].size(), 6u) << "the rest is there";
}

// Names of members and targets are the archive's to choose.
TEST(ExtractedName, IsHarmless) {
  CodeObject object;
  object.target.processor = "gfx942";
  object.target.xnack = Setting::on;
  std::string name = extracted_name(object, {0, "dist/kern.whl!../../etc/passwd", ".hip_fatbin+0x1000 entry 2", 0x1000});
  EXPECT_TRUE(name.starts_with("passwd-1000.")) << name;
  EXPECT_TRUE(name.ends_with("-gfx942_xnack+.co")) << name;
  for (const char *path : {"..", ".", "-rf", "", "a/", "\xff\n\x1b[2J", "x!"}) {
    std::string made = extracted_name(object, {0, path, "", 0});
    EXPECT_EQ(made.find_first_of("/\\ \n\x1b"), std::string::npos) << made;
    EXPECT_FALSE(made.starts_with(".") || made.starts_with("-")) << made;
  }
  EXPECT_NE(extracted_name(object, {0, "a/k.so", "", 0}), extracted_name(object, {0, "b/k.so", "", 0}));
  EXPECT_NE(extracted_name(object, {0, "a/k.so", "entry 1", 0}), extracted_name(object, {0, "a/k.so", "entry 2", 0}));
  object.target.processor = std::string(1000, '/');
  EXPECT_LT(extracted_name(object, {0, std::string(5000, 'x'), "", 0}).size(), 255u);
}

} // namespace
} // namespace isa_audit::test
