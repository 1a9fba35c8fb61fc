#include <gtest/gtest.h>

#include "isa-audit/device/read_device.h"
#include "support/device_builder.h"

using namespace isa_audit;
using namespace isa_audit::test;

namespace {

Bytes as_bytes(const std::string &text) {
  return Bytes::borrowed({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

DeviceCode read(const std::string &file, Problems &problems, DeviceLimits limits = {}) {
  return read_device_file(as_bytes(file), {0, "a.aks2", "", 0}, limits, serial_for, problems);
}

std::string object(uint32_t flags, const std::string &kernel) {
  CodeObjectSpec spec;
  spec.flags = flags;
  spec.target = "amdgcn-amd-amdhsa--gfx";
  spec.kernels = {kernel};
  return build_code_object(spec);
}

std::string three_kernels() {
  return build_aks2(
      {{"attn_fwd__a", object(0x54c, "attn_fwd")}, {"attn_fwd__b", ""}, {"attn_fwd__c", object(0x41, "attn_bwd")}});
}

TEST(Aks2, KernelsAreLooseObjects) {
  std::string file = three_kernels();
  ASSERT_STREQ(device_file_format(as_bytes(file)), "aks2");
  Problems problems;
  DeviceCode code = read(file, problems);
  EXPECT_TRUE(problems.empty()) << problems[0].message;
  EXPECT_TRUE(code.standalone);
  EXPECT_TRUE(code.images.empty());
  ASSERT_EQ(code.loose.size(), 2u) << "a kernel that failed to compile has no image";
  EXPECT_EQ(code.loose[0].target.text(), "gfx942");
  EXPECT_EQ(code.loose[1].target.text(), "gfx1100");
  for (const CodeObject &o : code.loose) {
    EXPECT_EQ(o.carrier, Carrier::aks2);
    EXPECT_TRUE(o.loadable);
    EXPECT_EQ(o.kernels.size(), 1u);
  }
  EXPECT_EQ(code.loose_kernel_names, (std::vector<std::string>{"attn_fwd", "attn_bwd"}));
}

TEST(Aks2, WithoutKernelsIsLegal) {
  for (const std::string &file : {build_aks2({}), build_aks2({{"failed", ""}})}) {
    Problems problems;
    EXPECT_TRUE(read(file, problems).empty());
    EXPECT_TRUE(problems.empty()) << problems[0].message;
  }
}

TEST(Aks2, EveryTruncationIsTold) {
  std::string whole = three_kernels();
  for (size_t size = 4; size < whole.size(); ++size) {
    Problems problems;
    DeviceCode code = read(whole.substr(0, size), problems);
    EXPECT_FALSE(problems.empty()) << size;
    EXPECT_LE(code.loose.size(), 2u) << size;
  }
}

TEST(Aks2, NumbersThatLie) {
  struct Lie {
    size_t at;
    uint32_t value;
    const char *message;
  };
  for (const Lie &lie :
       {Lie{4, 0xffffffffu, "cannot be true"}, Lie{4, 300, "more than the 300 uncompressed bytes"},
        Lie{4, 1u << 20, "header claims 1048576"}, Lie{8, 0xffffffffu, "the directory ends before this entry"},
        Lie{8, 1, "its entries take"}, Lie{12, 0xffffffffu, "a directory of 4294967295 bytes"}, Lie{12, 20, "a name of"}}) {
    std::string file = three_kernels();
    std::memcpy(file.data() + lie.at, &lie.value, 4);
    Problems problems;
    read(file, problems);
    std::string all;
    for (const Problem &p : problems) all += p.message + "\n";
    EXPECT_NE(all.find(lie.message), std::string::npos) << lie.at << " " << lie.value << ": " << all;
  }
}

TEST(Aks2, BeyondTheLimit) {
  Problems problems;
  DeviceLimits limits;
  limits.max_bundle = 100;
  EXPECT_TRUE(read(three_kernels(), problems, limits).empty());
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].message.find("beyond the limit of 100 bytes"), std::string::npos);
}

TEST(Aks2, AKernelThatIsNoCodeObject) {
  Problems problems;
  DeviceCode code = read(build_aks2({{"a", "just text"}, {"b", object(0x54c, "k")}}), problems);
  EXPECT_EQ(code.loose.size(), 1u);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].origin.text(), "a.aks2:kernel 0");
}

} // namespace
