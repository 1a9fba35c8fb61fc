// --kernels, in text and JSON.
#include <fstream>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "isa-audit/report/report.h"
#include "unit/report/schema.h"
#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

// Two kernels for two targets; the metadata of gfx90a is missing.
World world_with_details() {
  World world;
  DeviceImage one = image({"gfx90a", "gfx942"}, {"_Z4gemmIiEvPT_", "axpy\n"});
  one.code_objects[1].kernel_details = {{0, 64, 128, 64, 48, 3, 1, 16384, 32}, {1, 64, 8, 0, 16, 0, 0, 0, 0}};
  world.device_file("kern.so", {one});
  return world;
}

Report report_of(const World &world) {
  Report report;
  report.version = "0";
  report.llvm_version = "22";
  report.inventory = &world.inventory;
  report.judgement = judge(world.inventory, {}, {});
  return report;
}

TEST(Kernels, TextListsWhatEachTakes) {
  World world = world_with_details();
  TextStyle style;
  style.kernels = true;
  std::string text = write_text(report_of(world), style);
  EXPECT_NE(text.find("kern.so: 2 kernels\n"
                      "target  wave  vgprs  agprs  sgprs    lds  scratch  spills  kernel\n"
                      "gfx90a     -      -      -      -      -        -       -  void gemm<int>(int*)\n"
                      "gfx942    64    128     64     48  16384       32       4  void gemm<int>(int*)\n"
                      "gfx90a     -      -      -      -      -        -       -  axpy\\x0a\n"
                      "gfx942    64      8      0     16      0        0       0  axpy\\x0a\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(write_text(report_of(world), {}).find("gemm"), std::string::npos) << "only when asked for";
}

TEST(Kernels, JsonListsThemOnRequest) {
  World world = world_with_details();
  Report report = report_of(world);
  EXPECT_FALSE(nlohmann::json::parse(write_json(report))["binaries"][0]["device"].contains("kernels"));
  report.kernels = true;
  nlohmann::json json = nlohmann::json::parse(write_json(report));
  std::ifstream in(std::string(ISA_AUDIT_TESTDATA) + "/../lib/report/isa-audit-1.schema.json");
  SchemaValidator validator(nlohmann::json::parse(in));
  EXPECT_TRUE(validator.errors(json).empty()) << validator.errors(json).at(0);
  const auto &kernels = json["binaries"][0]["device"]["kernels"];
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0]["name"], "_Z4gemmIiEvPT_");
  EXPECT_EQ(kernels[0]["demangled"], "void gemm<int>(int*)");
  EXPECT_EQ(kernels[0]["targets"][0], (nlohmann::json{{"target", "gfx90a"}}));
  EXPECT_EQ(kernels[0]["targets"][1], (nlohmann::json{{"target", "gfx942"},
                                                      {"wavefront_size", 64},
                                                      {"vgprs", 128},
                                                      {"agprs", 64},
                                                      {"sgprs", 48},
                                                      {"vgpr_spills", 3},
                                                      {"sgpr_spills", 1},
                                                      {"lds", 16384},
                                                      {"scratch", 32}}));
}

} // namespace
} // namespace isa_audit::test
