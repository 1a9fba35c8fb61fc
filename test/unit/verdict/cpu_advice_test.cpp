// What people are told to do; the numbers are those of public reports of the kind.
#include <gtest/gtest.h>

#include "../lib/verdict/advice.h"
#include "unit/verdict/world.h"

namespace isa_audit::test {
namespace {

std::string advice(std::string_view distribution, const std::string &name = "sandybridge", int level = 2) {
  return cpu_advice(distribution, "", make_cpu(name, level_set(level)), psabi_level(4) - level_set(level), false, true);
}

TEST(CpuAdvice, NamesBuildsForOlderCpus) {
  struct Row {
    const char *distribution, *expected;
  };
  for (const Row &row : {Row{"polars", "polars-lts-cpu"}, // pola-rs/polars#11487, #19936, #12898
                         Row{"Polars_Runtime_32", "polars[rtcompat]"}, Row{"lancedb", "lancedb-compat"}, // lancedb/lancedb#3324
                         Row{"faiss-cpu", "1.13.2"},                    // facebookresearch/faiss#5296
                         Row{"numcodecs", "built with AVX2"},           // zarr-developers/numcodecs#252
                         Row{"pyopal", "0.6.1"},                        // althonos/pyopal#7
                         Row{"tensorflow", "1.5 was the last"},         // tensorflow/tensorflow#17411
                         Row{"jaxlib", "its wheels need AVX"},          // numpy 2.4 on CPUs below x86-64-v2
                         Row{"ssm-simulators", "0.13.1"},               // lnccbrown/ssm-simulators#303
                         Row{"lxml", "5.2.1"},                          // streamlink#5914
                         Row{"chroma-hnswlib", "HNSWLIB_NO_NATIVE=1"}}) // chroma-core/chroma#506
    EXPECT_NE(advice(row.distribution).find(row.expected), std::string::npos) << advice(row.distribution);
}

// numpy's wheels need x86-64-v2 since 2.4, whatever else of them is in doubt: an older one does not help a CPU without AVX-512.
TEST(CpuAdvice, HelpsAgainstWhatIsMissing) {
  const Cpu old = make_cpu("kvm64", level_set(1)), recent = make_cpu("haswell", level_set(3));
  EXPECT_NE(cpu_advice("numpy", "", old, {Feature::sse4_2}, false, true).find("numpy<2.4"), std::string::npos);
  EXPECT_EQ(cpu_advice("numpy", "", recent, {Feature::avx512f}, false, true).find("numpy<2.4"), std::string::npos);
  EXPECT_NE(cpu_advice("pyarrow", "", old, {Feature::sse4_1}, false, true).find("ARROW_SIMD_LEVEL=NONE"), std::string::npos);
  EXPECT_EQ(cpu_advice("polars", "", recent, {Feature::avx512f}, false, true).find("lts"), std::string::npos);
  EXPECT_NE(cpu_advice("hnswlib", "", recent, {Feature::avx512f}, false, true).find("HNSWLIB_NO_NATIVE"), std::string::npos);
}

TEST(CpuAdvice, IsForTheVersionThatIsThere) {
  const Cpu cpu = make_cpu("kvm64", level_set(1));
  auto text = [&](std::string_view name, std::string_view version) {
    return cpu_advice(name, version, cpu, psabi_level(3), false, true);
  };
  auto rebuild = [&](std::string_view name, std::string_view version) {
    return text(name, version).find("from source (pip install --no-binary)") != std::string::npos;
  };
  EXPECT_FALSE(rebuild("numpy", "2.4.0"));
  EXPECT_FALSE(rebuild("numpy", "2.10.1rc1"));
  EXPECT_TRUE(rebuild("numpy", "2.3.5"));
  EXPECT_FALSE(rebuild("lxml", "5.2.0"));
  EXPECT_FALSE(rebuild("lxml", "5.1.1"));
  EXPECT_TRUE(rebuild("lxml", "6.1.3"));
  EXPECT_FALSE(rebuild("ssm-simulators", "0.12.5"));
  EXPECT_TRUE(rebuild("ssm-simulators", "0.13.1"));
  EXPECT_FALSE(rebuild("polars", "99"));
  EXPECT_FALSE(rebuild("pyopal", "")); // it may be the one
}

TEST(CpuAdvice, OthersAreRebuiltForTheLevelOfTheCpu) {
  EXPECT_NE(advice("kern").find("build kern from source"), std::string::npos);
  EXPECT_NE(advice("kern").find("'-march=x86-64-v2'"), std::string::npos);
  EXPECT_NE(advice("kern", "kvm64", 1).find("'-march=x86-64'"), std::string::npos);
  EXPECT_NE(advice("").find("-C target-cpu=x86-64-v2"), std::string::npos);
  EXPECT_EQ(advice("").find("from source"), std::string::npos);
}

TEST(CpuAdvice, AGateIsForWhoBuilds) {
  std::string text = cpu_advice("polars", "", make_cpu("x86-64-v3", level_set(3)), {Feature::avx2}, true, true);
  EXPECT_EQ(text.find("lts"), std::string::npos);
  EXPECT_NE(text.find("'-march=x86-64-v3'"), std::string::npos);
}

// Proxmox VE's default and QEMU's: reports of numpy, lxml and many container images.
TEST(CpuAdvice, AVirtualMachineThatHidesFlagsIsToldApart) {
  Cpu cpu = make_cpu("x86-64-v2-AES", level_set(2));
  cpu.hypervisor = "KVM";
  EXPECT_EQ(cpu_advice("kern", "", cpu, {Feature::avx}, false, true).find("virtual machine"), std::string::npos);
  cpu.masked = true;
  std::string text = cpu_advice("lxml", "", cpu, {Feature::avx}, false, true);
  EXPECT_NE(text.find("5.2.1"), std::string::npos);
  EXPECT_NE(text.find("the virtual machine (KVM) hides what its host has: give it the CPU type 'host'"), std::string::npos)
      << text;
  EXPECT_NE(text.find("host-passthrough"), std::string::npos);
  cpu.hypervisor = "unknown";
  EXPECT_EQ(cpu_advice("kern", "", cpu, {Feature::avx}, false, true).find("unknown"), std::string::npos);
  // Without proof that anything fails only this is said.
  EXPECT_TRUE(cpu_advice("kern", "", cpu, {Feature::avx}, false, false).starts_with("the virtual machine hides"));
}

} // namespace
} // namespace isa_audit::test
