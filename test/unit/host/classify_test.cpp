// The short way of the decoder agrees with the whole of it, over the encoding space and on bytes at random.
#include "classify.h"
#include "tables/cells.h"

#include "gtest/gtest.h"

#include <random>

#include "llvm/ADT/StringExtras.h"

namespace isa_audit::host {
namespace {

// Compares at the start of `bytes`, which hold kStepRoom bytes or more.
bool agrees(const std::vector<uint8_t> &bytes) {
  Insn insn;
  const bool valid = decode(bytes, insn);
  const Step step = classify_insn(bytes.data(), bytes.size());
  if (!valid) return step.length() == 0;
  const InsnClass &whole = insn_class(insn.klass), &part = insn_class(step.klass());
  return step.length() == insn.length && part.silent == whole.silent &&
         part.features - psabi_level(1) == whole.features - psabi_level(1) &&
         (step.klass() == 0 || step.klass() == insn.klass) && step.rip_relative() == insn.rip_relative() &&
         (!insn.modrm_at || step.modrm() == insn.modrm) && (!insn.rip_relative() || step.imm_size() == insn.imm_size);
}

TEST(Classify, AgreesOverTheEncodingSpace) {
  for (int map = 0; map < static_cast<int>(Map::count_); ++map)
    for (int opcode = 0; opcode < 256; ++opcode)
      for (size_t at = 0; at < kCellCount; ++at) {
        const Cell cell = cell_of(static_cast<Map>(map), static_cast<uint8_t>(opcode), at);
        if (cell.map <= Map::x0f3a ? cell.l != 0 : (cell.rm & 3) != 0) continue;
        std::vector<uint8_t> bytes = cell_bytes(cell, 3, 1);
        bytes.resize(kStepRoom);
        ASSERT_TRUE(agrees(bytes)) << llvm::toHex(bytes, true);
      }
}

TEST(Classify, AgreesOnRandomBytes) {
  // Prefixes and escapes come up often.
  const uint8_t kCommon[] = {0x66, 0xf2, 0xf3, 0x0f, 0x48, 0x41, 0x4c, 0xf0, 0x64, 0x2e, 0x67, 0xc4, 0xc5, 0x62, 0xd5, 0x8f};
  std::mt19937 random(1); // NOLINT(bugprone-random-generator-seed): the same bytes in every run
  for (int i = 0; i < 400000; ++i) {
    std::vector<uint8_t> bytes(kStepRoom);
    for (uint8_t &b : bytes) b = static_cast<uint8_t>(random());
    for (size_t k = random() % 4; k-- > 0;) bytes[k] = kCommon[random() % std::size(kCommon)];
    ASSERT_TRUE(agrees(bytes)) << llvm::toHex(bytes, true);
    // Near the end of what can be read.
    bytes.resize(random() % kStepRoom);
    ASSERT_TRUE(agrees(bytes)) << llvm::toHex(bytes, true);
  }
}

TEST(Classify, TellsWhatChangesTheFlowOfControl) {
  const auto action = [](std::vector<uint8_t> bytes) {
    bytes.resize(kStepRoom);
    return classify_insn(bytes.data()).action();
  };
  EXPECT_EQ(action({0xe8, 0, 0, 0, 0}), Action::call);
  EXPECT_EQ(action({0xe9, 0, 0, 0, 0}), Action::jump);
  EXPECT_EQ(action({0xeb, 0}), Action::jump);
  EXPECT_EQ(action({0x75, 0}), Action::branch);
  EXPECT_EQ(action({0x0f, 0x85, 0, 0, 0, 0}), Action::branch);
  EXPECT_EQ(action({0xf2, 0x0f, 0x85, 0, 0, 0, 0}), Action::branch);
  EXPECT_EQ(action({0xe3, 0}), Action::branch);
  EXPECT_EQ(action({0xf3, 0xc3}), Action::ret);
  EXPECT_EQ(action({0xc3}), Action::ret);
  EXPECT_EQ(action({0xc2, 8, 0}), Action::ret);
  EXPECT_EQ(action({0x0f, 0x0b}), Action::stop);
  EXPECT_EQ(action({0xcc}), Action::stop);
  EXPECT_EQ(action({0xff, 0xe0}), Action::group5);
  EXPECT_EQ(action({0x41, 0xff, 0x14, 0xc4}), Action::group5);
  EXPECT_EQ(action({0x48, 0x8d, 0x05, 0, 0, 0, 0}), Action::lea);
  EXPECT_EQ(action({0x48, 0x8b, 0x05, 0, 0, 0, 0}), Action::load);
  EXPECT_EQ(action({0x64, 0x48, 0x8b, 0x05, 0, 0, 0, 0}), Action::none); // of thread-local storage
  EXPECT_EQ(action({0xbf, 0, 0, 0, 0}), Action::move);
  EXPECT_EQ(action({0x66, 0x90}), Action::pad);
  EXPECT_EQ(action({0x66, 0x0f, 0x1f, 0x44, 0, 0}), Action::pad);
  EXPECT_EQ(action({0x0f, 0xa2}), Action::detect);
  EXPECT_EQ(action({0x0f, 0x01, 0xd0}), Action::detect);
}

} // namespace
} // namespace isa_audit::host
