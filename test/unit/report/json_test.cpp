#include <fstream>

#include <gtest/gtest.h>

#include "isa-audit/report/machine_json.h"
#include "unit/report/schema.h"
#include "unit/report/worlds.h"

namespace isa_audit::test {
namespace {

nlohmann::json schema() {
  std::ifstream in(std::string(ISA_AUDIT_TESTDATA) + "/../lib/report/isa-audit-1.schema.json");
  return nlohmann::json::parse(in);
}

std::string joined(const std::vector<std::string> &lines) {
  std::string out;
  for (const std::string &line : lines) out += line + "\n";
  return out;
}

TEST(Json, ReportsAreValid) {
  SchemaValidator validator(schema());
  for (const Scene &scene : scenes())
    EXPECT_EQ(joined(validator.errors(nlohmann::json::parse(write_json(scene.report())))), "") << scene.name;
}

// Each change makes a valid report invalid: the schema is as strict as it looks.
TEST(Json, TheSchemaIsStrict) {
  SchemaValidator validator(schema());
  const nlohmann::json good = nlohmann::json::parse(write_json(everything().report()));
  auto breaks = [&](const char *pointer, const nlohmann::json &value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    return !validator.errors(bad).empty();
  };
  EXPECT_TRUE(breaks("/schema", "isa-audit/2"));
  EXPECT_TRUE(breaks("/extra", 1));
  EXPECT_TRUE(breaks("/machines/0/host", "name"));
  EXPECT_TRUE(breaks("/machines/0/environment/overrides/HSA_XNACK", 1));
  EXPECT_TRUE(breaks("/inputs/0/sha256", "A"));
  EXPECT_TRUE(breaks("/summary/verdict", "fine"));
  EXPECT_TRUE(breaks("/summary/errors", -1));
  EXPECT_TRUE(breaks("/summary/errors", 1.5));
  EXPECT_TRUE(breaks("/binaries/0/device/targets/0/object_versions/0", "5"));
  EXPECT_TRUE(breaks("/binaries/0/device/targets/0/name", "x"));
  EXPECT_TRUE(breaks("/binaries/3/host/evidence/0/address", "3ef7d"));
  EXPECT_TRUE(breaks("/findings/0/level", "fatal"));
  EXPECT_TRUE(breaks("/findings/0/holds", ""));
  EXPECT_TRUE(breaks("/problems/0/place", ""));
  EXPECT_FALSE(breaks("/problems/0/message", "other"));
  for (const auto &[key, value] : good.items()) {
    nlohmann::json bad = good;
    bad.erase(key);
    EXPECT_FALSE(validator.errors(bad).empty()) << key;
  }
}

TEST(Json, KeysStandInTheOrderOfTheContract) {
  nlohmann::ordered_json report = nlohmann::ordered_json::parse(write_json(everything().report()));
  auto keys = [](const nlohmann::ordered_json &object) {
    std::string out;
    for (const auto &[key, value] : object.items()) out += (out.empty() ? "" : " ") + key;
    return out;
  };
  EXPECT_EQ(keys(report), "schema tool machines inputs summary distributions binaries sidecars findings problems");
  EXPECT_EQ(keys(report["machines"][0]), "how cpu gpus environment notes");
  EXPECT_EQ(keys(report["machines"][0]["cpu"]), "name model level hypervisor features found notes");
  EXPECT_EQ(keys(report["machines"][0]["gpus"][0]), "target assumed effective_target name visible found notes");
  EXPECT_EQ(keys(report["inputs"][0]), "path kind size sha256");
  EXPECT_EQ(keys(report["summary"]), "verdict errors warnings notes binaries bytes");
  EXPECT_EQ(keys(report["distributions"][0]), "name version input verdict min_cpu");
  EXPECT_EQ(keys(report["binaries"][0]), "input path distribution format size device host");
  EXPECT_EQ(keys(report["binaries"][0]["device"]), "images loose runtime_internal targets image_sets external");
  EXPECT_EQ(keys(report["binaries"][0]["device"]["targets"][0]),
            "target vendor images code_objects kernels bytes object_versions wavefront_sizes carriers");
  EXPECT_EQ(keys(report["binaries"][3]["host"]), "declared at_load at_import at_call unguarded guarded evidence");
  EXPECT_EQ(keys(report["binaries"][3]["host"]["evidence"][0]),
            "feature strength grade address symbol bytes instruction path guard");
  for (const auto &finding : report["findings"])
    EXPECT_EQ(keys(finding), finding.contains("strength")
                                 ? "rule level input path distribution machine strength subject message fix fingerprint"
                                 : "rule level input path distribution machine subject message fix fingerprint");
}

TEST(Json, TargetsAreMergedOverImagesAndLooseObjects) {
  World world;
  world.device_file("a.so",
                    {image({"gfx942", "gfx90a"}, {"k", "l"}), image({"gfx942"}, {"k"}), image({"gfx90a", "gfx942"}, {"m"})});
  DeviceCode &device = *world.inventory.binaries[0].device;
  device.images[1].code_objects.push_back(object("gfx942")); // twice in one image: one image, two code objects
  device.loose = {object("gfx942")};
  device.loose[0].carrier = Carrier::elf;
  device.loose[0].object_version = 4;
  Scene scene{"", world, {}, {}, {}};
  nlohmann::json d = nlohmann::json::parse(write_json(scene.report()))["binaries"][0]["device"];
  EXPECT_EQ(d["images"], 3);
  EXPECT_EQ(d["loose"], 1);
  ASSERT_EQ(d["targets"].size(), 2u);
  nlohmann::json t = d["targets"][1];
  EXPECT_EQ(t["target"], "gfx942");
  EXPECT_EQ(t["images"], 3);
  EXPECT_EQ(t["code_objects"], 5);
  EXPECT_EQ(t["kernels"], 2 + 1 + 1 + 1 + 1);
  EXPECT_EQ(t["bytes"], 5000);
  EXPECT_EQ(t["object_versions"], nlohmann::json({"v4", "v5"}));
  EXPECT_EQ(t["carriers"], nlohmann::json({"bundle", "elf"}));
  EXPECT_EQ(d["image_sets"],
            nlohmann::json::parse(R"([{"targets": ["gfx90a", "gfx942"], "images": 2}, {"targets": ["gfx942"], "images": 1}])"));
}

TEST(Json, MinCpuIsOnlyToldWhereGuardsAreKnown) {
  HostCode code = host({Feature::avx});
  code.guards_analysed = true;
  code.at_import = {Feature::sse4_2};
  code.guarded = {Feature::avx512f};
  World world;
  world.distribution("kern").host_file("a.so", code, "kern");
  auto min_cpu = [&] {
    return nlohmann::json::parse(write_json(Scene{"", world, {}, {}, {}}.report()))["distributions"][0]["min_cpu"];
  };
  EXPECT_EQ(min_cpu()["import"], describe_isa({Feature::sse4_2}));
  EXPECT_EQ(min_cpu()["all"], describe_isa({Feature::sse4_2, Feature::avx}));
  EXPECT_EQ(min_cpu()["exploits"], nlohmann::json({"avx512f"}));
  world.host_file("b.so", host({}), "kern");
  EXPECT_TRUE(min_cpu().is_null());
}

// The largest file known holds 410,000 kernels in a few thousand code objects; its report says only counts.
TEST(Json, LargeFilesGiveSmallReports) {
  World world;
  std::vector<DeviceImage> images;
  for (int i = 0; i < 100; ++i) {
    std::vector<std::string> names;
    for (int k = 0; k < 400; ++k) names.push_back("_ZN7rocprim6detail" + std::to_string(1000 * i + k));
    images.push_back(image(
        {"gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1101", "gfx1200", "gfx1201"}, names));
  }
  world.device_file("pjrt.so", images);
  Scene scene{"", world, {gpus({"gfx1100"})}, {}, {}};
  std::string report = write_json(scene.report());
  EXPECT_LT(report.size(), 10000u);
  EXPECT_EQ(nlohmann::json::parse(report)["binaries"][0]["device"]["targets"][0]["kernels"], 40000);
}

TEST(MachineJson, NamesNoFolderOfTheUsers) {
  Machine machine = workstation();
  machine.cpu->found = "/proc/cpuinfo@/home/somebody/tickets/12/cpuinfo.txt";
  machine.cpu->model = "AMD Ryzen 9 5950X";
  machine.cpu->notes = {"the virtual machine hides avx2"};
  EXPECT_EQ(machine_json(machine)["cpu"]["found"], "/proc/cpuinfo@12/cpuinfo.txt");
  EXPECT_EQ(machine_json(machine)["cpu"]["model"], "AMD Ryzen 9 5950X");
  EXPECT_EQ(machine_json(machine)["cpu"]["notes"][0], "the virtual machine hides avx2");
}

TEST(MachineJson, IsAnElementOfTheReport) {
  Machine machine = workstation();
  EXPECT_EQ(nlohmann::ordered_json::parse(write_json(Scene{"", World(), {machine}, {}, {}}.report()))["machines"][0],
            machine_json(machine));
  Machine none;
  EXPECT_TRUE(machine_json(none)["cpu"].is_null());
  EXPECT_TRUE(machine_json(none)["environment"]["driver"].is_null());
  nlohmann::json definitions = schema();
  nlohmann::json profile = definitions["$defs"]["machine"];
  profile["$defs"] = definitions["$defs"];
  EXPECT_EQ(joined(SchemaValidator(profile).errors(nlohmann::json::parse(machine_json(machine).dump()))), "");
}

} // namespace
} // namespace isa_audit::test
