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

// Many symbols over the same bytes must not multiply the work.
TEST(CheckCode, OverlappingFunctions) {
  ByteWriter symbols;
  symbols.pad_to(24);
  for (uint64_t at = 0; at < 64; at += 4)
    symbols.le(uint32_t(1)).le(uint8_t(0x12)).le(uint8_t(0)).le(uint16_t(1)).le(256 + at).le(uint64_t(4096));
  ElfSpec spec;
  spec.os_abi = 64;
  spec.abi_version = 4;
  spec.machine = 224;
  spec.flags = kGfx942;
  std::string code;
  for (int i = 0; i < 2048; ++i) code += words({0xbf800000});
  spec.sections.push_back({".text", 1, 6, code, 256});
  spec.sections.push_back({".strtab", 3, 0, std::string("\0f\0", 3), 1});
  spec.sections.push_back({".symtab", 2, 0, symbols.bytes(), 8, 2, 24});
  std::string file = build_elf(spec);
  DeviceLimits limits;
  limits.decode = true;
  Problems problems;
  DeviceCode device = read_device_file(Bytes::borrowed({reinterpret_cast<const uint8_t *>(file.data()), file.size()}), {},
                                       limits, serial_for, problems);
  const CodeCheck &check = device.loose.at(0).code;
  EXPECT_EQ(check.bad, 1u);
  EXPECT_LT(check.functions, 4u);
  EXPECT_EQ(check.first_bad, "f, which overlaps other functions");
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
