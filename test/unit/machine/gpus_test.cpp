// Machines as made-up trees: access, filters, overrides, partitions, masked nodes, other drivers, hostile files.
#include "isa-audit/machine/gpus.h"

#include <sys/stat.h>

#include "isa-audit/machine/detect.h"
#include "tree.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {
namespace {

using test::Tree;

std::string properties(unsigned version, unsigned device, unsigned minor, uint32_t capability = 0, uint64_t unique_id = 0,
                       unsigned location = 0x300) {
  return llvm::formatv("cpu_cores_count 0\nsimd_count 100\ngfx_target_version {0}\nvendor_id 4098\ndevice_id {1}\n"
                       "location_id {5}\ndomain 0\ndrm_render_minor {2}\ncapability {3}\nunique_id {4}\n",
                       version, device, minor, capability, unique_id, location)
      .str();
}

constexpr uint32_t kEcc = 1u << 26;
const char *const kCpu = "cpu_cores_count 16\nsimd_count 0\ngfx_target_version 0\nvendor_id 0\ndrm_render_minor 0\n";

std::string mi300x(unsigned minor, uint64_t id = 0) { return properties(90402, 0x74a1, minor, kEcc, id); }
std::string navi31(unsigned minor, uint64_t id = 0) { return properties(110000, 0x744c, minor, 0, id); }
std::string raphael(unsigned minor) { return properties(100306, 0x164e, minor); }

Machine detect(const Tree &tree, const Environment &environment = {}) {
  llvm::Expected<Machine> machine = make_machine({"auto", "none", tree.folder()}, environment);
  if (!machine) {
    ADD_FAILURE() << llvm::toString(machine.takeError());
    return {};
  }
  return *machine;
}

// "gfx942:sramecc+:xnack- gfx1036!": hidden ones with an exclamation mark.
std::string list(const Machine &machine) {
  std::string out;
  for (const Gpu &gpu : machine.gpus) {
    if (!out.empty()) out += ' ';
    out += gpu.target.text();
    if (!gpu.visible) out += '!';
  }
  return out;
}

bool notes_hold(const std::vector<std::string> &notes, llvm::StringRef text) {
  for (const std::string &note : notes)
    if (llvm::StringRef(note).contains(text)) return true;
  return false;
}

// A CPU, an MI300X and an integrated GPU, all accessible.
void mixed_machine(const Tree &tree) {
  tree.node(0, "0\n", kCpu);
  tree.node(1, "40101\n", mi300x(128, 0xaa00000000000001));
  tree.node(2, "40102\n", raphael(129));
  tree.devices({128, 129});
}

TEST(Gpus, InTheOrderOfKfd) {
  Tree tree;
  tree.node(0, "0\n", kCpu);
  tree.node(10, "40110\n", navi31(130));
  tree.node(2, "40102\n", mi300x(129));
  tree.node(1, "40101\n", raphael(128));
  tree.devices({128, 129, 130});
  Machine machine = detect(tree);
  EXPECT_EQ(list(machine), "gfx1036 gfx942:sramecc+:xnack- gfx1100");
  EXPECT_EQ(machine.gpus[2].found, "KFD node 10");
  EXPECT_EQ(machine.gpus[1].pci, "1002:74a1 at 0000:03:00.0");
  EXPECT_TRUE(machine.judge_gpus);
  EXPECT_EQ(machine.how, How::detected);
}

TEST(Gpus, TheOtherPathOfTheTopology) {
  Tree tree;
  tree.write("sys/devices/virtual/kfd/kfd/topology/nodes/1/properties", navi31(128));
  tree.write("sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id", "40101");
  EXPECT_EQ(list(detect(tree)), "gfx1100");
}

TEST(Gpus, AMissingRenderNodeHidesItsGpu) {
  Tree tree;
  mixed_machine(tree);
  std::filesystem::remove(tree.path("dev/dri/renderD129"));
  Machine machine = detect(tree);
  EXPECT_EQ(list(machine), "gfx942:sramecc+:xnack- gfx1036!");
  EXPECT_TRUE(notes_hold(machine.gpus[1].notes, "/dev/dri/renderD129 does not exist"));
}

TEST(Gpus, WithoutDevKfdAllAreHidden) {
  Tree tree;
  mixed_machine(tree);
  std::filesystem::remove(tree.path("dev/kfd"));
  Machine machine = detect(tree);
  EXPECT_EQ(list(machine), "gfx942:sramecc+:xnack-! gfx1036!");
  EXPECT_TRUE(notes_hold(machine.gpus[0].notes, "/dev/kfd does not exist"));
}

TEST(Gpus, ATreeWithoutDevIsNotJudged) {
  Tree tree;
  tree.node(1, "40101\n", mi300x(128));
  Machine machine = detect(tree);
  EXPECT_EQ(list(machine), "gfx942:sramecc+:xnack-");
  EXPECT_TRUE(notes_hold(machine.notes, "access to the GPUs was not judged"));
}

TEST(Gpus, ANodeWithoutRenderMinorStopsTheRuntime) {
  Tree tree;
  mixed_machine(tree);
  tree.node(2, "40102\n", raphael(0));
  Machine machine = detect(tree);
  EXPECT_EQ(list(machine), "gfx942:sramecc+:xnack-! gfx1036!");
  EXPECT_TRUE(notes_hold(machine.gpus[0].notes, "the runtime stops at KFD node 2"));
  tree.node(2, "40102\n", raphael(4294967295u));
  EXPECT_EQ(list(detect(tree)), "gfx942:sramecc+:xnack-! gfx1036!");
}

TEST(Gpus, AnotherVendorInKfd) {
  Tree tree;
  mixed_machine(tree);
  tree.node(3, "40103\n", "simd_count 4\nvendor_id 4318\ndevice_id 1\ngfx_target_version 0\n");
  Machine machine = detect(tree);
  EXPECT_EQ(machine.gpus.size(), 2u);
  EXPECT_TRUE(notes_hold(machine.notes, "KFD node 3 belongs to another vendor (10de)"));
}

TEST(Gpus, UnreadableNodesAreCounted) {
  Tree tree;
  mixed_machine(tree);
  // Reading a folder fails like a refused read, for root as well.
  for (unsigned number : {3u, 4u})
    std::filesystem::create_directories(tree.path("sys/class/kfd/kfd/topology/nodes/" + std::to_string(number) + "/gpu_id"));
  Machine machine = detect(tree);
  EXPECT_EQ(machine.gpus.size(), 2u);
  EXPECT_TRUE(notes_hold(machine.notes, "2 of KFD's nodes cannot be read"));
}

TEST(Gpus, ProcessorsNewerThanThisProgram) {
  Tree tree;
  tree.node(1, "40101\n", properties(150000, 0x9999, 128));
  Machine machine = detect(tree);
  EXPECT_EQ(list(machine), "gfx1500");
  EXPECT_TRUE(notes_hold(machine.gpus[0].notes, "newer than this version"));
  EXPECT_EQ(machine.gpus[0].target.xnack, Setting::unsupported);
}

TEST(Gpus, NoVersionAndNoKnownIdCannotBeJudged) {
  Tree tree;
  for (uint32_t version : {0u, 4294967295u}) {
    tree.node(1, "40101\n", properties(version, 0x9999, 128));
    Machine machine = detect(tree);
    EXPECT_EQ(list(machine), "") << version;
    EXPECT_TRUE(notes_hold(machine.notes, "KFD node 1 (1002:9999) shows no processor version")) << version;
  }
}

TEST(Sramecc, FromTheCapabilityAndItsTraps) {
  Tree tree;
  tree.node(1, "1", properties(90402, 0x74a1, 128, 1u << 19)); // the old bit says nothing
  EXPECT_EQ(list(detect(tree)), "gfx942:sramecc-:xnack-");
  tree.node(1, "1", properties(90006, 0x66af, 128, 0xac63a280)); // Radeon VII
  EXPECT_EQ(list(detect(tree)), "gfx906:sramecc+:xnack-");
  tree.node(1, "1", properties(110000, 0x744c, 128, kEcc)); // no such choice
  EXPECT_EQ(list(detect(tree)), "gfx1100");
  // Kernels without gfx_target_version misreport the bit; ROCr takes gfx908 as on.
  tree.node(1, "1", "simd_count 480\nvendor_id 4098\ndevice_id 29580\ncapability 0\ndrm_render_minor 128\n");
  Machine machine = detect(tree);
  EXPECT_EQ(list(machine), "gfx908:sramecc+:xnack-");
  EXPECT_EQ(machine.gpus[0].assumed, (std::vector<std::string>{"sramecc", "xnack"}));
  tree.node(1, "1", mi300x(128));
  EXPECT_EQ(list(detect(tree, {{"HSA_ENABLE_SRAMECC", "0"}})), "gfx942:sramecc-:xnack-");
}

TEST(Xnack, OfTheMachine) {
  Tree tree;
  tree.node(1, "1", mi300x(128));
  EXPECT_EQ(list(detect(tree, {{"HSA_XNACK", "1"}})), "gfx942:sramecc+:xnack+");
  tree.write("sys/module/amdgpu/parameters/noretry", "0\n");
  EXPECT_EQ(list(detect(tree)), "gfx942:sramecc+:xnack+");
  tree.node(2, "1", raphael(129));
  Machine machine = detect(tree, {{"HSA_XNACK", "1"}});
  EXPECT_EQ(list(machine), "gfx942:sramecc+:xnack- gfx1036");
  EXPECT_TRUE(notes_hold(machine.notes, "HSA_XNACK=1 has no effect: gfx1036"));
  tree.write("sys/module/amdgpu/parameters/noretry", "garbage");
  EXPECT_EQ(list(detect(tree)), "gfx942:sramecc+:xnack- gfx1036");
}

TEST(Xnack, OfClientApusIsNoted) {
  Tree tree;
  tree.node(1, "1", properties(90012, 0x1636, 128));
  Machine machine = detect(tree);
  EXPECT_EQ(list(machine), "gfx90c:xnack-");
  EXPECT_TRUE(notes_hold(machine.gpus[0].notes, "not settled"));
}

TEST(Filters, RocrThenHip) {
  Tree tree;
  mixed_machine(tree);
  tree.node(3, "40103\n", navi31(130, 0xbb00000000000002));
  tree.devices({130});
  EXPECT_EQ(list(detect(tree, {{"ROCR_VISIBLE_DEVICES", "2,0"}})), "gfx1100 gfx942:sramecc+:xnack- gfx1036!");
  EXPECT_EQ(list(detect(tree, {{"ROCR_VISIBLE_DEVICES", "GPU-bb"}})), "gfx1100 gfx942:sramecc+:xnack-! gfx1036!");
  // HIP's indexes count what ROCr left.
  EXPECT_EQ(list(detect(tree, {{"ROCR_VISIBLE_DEVICES", "2,0"}, {"HIP_VISIBLE_DEVICES", "0"}})),
            "gfx1100 gfx942:sramecc+:xnack-! gfx1036!");
  EXPECT_EQ(list(detect(tree, {{"CUDA_VISIBLE_DEVICES", "1"}})), "gfx1036 gfx942:sramecc+:xnack-! gfx1100!");
  EXPECT_EQ(list(detect(tree, {{"HIP_VISIBLE_DEVICES", "0"}, {"CUDA_VISIBLE_DEVICES", "1"}})),
            "gfx942:sramecc+:xnack- gfx1036! gfx1100!");
}

TEST(Filters, EmptyMeansNoneForRocrAndUnsetForHip) {
  Tree tree;
  mixed_machine(tree);
  Machine none = detect(tree, {{"ROCR_VISIBLE_DEVICES", ""}});
  EXPECT_EQ(list(none), "gfx942:sramecc+:xnack-! gfx1036!");
  EXPECT_TRUE(notes_hold(none.gpus[0].notes, "hidden by ROCR_VISIBLE_DEVICES="));
  EXPECT_EQ(list(detect(tree, {{"HIP_VISIBLE_DEVICES", ""}})), "gfx942:sramecc+:xnack- gfx1036");
  EXPECT_EQ(list(detect(tree, {{"HIP_VISIBLE_DEVICES", ""}, {"CUDA_VISIBLE_DEVICES", "1"}})),
            "gfx1036 gfx942:sramecc+:xnack-!");
  Machine opencl = detect(tree, {{"GPU_DEVICE_ORDINAL", "1"}});
  EXPECT_EQ(list(opencl), "gfx942:sramecc+:xnack- gfx1036");
  EXPECT_TRUE(notes_hold(opencl.notes, "OpenCL only"));
}

TEST(Filters, CountOnlyWhatTheRuntimeCanOpen) {
  Tree tree;
  mixed_machine(tree);
  std::filesystem::remove(tree.path("dev/dri/renderD128"));
  EXPECT_EQ(list(detect(tree, {{"HIP_VISIBLE_DEVICES", "0"}})), "gfx1036 gfx942:sramecc+:xnack-!");
}

TEST(Filters, AListThatEndsEarlyIsNoted) {
  Tree tree;
  mixed_machine(tree);
  Machine machine = detect(tree, {{"HIP_VISIBLE_DEVICES", "0, 1"}});
  EXPECT_EQ(list(machine), "gfx942:sramecc+:xnack- gfx1036!");
  EXPECT_TRUE(notes_hold(machine.notes, "HIP takes no blanks"));
}

std::string effective(const Machine &machine) {
  std::string out;
  for (const Gpu &gpu : machine.gpus) {
    if (!out.empty()) out += ' ';
    out += gpu.effective ? gpu.effective->text() : "-";
    if (!gpu.visible) out += '!';
  }
  return out;
}

TEST(Overrides, GlobalAndForANode) {
  Tree tree;
  mixed_machine(tree);
  Machine all = detect(tree, {{"HSA_OVERRIDE_GFX_VERSION", "10.3.0"}});
  EXPECT_EQ(list(all), "gfx942:sramecc+:xnack- gfx1036");
  EXPECT_EQ(effective(all), "gfx1030 gfx1030");
  EXPECT_TRUE(notes_hold(all.gpus[0].notes, "another family"));
  EXPECT_TRUE(notes_hold(all.gpus[1].notes, "nobody supports"));
  EXPECT_EQ(all.overrides.at("HSA_OVERRIDE_GFX_VERSION"), "10.3.0");
  // CPU nodes count: the GPUs of this machine are 1 and 2.
  EXPECT_EQ(effective(detect(tree, {{"HSA_OVERRIDE_GFX_VERSION_2", "10.3.0"}})), "- gfx1030");
  EXPECT_EQ(effective(detect(tree, {{"HSA_OVERRIDE_GFX_VERSION", "11.0.0"}, {"HSA_OVERRIDE_GFX_VERSION_1", "9.4.2"}})),
            "gfx942:sramecc+:xnack- gfx1100");
}

TEST(Overrides, NodesThatCannotBeOpenedHaveNoNumber) {
  Tree tree;
  mixed_machine(tree);
  std::filesystem::remove(tree.path("dev/dri/renderD128"));
  EXPECT_EQ(effective(detect(tree, {{"HSA_OVERRIDE_GFX_VERSION_1", "10.3.0"}})), "gfx1030 -!");
}

TEST(Overrides, SettingsComeFromTheNewProcessor) {
  Tree tree;
  tree.node(1, "1", properties(100100, 0x731f, 128));
  Machine machine = detect(tree, {{"HSA_OVERRIDE_GFX_VERSION", "10.3.0"}});
  EXPECT_EQ(list(machine), "gfx1010:xnack-");
  EXPECT_EQ(effective(machine), "gfx1030");
  tree.node(1, "1", navi31(128));
  EXPECT_EQ(effective(detect(tree, {{"HSA_OVERRIDE_GFX_VERSION", "9.0.10"}})), "gfx90a:sramecc-:xnack-");
}

TEST(Overrides, BadOnesHideGpus) {
  Tree tree;
  mixed_machine(tree);
  Machine refused = detect(tree, {{"HSA_OVERRIDE_GFX_VERSION", "gfx1100"}});
  EXPECT_EQ(list(refused), "gfx942:sramecc+:xnack-! gfx1036!");
  EXPECT_TRUE(notes_hold(refused.gpus[0].notes, "three decimal fields"));
  Machine unknown = detect(tree, {{"HSA_OVERRIDE_GFX_VERSION_2", "11.9.9"}});
  EXPECT_EQ(list(unknown), "gfx942:sramecc+:xnack- gfx1036!");
  EXPECT_TRUE(notes_hold(unknown.gpus[1].notes, "names no processor"));
}

TEST(Partitions, OfOneGpuAreTold) {
  Tree tree;
  for (unsigned i = 0; i < 8; ++i) tree.node(i + 1, "40101\n", mi300x(128 + i, 0xcc00000000000003));
  tree.node(9, "40109\n", mi300x(136, 0xdd00000000000004));
  Machine machine = detect(tree);
  ASSERT_EQ(machine.gpus.size(), 9u);
  EXPECT_EQ(machine.gpus[2].found, "KFD node 3, partition 3 of 8 of one GPU");
  EXPECT_EQ(machine.gpus[8].found, "KFD node 9");
}

TEST(Drm, NamesWhatKfdDoesNotShow) {
  Tree tree;
  tree.write("sys/class/drm/card0/device/vendor", "0x1002\n");
  tree.write("sys/class/drm/card0/device/device", "0x744c\n");
  tree.write("sys/class/drm/card0-DP-1/device/vendor", "0x1002\n");
  tree.write("sys/class/drm/card1/device/vendor", "0x10de\n");
  tree.write("sys/class/drm/card1/device/device", "0x2684\n");
  tree.write("sys/class/drm/version", "drm 1.1.0");
  Machine machine = detect(tree);
  EXPECT_EQ(list(machine), "gfx1100!");
  EXPECT_EQ(machine.gpus[0].found, "DRM card0");
  EXPECT_TRUE(notes_hold(machine.gpus[0].notes, "KFD is not usable"));
  EXPECT_TRUE(notes_hold(machine.notes, "NVIDIA"));
  EXPECT_TRUE(notes_hold(machine.notes, "no /sys/class/kfd"));
}

TEST(Drm, TakesTheCoreVersionWhereTheIdIsUnknown) {
  Tree tree;
  std::string device = "sys/class/drm/card1/device/";
  tree.write(device + "vendor", "0x1002\n");
  tree.write(device + "device", "0xffff\n");
  tree.write(device + "ip_discovery/die/0/GC/0/major", "11\n");
  tree.write(device + "ip_discovery/die/0/GC/0/minor", "0\n");
  tree.write(device + "ip_discovery/die/0/GC/0/revision", "3\n");
  EXPECT_EQ(list(detect(tree)), "gfx1101!");
  std::filesystem::remove(tree.path(device + "ip_discovery/die/0/GC/0/revision"));
  tree.write(device + "ip_discovery/die/0/GC/0/major", "junk");
  Machine machine = detect(tree);
  EXPECT_EQ(list(machine), "");
  EXPECT_TRUE(notes_hold(machine.notes, "DRM card1 (1002:ffff) is not in the table"));
}

TEST(Machine, WithoutAnyGpu) {
  Tree tree;
  Machine machine = detect(tree);
  EXPECT_TRUE(machine.gpus.empty());
  EXPECT_TRUE(machine.judge_gpus);
  EXPECT_TRUE(notes_hold(machine.notes, "no /sys/class/kfd"));
  tree.node(0, "0\n", kCpu);
  EXPECT_TRUE(notes_hold(detect(tree).notes, "KFD shows no GPU"));
  tree.write("dev/dxg", "");
  EXPECT_TRUE(notes_hold(detect(tree).notes, "WSL"));
}

TEST(Machine, VersionsOfRocmAndDriver) {
  Tree tree;
  tree.write("opt/rocm-7.0.2/.info/version", "7.0.2-56\n");
  tree.write("opt/rocm/.info/version", "7.0.2-56\n");
  tree.write("opt/rocm-6.4.1/.info/version", "6.4.1");
  tree.write("opt/rocm/core-7.13/.info/version", "7.13.0\n");
  tree.write("opt/rocm-bad/.info/version", "\x1b[31mred\n");
  tree.write("sys/module/amdgpu/version", "6.14.0\n");
  Machine machine = detect(tree);
  EXPECT_EQ(machine.rocm, (std::vector<std::string>{"6.4.1", "7.0.2", "7.13.0"}));
  EXPECT_EQ(machine.driver, "6.14.0");
}

TEST(Machine, OnlyTheVariablesGivenCount) {
  Tree tree;
  mixed_machine(tree);
  Machine machine = detect(tree, {{"PATH", "/bin"}, {"HSA_XNACK", "0"}});
  EXPECT_EQ(machine.overrides, (std::map<std::string, std::string>{{"HSA_XNACK", "0"}}));
  for (const auto &[name, value] : read_environment()) EXPECT_TRUE(is_gpu_variable(name)) << name;
}

TEST(Machine, AMissingRootIsAnError) {
  llvm::Expected<Machine> machine = make_machine({"auto", "none", "/no/such/folder"}, {});
  EXPECT_FALSE(bool(machine));
  llvm::consumeError(machine.takeError());
}

TEST(Hostile, FilesThatAreNoFiles) {
  Tree tree;
  std::string nodes = "sys/class/kfd/kfd/topology/nodes/";
  mixed_machine(tree);
  // A FIFO must not block, a device not be read, a link not leave the tree.
  std::filesystem::create_directories(tree.path(nodes + "3"));
  ASSERT_EQ(::mkfifo(tree.path(nodes + "3/gpu_id").c_str(), 0600), 0);
  std::filesystem::create_directories(tree.path(nodes + "4"));
  tree.write(nodes + "4/gpu_id", "7\n");
  std::filesystem::create_symlink("/dev/zero", tree.path(nodes + "4/properties"));
  std::filesystem::create_directories(tree.path(nodes + "5"));
  std::filesystem::create_symlink("loop", tree.path(nodes + "5/loop"));
  std::filesystem::create_symlink("loop", tree.path(nodes + "5/gpu_id"));
  tree.write(nodes + "99999999999999999999/gpu_id", "1");
  tree.write(nodes + "-1/gpu_id", "1");
  tree.write(nodes + "x/gpu_id", "1");
  Machine machine = detect(tree);
  EXPECT_EQ(list(machine), "gfx942:sramecc+:xnack- gfx1036");
}

TEST(Hostile, ContentIsBounded) {
  Tree tree;
  tree.node(1, std::string(1 << 20, '9'), std::string(1 << 22, 'x'));
  tree.node(2, std::string("\0\xff\n", 3), "gfx_target_version 110000\nsimd_count 5\nvendor_id 4098\n");
  Machine machine = detect(tree);
  EXPECT_EQ(list(machine), "gfx1100");
  tree.write("sys/module/amdgpu/version", std::string(1 << 20, 'v'));
  EXPECT_LE(detect(tree).driver.size(), 4096u);
}

} // namespace
} // namespace isa_audit
