// Every sample of testdata/kfd with the target it stands for, the numbers' meaning, and damaged files.
#include "isa-audit/machine/kfd.h"

#include <filesystem>
#include <set>

#include "isa-audit/device/processors.h"
#include "isa-audit/machine/detect.h"
#include "tree.h"

namespace isa_audit {
namespace {

using test::read_testdata;
using test::Tree;

struct Sample {
  const char *file, *target, *name; // target "" for a CPU node; name: part of the marketing name
};

constexpr Sample kSamples[] = {
    {"cpu_node", "", ""},
    {"mi300a_cpu_node", "", ""},
    {"mi100_gfx908", "gfx908:sramecc+:xnack-", "MI100"},
    {"mi210_gfx90a", "gfx90a:sramecc+:xnack-", "MI210"},
    {"mi250x_gcd_gfx90a", "gfx90a:sramecc+:xnack-", "MI250X"},
    {"mi25_old_kernel_no_gfx_target_version", "gfx900:xnack-", "MI25"},
    {"mi300a_gfx942", "gfx942:sramecc+:xnack-", "MI300A"},
    {"mi300x_cpx_part0_gfx942", "gfx942:sramecc+:xnack-", "MI300X"},
    {"mi300x_cpx_part1_gfx942", "gfx942:sramecc+:xnack-", "MI300X"},
    {"mi300x_spx_gfx942", "gfx942:sramecc+:xnack-", "MI300X"},
    {"mi300x_vf_sriov_gfx942_DERIVED", "gfx942:sramecc+:xnack-", "MI300X VF"},
    {"mi325x_gfx942_DERIVED", "gfx942:sramecc+:xnack-", "MI325X"},
    {"mi350x_gfx950", "gfx950:sramecc+:xnack-", "MI350X"},
    {"mi355x_gfx950_DERIVED", "gfx950:sramecc+:xnack-", "MI355X"},
    {"radeon780m_gfx1103_DERIVED", "gfx1103", "780M"},
    {"radeon8060s_gfx1151_DERIVED", "gfx1151", "8060S"},
    {"raphael_igpu_gfx1036_DERIVED", "gfx1036", "Raphael"},
    {"renoir_vega_apu_gfx90c_DERIVED", "gfx90c:xnack-", "Renoir"},
    {"rx6650xt-class_gfx1032", "gfx1032", "6650 XT"},
    {"rx6700xt_gfx1031_DERIVED", "gfx1031", "6700 XT"},
    {"rx7900xtx_b_gfx1100", "gfx1100", "7900 XTX"},
    {"rx7900xtx_gfx1100", "gfx1100", "7900 XTX"},
    {"rx9070xt_gfx1201", "gfx1201", "9070 XT"},
};

TEST(Kfd, EverySample) {
  for (const Sample &sample : kSamples) {
    Tree tree;
    std::string base = std::string("kfd/") + sample.file;
    std::string gpu_id;
    if (std::filesystem::exists(std::string(ISA_AUDIT_TESTDATA) + "/" + base + ".gpu_id"))
      gpu_id = read_testdata(base + ".gpu_id");
    tree.node(1, gpu_id, read_testdata(base + ".properties"));
    llvm::Expected<Machine> machine = make_machine({"auto", "none", tree.folder()}, {});
    ASSERT_TRUE(bool(machine)) << sample.file;
    if (!*sample.target) {
      EXPECT_TRUE(machine->gpus.empty()) << sample.file;
      continue;
    }
    ASSERT_EQ(machine->gpus.size(), 1u) << sample.file;
    const Gpu &gpu = machine->gpus[0];
    EXPECT_EQ(gpu.target.text(), sample.target) << sample.file;
    EXPECT_NE(gpu.name.find(sample.name), std::string::npos) << sample.file << ": " << gpu.name;
    EXPECT_EQ(gpu.found, "KFD node 1");
    EXPECT_TRUE(gpu.visible) << sample.file;
    bool has_xnack = gpu.target.xnack != Setting::unsupported;
    EXPECT_EQ(gpu.assumed, has_xnack ? std::vector<std::string>{"xnack"} : std::vector<std::string>{}) << sample.file;
  }
}

TEST(Kfd, NoSampleIsForgotten) {
  std::set<std::string> known;
  for (const Sample &sample : kSamples) known.insert(sample.file);
  for (const auto &entry : std::filesystem::directory_iterator(std::string(ISA_AUDIT_TESTDATA) + "/kfd"))
    EXPECT_TRUE(entry.path().extension() != ".properties" || known.count(entry.path().stem())) << entry.path();
}

TEST(GfxName, DecimalFieldsHexText) {
  EXPECT_EQ(gfx_name(90010), "gfx90a");
  EXPECT_EQ(gfx_name(90012), "gfx90c");
  EXPECT_EQ(gfx_name(90402), "gfx942");
  EXPECT_EQ(gfx_name(90500), "gfx950");
  EXPECT_EQ(gfx_name(80003), "gfx803");
  EXPECT_EQ(gfx_name(100306), "gfx1036");
  EXPECT_EQ(gfx_name(110003), "gfx1103");
  EXPECT_EQ(gfx_name(110501), "gfx1151");
  EXPECT_EQ(gfx_name(120001), "gfx1201");
  EXPECT_EQ(gfx_name(120500), "gfx1250");
  for (uint32_t bad : {0u, 1u, 9999u, 91600u, 90016u, 640000u, 4294967295u}) EXPECT_EQ(gfx_name(bad), "") << bad;
}

TEST(PciIds, NameKnownProcessors) {
  size_t found = 0;
  for (uint32_t id = 0; id < 0x10000; ++id)
    if (std::optional<PciGpu> gpu = find_pci_gpu(id)) {
      ++found;
      EXPECT_NE(find_processor(gpu->processor), nullptr) << std::hex << id;
    }
  EXPECT_GT(found, 150u);
  EXPECT_EQ(find_pci_gpu(0x74a1)->processor, "gfx942");
  EXPECT_EQ(find_pci_gpu(0x164e)->processor, "gfx1036");
  EXPECT_FALSE(find_pci_gpu(0).has_value());
  EXPECT_FALSE(find_pci_gpu(0x100074a1).has_value());
}

// The core's version is not the gfx number.
TEST(CoreVersions, AreNotGfxNumbers) {
  EXPECT_EQ(processor_by_core(9, 4, 3), "gfx942");
  EXPECT_EQ(processor_by_core(11, 0, 3), "gfx1101");
  EXPECT_EQ(processor_by_core(11, 0, 1), "gfx1103");
  EXPECT_EQ(processor_by_core(10, 3, 1), "gfx1033");
  EXPECT_EQ(processor_by_core(10, 1, 10), "gfx1010");
  EXPECT_EQ(processor_by_core(99, 0, 0), "");
  EXPECT_EQ(processor_by_core(9 + 256, 4, 3), "");
}

KfdNode parsed(std::string_view text) {
  KfdNode node;
  parse_kfd_properties(text, node);
  return node;
}

TEST(KfdProperties, DamagedLines) {
  KfdNode node = parsed("simd_count 10\ngarbage\nvendor_id\n\ndevice_id  29857 \nlocation_id -1\ndomain 0x1\n"
                        "unique_id 99999999999999999999999\nnew_key 7\ngfx_target_version 90402");
  EXPECT_EQ(node.simds, 10u);
  EXPECT_EQ(node.vendor_id, 0u);
  EXPECT_EQ(node.device_id, 29857u);
  EXPECT_EQ(node.location_id, 0u);
  EXPECT_EQ(node.domain, 0u);
  EXPECT_EQ(node.unique_id, 0u);
  EXPECT_EQ(node.gfx_target_version, 90402u); // no newline at the end
  EXPECT_FALSE(parsed("gfx_target_version x\n").gfx_target_version.has_value());
  // The runtime keeps the low 32 bits of what is wider.
  EXPECT_EQ(parsed("capability 4294967297\n").capability, 1u);
  EXPECT_EQ(parsed(std::string(100000, '\0')).simds, 0u);
  EXPECT_EQ(parsed(std::string(100000, '\xff')).simds, 0u);
}

TEST(KfdProperties, EveryTruncationIsSound) {
  std::string text = read_testdata("kfd/mi300x_spx_gfx942.properties");
  Tree tree;
  for (size_t size = 0; size < text.size(); size += 7) { // every line is cut somewhere
    tree.node(1, "40101\n", std::string_view(text).substr(0, size));
    llvm::Expected<Machine> machine = make_machine({"auto", "none", tree.folder()}, {});
    ASSERT_TRUE(bool(machine)) << size;
    EXPECT_LE(machine->gpus.size(), 1u) << size;
  }
}

} // namespace
} // namespace isa_audit
