#include <gtest/gtest.h>

#include "isa-audit/device/read_device.h"
#include "support/device_builder.h"

using namespace isa_audit;
using namespace isa_audit::test;

namespace {

Bytes as_bytes(const std::string &text) {
  return Bytes::borrowed({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

std::string bundle() { return build_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", build_code_object({})}}); }

DeviceCode read(const std::string &file, Problems &problems) {
  return read_pe_device(as_bytes(file), {0, "a.dll", "", 0}, {}, serial_for, problems);
}

TEST(Pe, BundlesUnderTheCutName) {
  std::string file =
      build_pe({{".text", std::string(64, '\x90'), 0x60000020}, {".hip_fat", bundle() + build_ccob(bundle(), 2, 1)}});
  EXPECT_STREQ(pe_format(as_bytes(file)), "pe-x86_64");
  EXPECT_STREQ(pe_format(as_bytes(build_pe({}, 0xaa64))), "pe-aarch64");
  EXPECT_FALSE(is_device_file(as_bytes(file)));
  Problems problems;
  DeviceCode code = read(file, problems);
  EXPECT_TRUE(problems.empty()) << problems[0].message;
  ASSERT_EQ(code.images.size(), 2u);
  EXPECT_EQ(code.images[0].place, ".hip_fat+0x0");
  EXPECT_EQ(code.images[1].code_objects.at(0).target.text(), "gfx942");
  EXPECT_FALSE(code.standalone);
}

TEST(Pe, AnyDataSectionIsSearchedAndCodeIsNot) {
  Problems problems;
  EXPECT_EQ(
      read(build_pe({{"/22", bundle()}, {".rdata", ByteWriter().raw("x").raw(bundle()).bytes()}}), problems).images.size(), 2u);
  EXPECT_TRUE(read(build_pe({{".text", bundle(), 0x60000020}}), problems).empty());
  EXPECT_TRUE(problems.empty());
}

TEST(Pe, NvidiaContainers) {
  ByteWriter fatbin;
  fatbin.le(uint32_t(0xba55ed50)).le(uint16_t(1)).le(uint16_t(16)).le(uint64_t(64));
  fatbin.le(uint16_t(2)).le(uint16_t(0x101)).le(uint32_t(40)).le(uint64_t(24)).pad_to(16 + 28).le(uint32_t(90)).pad_to(16 + 64);
  Problems problems;
  DeviceCode code = read(build_pe({{".nv_fatb", fatbin.bytes()}}), problems);
  EXPECT_TRUE(problems.empty()) << problems[0].message;
  ASSERT_EQ(code.nvidia.size(), 1u);
  EXPECT_EQ(code.nvidia[0].code_objects.at(0).target.text(), "sm_90");
}

TEST(Pe, DosProgramsAndShortFilesAreNone) {
  EXPECT_EQ(pe_format(as_bytes("MZ")), nullptr);
  for (char fill : {'\xff', '\0'}) {
    std::string file(200, fill);
    file.replace(0, 2, "MZ");
    EXPECT_EQ(pe_format(as_bytes(file)), nullptr);
  }
}

TEST(Pe, EveryTruncationIsToldAndNeverMore) {
  std::string whole = build_pe({{".hip_fat", build_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", build_code_object({})}}, 1)}});
  for (size_t size = 0; size < whole.size(); ++size) {
    Problems problems;
    EXPECT_LE(read(whole.substr(0, size), problems).images.size(), 1u);
    EXPECT_FALSE(problems.empty()) << size;
  }
}

TEST(TextBundle, IsNamedAndNotLoadable) {
  for (const char *comment : {"#", ";", "//"}) {
    std::string mark = std::string(comment) + " __CLANG_OFFLOAD_BUNDLE____";
    std::string text = mark + "START__ hip-amdgcn-amd-amdhsa--gfx942\n s_endpgm\n" + mark +
                       "END__ hip-amdgcn-amd-amdhsa--gfx942\n\n" + mark + "START__ host-x86_64-unknown-linux-gnu-\n ret\n";
    ASSERT_STREQ(device_file_format(as_bytes(text)), "text-bundle");
    Problems problems;
    EXPECT_TRUE(read_device_file(as_bytes(text), {}, {}, serial_for, problems).empty());
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].level, Level::note);
    EXPECT_NE(problems[0].message.find("hip-amdgcn-amd-amdhsa--gfx942, host-x86_64-unknown-linux-gnu-"), std::string::npos);
  }
  EXPECT_FALSE(is_device_file(as_bytes("# __CLANG_OFFLOAD_BUNDLE__ is the magic")));
}

} // namespace
