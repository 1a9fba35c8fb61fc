#include <gtest/gtest.h>

#include "isa-audit/device/read_device.h"
#include "support/device_builder.h"

using namespace isa_audit;
using namespace isa_audit::test;

namespace {

std::string words(std::initializer_list<uint32_t> list) {
  ByteWriter out;
  for (uint32_t word : list) out.le(word);
  return out.bytes();
}

struct Checked {
  CodeCheck code;
  std::vector<std::string> messages;
};

Checked check(uint32_t flags, const std::string &code, bool decode = true) {
  CodeObjectSpec spec;
  spec.flags = flags;
  spec.code = code;
  std::string file = build_code_object(spec);
  DeviceLimits limits;
  limits.decode = decode;
  Problems problems;
  Bytes bytes = Bytes::borrowed({reinterpret_cast<const uint8_t *>(file.data()), file.size()});
  DeviceCode device = read_device_file(bytes, {}, limits, serial_for, problems);
  Checked out;
  if (device.loose.size() == 1) out.code = device.loose[0].code;
  for (const Problem &p : problems) out.messages.push_back(p.message);
  return out;
}

// v_mfma_f32_32x32x1_2b_f32 a[0:31], v0, v1, a[0:31] exists on gfx90a and not on gfx1100; s_endpgm differs between the two.
constexpr uint32_t kMfma[] = {0xd3c08000, 0x1c020300}, kEnd9 = 0xbf810000, kEnd11 = 0xbfb00000;
// v_mov_b16_e32 v0.l, 0: half a register, of which LLVM's default for gfx1200 and later knows nothing.
constexpr uint32_t kMov16 = 0x7e003880;
constexpr uint32_t kGfx90a = 0x53f, kGfx1100 = 0x41, kGfx940 = 0x540, kGfx942 = 0x54c, kGfx700 = 0x22;

TEST(CheckCode, CodeOfItsProcessor) {
  EXPECT_EQ(check(kGfx90a, words({kMfma[0], kMfma[1], kEnd9})).code.bad, 0u);
  for (uint32_t flags : {0x41u, 0x43u, 0x48u, 0x4eu, 0x49u, 0x54u, 0x59u}) {
    Checked found = check(flags, words({kMov16, kEnd11}));
    EXPECT_EQ(found.code.state, CodeCheck::State::checked) << flags;
    EXPECT_EQ(found.code.functions, 1u) << flags;
    EXPECT_EQ(found.code.bad, 0u) << flags << " " << found.code.first_bad;
    EXPECT_TRUE(found.messages.empty()) << found.messages[0];
  }
  // Withdrawn processors that LLVM 22 has no name for any more.
  for (uint32_t flags : {kGfx940, 0x54bu, kGfx942})
    EXPECT_EQ(check(flags, words({kMfma[0], kMfma[1], kEnd9})).code.functions, 1u);
}

TEST(CheckCode, CodeOfAnotherProcessor) {
  Checked found = check(kGfx1100, words({kEnd11, kMfma[0], kMfma[1]}));
  EXPECT_EQ(found.code.bad, 1u);
  EXPECT_EQ(found.code.first_bad, "code+0x4");
  EXPECT_EQ(check(kGfx90a, words({0xffffffff, 0xffffffff})).code.bad, 1u);
  EXPECT_EQ(check(kGfx940, words({0xffffffff, 0xffffffff})).code.bad, 1u);
  EXPECT_EQ(check(kGfx90a, std::string(3, '\0')).code.bad, 1u) << "cut off";
}

// A source of four registers (cbsz:4, blgp:4) that begins at a250, as petit-kernel 0.0.5 has it.
TEST(CheckCode, NarrowSourcesOfGfx950) {
  constexpr uint32_t kGfx950 = 0x54f, kEnd = 0xbf810000;
  std::string scaled = words({0xd3ac0800, 0x00035f86, 0xd3ad8c08, 0x9c22f1fa, kEnd});
  EXPECT_EQ(check(kGfx950, scaled).code.bad, 0u);
  EXPECT_EQ(check(kGfx950, words({0xd3ad8c08, 0x9c22f1fa, kEnd})).code.bad, 0u);
  EXPECT_EQ(check(kGfx950, words({0xd3ad8c08})).code.bad, 1u) << "cut off";
  EXPECT_EQ(check(kGfx942, words({0xd3ad8c08, 0x9c22f1fa, kEnd})).code.bad, 1u) << "gfx942 has no such instruction";
}

TEST(CheckCode, OnlyWhenAsked) {
  Checked found = check(kGfx90a, words({0xffffffff}), false);
  EXPECT_EQ(found.code.state, CodeCheck::State::not_asked);
  EXPECT_EQ(found.code.bad, 0u);
}

// What LLVM 22 cannot decode for is told, and nothing fails.
TEST(CheckCode, ProcessorsThatCannotBeDecodedFor) {
  for (uint32_t flags : {kGfx700, 0x20u, 0x50u, 0xf0u}) {
    Checked found = check(flags, words({0xffffffff}));
    EXPECT_EQ(found.code.state, CodeCheck::State::unsupported) << flags;
    EXPECT_EQ(found.code.bad, 0u) << flags;
    ASSERT_EQ(found.messages.size(), 1u) << flags;
    EXPECT_NE(found.messages[0].find("was not checked: LLVM"), std::string::npos) << found.messages[0];
  }
}

} // namespace
