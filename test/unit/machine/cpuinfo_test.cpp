// Every sample of testdata/cpuinfo with the level and the hole that PROVENANCE.md states for it, then damaged texts.
#include <filesystem>
#include <set>

#include "isa-audit/machine/cpu.h"
#include "isa-audit/machine/detect.h"
#include "isa-audit/machine/root.h"
#include "tree.h"
#include "llvm/TargetParser/Host.h"

namespace isa_audit {
namespace {

using enum Feature;
using test::read_testdata;

struct Sample {
  const char *file;
  int level;
  const char *name;
  IsaSet has, lacks;
  const char *note; // part of a note; "" when there must be none
  bool in_vm = false;
};

const std::vector<Sample> &samples() {
  static const std::vector<Sample> kSamples = {
      {"vm_kvm64", 1, "kvm64", {sse3, cx16}, {ssse3, sse4_1, popcnt}, "'kvm64' hides", true},
      {"vm_qemu64-amd-host", 1, "qemu64", {svm, cx16}, {ssse3}, "'qemu64' hides", true},
      {"vm_qemu64-intel", 1, "qemu64", {sse3}, {cx16}, "'qemu64' hides"},
      {"vm_proxmox-x86-64-v2-AES-intel", 2, "x86-64-v2-AES", {aes}, {avx, pclmul}, "'x86-64-v2-AES' hides", true},
      {"vm_proxmox-x86-64-v2-AES-amd", 2, "x86-64-v2-AES", {aes}, {avx}, "'x86-64-v2-AES' hides", true},
      {"vm_virtualbox-i7-2720qm-masked", 1, "sandybridge", {ssse3}, {sse4_1, avx}, "does not show"},
      {"vm_virtualbox-on-hyperv-i7-10700K-masked", 1, "skylake", {sse4_2}, {popcnt, avx, avx2, fma, aes}, "hides", true},
      {"vm_virtualbox-5.1-avx2-no-fma", 2, "haswell", {avx2}, {fma, bmi, f16c}, "bmi bmi2 f16c fma", true},
      {"vm_nutanix-xeon-gold-5120", 4, "x86-64-v4", {avx512vl}, {avx512vnni}, "no name is known", true},
      {"vm_vmware-xeon-e5440", 1, "penryn", {sse4_1}, {sse4_2, popcnt}, "", true},
      {"vm_excavator_a10-8700p-masked", 2, "bdver4", {avx}, {fma, f16c, bmi, avx2}, "avx2 bmi bmi2 f16c fma", true},
      {"vm_denverton_atom-c3955", 2, "goldmont", {movbe}, {sha, avx}, "sha", true},
      {"denverton_atom-c3538", 2, "goldmont", {xsave, sha}, {avx}, ""},
      {"braswell_celeron-n3060", 2, "silvermont", {movbe}, {xsave}, ""},
      {"braswell_celeron-j3160", 2, "silvermont", {}, {avx}, ""},
      {"braswell_pentium-n3710", 2, "silvermont", {}, {avx}, ""},
      {"goldmont_celeron-n3450", 2, "goldmont", {sha}, {avx}, ""},
      {"goldmontplus_n4000", 2, "goldmont-plus", {}, {avx}, ""},
      {"tremont_celeron-n5100", 2, "tremont", {gfni}, {avx}, ""},
      {"kabylake_pentium-g4560-no-avx", 2, "skylake", {xsave, lzcnt}, {avx, bmi, adx}, "does not show"},
      {"sandybridge_celeron-g530-no-avx", 2, "sandybridge", {}, {avx, aes}, "avx"},
      {"sandybridge_pentium-b940-no-avx", 2, "sandybridge", {}, {avx, aes}, "avx"},
      {"sandybridge_i5-2400", 2, "sandybridge", {avx, aes}, {avx2}, ""},
      {"westmere_x5680", 2, "westmere", {aes, pclmul}, {avx}, ""},
      {"westmere_x5670-no-aes", 2, "westmere", {}, {aes}, "pclmul"},
      {"penryn_e8400", 1, "penryn", {sse4_1}, {sse4_2, popcnt}, ""},
      {"piledriver_fx8350", 2, "bdver2", {avx, fma, f16c, bmi, fma4, xop, tbm, lwp}, {avx2, bmi2, movbe}, ""},
      {"jaguar_a4-5000", 2, "btver2", {avx, f16c, bmi, movbe}, {avx2, fma, bmi2}, ""},
      {"stoneyridge_a9-9420", 3, "bdver4", {fma4}, {avx512f}, ""},
      {"zen1_ryzen3-1200", 3, "znver1", {sha}, {avx512f}, ""},
      {"zen4_epyc-9654", 4, "znver4", {avx512bf16}, {}, ""},
      {"zen5_ryzen7-9700x", 4, "znver5", {avxvnni}, {}, ""},
      {"skylake-avx512", 4, "skylake-avx512", {}, {avx512vnni}, ""},
      {"sapphirerapids_8480", 4, "sapphirerapids", {amx_tile, amx_int8, amx_bf16, avx512fp16}, {}, ""},
      {"alderlake_i9-12900k", 3, "alderlake", {avxvnni}, {avx512f}, ""},
      {"alderlake_i5-12600k", 3, "alderlake", {vaes}, {avx512f}, ""},
      {"raptorlake_i7-13700", 3, "raptorlake", {avxvnni}, {avx512f}, ""},
      {"alderlake-n_n100", 3, "gracemont", {avxvnni}, {avx512f}, ""},
  };
  return kSamples;
}

TEST(Cpuinfo, EverySample) {
  for (const Sample &sample : samples()) {
    llvm::Expected<CpuIdentity> identity = parse_cpuinfo(read_testdata(std::string("cpuinfo/") + sample.file + ".cpuinfo"));
    ASSERT_TRUE(bool(identity)) << sample.file;
    Cpu cpu = judge_cpu(*identity);
    EXPECT_EQ(highest_level(cpu.features), sample.level) << sample.file;
    EXPECT_EQ(cpu.name, sample.name) << sample.file;
    EXPECT_FALSE(cpu.model.empty()) << sample.file;
    EXPECT_EQ(!cpu.hypervisor.empty(), sample.in_vm) << sample.file;
    EXPECT_TRUE(sample.has.is_subset_of(cpu.features)) << sample.file;
    EXPECT_TRUE((sample.lacks & cpu.features).empty()) << sample.file;
    std::string notes;
    for (const std::string &note : cpu.notes) notes += note + "\n";
    if (*sample.note)
      EXPECT_NE(notes.find(sample.note), std::string::npos) << sample.file << ": " << notes;
    else
      EXPECT_EQ(notes, "") << sample.file;
  }
}

TEST(Cpuinfo, NoSampleIsForgotten) {
  std::set<std::string> known;
  for (const Sample &sample : samples()) known.insert(sample.file);
  for (const auto &entry : std::filesystem::directory_iterator(std::string(ISA_AUDIT_TESTDATA) + "/cpuinfo"))
    EXPECT_TRUE(entry.path().extension() != ".cpuinfo" || known.count(entry.path().stem())) << entry.path();
}

// A real processor has what the table of names says of its generation, apart from what products leave out.
TEST(Cpuinfo, TablesOfNamesHoldForRealProcessors) {
  const IsaSet left_out{avx, avx2, bmi, bmi2, f16c, fma, adx, lzcnt, pclmul, aes, sgx, xsaves, xsavec, sha, rtm};
  const IsaSet not_in_cpuinfo{kl, widekl, ptwrite, prefetchi, uintr, shstk, hreset, movrs, pku};
  for (const Sample &sample : samples()) {
    std::optional<CpuModel> model = find_cpu_model(sample.name);
    ASSERT_TRUE(model.has_value()) << sample.name;
    if (sample.in_vm || std::string_view(sample.file).substr(0, 3) == "vm_") continue;
    Cpu cpu = judge_cpu(llvm::cantFail(parse_cpuinfo(read_testdata(std::string("cpuinfo/") + sample.file + ".cpuinfo"))));
    IsaSet missing = model->features - cpu.features - left_out - not_in_cpuinfo;
    std::string names;
    for (const std::string &name : missing.names()) names += name + " ";
    // Alder Lake hides AVX-VNNI on kernels that do not know its word; Braswell lacks nothing but its siblings' XSAVE.
    missing = missing - IsaSet{avxvnni, clwb, cldemote, rdpru, mwaitx, wbnoinvd, waitpkg, fsgsbase};
    EXPECT_TRUE(missing.empty()) << sample.file << " lacks " << names;
  }
}

CpuIdentity parsed(std::string_view text) {
  llvm::Expected<CpuIdentity> identity = parse_cpuinfo(text);
  if (!identity) {
    ADD_FAILURE() << llvm::toString(identity.takeError());
    return {};
  }
  return *identity;
}

TEST(Cpuinfo, OnlyTheFirstBlockCounts) {
  CpuIdentity identity = parsed(
      "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu sse avx\n\nprocessor\t: 1\nflags\t\t: fpu sse avx avx2\n");
  EXPECT_TRUE(identity.features.contains(avx));
  EXPECT_FALSE(identity.features.contains(avx2));
}

TEST(Cpuinfo, PastedTexts) {
  CpuIdentity identity =
      parsed("vendor_id : GenuineIntel\r\ncpu family : unknown\r\nmodel : -\r\nflags : fpu  pni   sse4_1\r\n");
  EXPECT_EQ(identity.vendor, "GenuineIntel");
  EXPECT_EQ(identity.family, 0u);
  EXPECT_EQ(identity.features, (IsaSet{x87, sse3, sse4_1}));
}

TEST(Cpuinfo, WordsAreWhole) {
  CpuIdentity identity = parsed("flags : fpu avx512 avx2x xavx sse4 mmxext_ AVX\n");
  EXPECT_EQ(identity.features, (IsaSet{x87}));
}

TEST(Cpuinfo, TranslatedAndEmulated) {
  Cpu rosetta =
      judge_cpu(parsed("vendor_id\t: GenuineIntel\nmodel name\t: VirtualApple @ 2.50GHz\nflags\t: fpu sse sse2 avx\n"));
  EXPECT_EQ(rosetta.name, "rosetta2");
  ASSERT_EQ(rosetta.notes.size(), 1u);
  EXPECT_NE(rosetta.notes[0].find("not reliable"), std::string::npos);
  Cpu emulated = judge_cpu(parsed("processor\t: 0\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd evtstrm aes pmull sha1\n"));
  EXPECT_EQ(emulated.name, "emulated");
  ASSERT_EQ(emulated.notes.size(), 1u);
  EXPECT_NE(emulated.notes[0].find("emulator"), std::string::npos);
}

TEST(Cpuinfo, ModelsOfQemuAreNamed) {
  std::string text = "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 42\nmodel name : Intel Xeon E312xx (Sandy Bridge)\n";
  Cpu guest = judge_cpu(parsed(text + "flags : fpu avx hypervisor\n"));
  EXPECT_EQ(guest.name, "SandyBridge");
  ASSERT_EQ(guest.notes.size(), 1u);
  EXPECT_NE(guest.notes[0].find("'SandyBridge' hides"), std::string::npos);
  EXPECT_EQ(judge_cpu(parsed(text + "flags : fpu avx\n")).name, "sandybridge");
}

TEST(Cpuinfo, DamagedTexts) {
  for (const char *text : {"", "\n\n\n", "hello", "flags", "processor : 0\n\n", ":::::\n:\n"}) {
    llvm::Expected<CpuIdentity> identity = parse_cpuinfo(text);
    if (std::string_view(text) == "flags") { // a key without a value is an empty list
      EXPECT_TRUE(bool(identity));
      continue;
    }
    EXPECT_FALSE(bool(identity)) << text;
    llvm::consumeError(identity.takeError());
  }
  std::string binary(5000, '\0');
  binary += "\nflags\t: fpu avx\n";
  EXPECT_TRUE(parsed(binary).features.contains(avx));
  CpuIdentity numbers = parsed("cpu family : 99999999999999999999\nmodel : -1\nflags : fpu\n");
  EXPECT_EQ(numbers.family, 0u);
  EXPECT_EQ(numbers.model, 0u);
}

// Every prefix of a real text gives an error or fewer features, never more.
TEST(Cpuinfo, TruncationNeverAddsFeatures) {
  std::string text = read_testdata("cpuinfo/zen4_epyc-9654.cpuinfo");
  IsaSet all = parsed(text).features;
  for (size_t size = 0; size < text.size(); ++size) {
    llvm::Expected<CpuIdentity> identity = parse_cpuinfo(std::string_view(text).substr(0, size));
    if (!identity) {
      llvm::consumeError(identity.takeError());
      continue;
    }
    // A cut word can be another feature's: avx512_vbmi of avx512_vbmi2.
    EXPECT_TRUE((identity->features - all).size() <= 1) << size;
  }
}

TEST(CpuNames, ByNumbers) {
  EXPECT_EQ(cpu_name_by_numbers("GenuineIntel", 6, 0x55, {}), "skylake-avx512");
  EXPECT_EQ(cpu_name_by_numbers("GenuineIntel", 6, 0x55, {avx512vnni}), "cascadelake");
  EXPECT_EQ(cpu_name_by_numbers("GenuineIntel", 6, 0x55, {avx512vnni, avx512bf16}), "cooperlake");
  EXPECT_EQ(cpu_name_by_numbers("GenuineIntel", 15, 4, {sse3}), "nocona");
  EXPECT_EQ(cpu_name_by_numbers("GenuineIntel", 15, 6, {ssse3}), "");
  EXPECT_EQ(cpu_name_by_numbers("GenuineIntel", 6, 0xfe, {}), "");
  EXPECT_EQ(cpu_name_by_numbers("GenuineIntel", 6, 0x155, {}), "");
  EXPECT_EQ(cpu_name_by_numbers("AuthenticAMD", 0x17, 0x31, {}), "znver2");
  EXPECT_EQ(cpu_name_by_numbers("AuthenticAMD", 0x19, 0x21, {}), "znver3");
  EXPECT_EQ(cpu_name_by_numbers("AuthenticAMD", 0x19, 0x61, {}), "znver4");
  EXPECT_EQ(cpu_name_by_numbers("AuthenticAMD", 0x1a, 0x44, {}), "znver5");
  EXPECT_EQ(cpu_name_by_numbers("AuthenticAMD", 15, 107, {sse3}), "k8-sse3");
  EXPECT_EQ(cpu_name_by_numbers("HygonGenuine", 0x18, 0, {}), "znver1");
  EXPECT_EQ(cpu_name_by_numbers("CentaurHauls", 6, 15, {}), "");
}

// Every name the numbers can give is one that --cpu takes.
TEST(CpuNames, AreKnownModels) {
  for (const char *vendor : {"GenuineIntel", "AuthenticAMD", "HygonGenuine"})
    for (unsigned family = 0; family < 0x20; ++family)
      for (unsigned model = 0; model < 0x100; ++model) {
        std::string_view name = cpu_name_by_numbers(vendor, family, model, {sse3});
        EXPECT_TRUE(name.empty() || find_cpu_model(name).has_value()) << name;
      }
}

// On the machine of the test: what programs may use by CPUID is what Linux shows.
TEST(Cpuid, AgreesWithLinux) {
  std::optional<std::string> text = Root("").read("/proc/cpuinfo", 1 << 20);
  if (!text) GTEST_SKIP() << "no /proc/cpuinfo";
  llvm::Expected<CpuIdentity> linux_says = parse_cpuinfo(*text);
  if (!linux_says || !linux_says->has_fpu) {
    llvm::consumeError(linux_says.takeError());
    GTEST_SKIP() << "/proc/cpuinfo is not of an x86 processor";
  }
  CpuIdentity cpuid = read_cpuid();
  EXPECT_EQ(cpuid.vendor, linux_says->vendor);
  EXPECT_EQ(cpuid.family, linux_says->family);
  EXPECT_EQ(cpuid.model, linux_says->model);
  EXPECT_EQ(cpuid.model_name, linux_says->model_name);
  EXPECT_EQ(cpuid.hypervisor_flag, linux_says->hypervisor_flag);
  IsaSet levels = psabi_level(4) | IsaSet{aes, pclmul, sha, vaes, gfni, avxvnni, adx, rdrnd, rdseed};
  EXPECT_EQ((cpuid.features & levels).names(), (linux_says->features & levels).names());
}

TEST(Cpuid, NameAgreesWithLlvm) {
  CpuIdentity identity = read_cpuid();
  std::string_view name = cpu_name_by_numbers(identity.vendor, identity.family, identity.model, identity.features);
  if (name.empty()) GTEST_SKIP() << "no name for family " << identity.family << " model " << identity.model;
  EXPECT_EQ(name, std::string_view(llvm::sys::getHostCPUName()));
}

TEST(Root, CpuinfoBelowAGivenRoot) {
  test::Tree tree;
  tree.write("proc/cpuinfo", read_testdata("cpuinfo/vm_kvm64.cpuinfo"));
  tree.write("sys/class/dmi/id/sys_vendor", "QEMU\n");
  llvm::Expected<Machine> machine = make_machine({"none", "auto", tree.folder()}, {});
  ASSERT_TRUE(bool(machine));
  ASSERT_TRUE(machine->cpu.has_value());
  EXPECT_EQ(machine->cpu->name, "kvm64");
  EXPECT_EQ(machine->cpu->hypervisor, "KVM");
  EXPECT_EQ(machine->cpu->found, "/proc/cpuinfo");
  EXPECT_EQ(machine->how, How::detected);
}

} // namespace
} // namespace isa_audit
