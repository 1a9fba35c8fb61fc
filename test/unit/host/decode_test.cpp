// One line for each encoding: bytes, length, features that it needs, features without which it runs as something else.
#include "decode.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

#include "llvm/ADT/StringExtras.h"

namespace isa_audit::host {
namespace {

struct Line {
  const char *bytes;
  int length; // 0: no instruction
  const char *needs = "";
  const char *silent = "";
};

std::string join(const IsaSet &set) {
  std::string text;
  for (const std::string &name : set.names()) text.append(text.empty() ? "" : " ").append(name);
  return text;
}

const Line kLines[] = {
    // Lengths: prefixes, ModRM, SIB, displacements, immediates.
    {"90", 1},
    {"c3", 1},
    {"f3c3", 2},
    {"55", 1},
    {"4889e5", 3},
    {"488d3d00000000", 7},
    {"488b0424", 4},
    {"488b842480000000", 8},
    {"488b042500000000", 8},
    {"8b4508", 3},
    {"e800000000", 5},
    {"66e800000000", 6},
    {"660f8400000000", 7},
    {"eb00", 2},
    {"b878563412", 5},
    {"66b83412", 4},
    {"48b8efcdab8967452301", 10},
    {"c8100000", 4},
    {"f60001", 3},
    {"f6d0", 2},
    {"f70001000000", 6},
    {"66f7000100", 5},
    {"a00000000000000000", 9},
    {"67a000000000", 6},
    {"6666662e0f1f840000000000", 12},
    {"64488b042528000000", 9},
    {"40660f6f00", 5, "sse2"}, // the REX before 66 counts for nothing
    {"f00fb111", 4},
    {"06", 0},
    {"0f04", 0},
    {"6690", 2},
    {"4090", 2},
    {"66666666666666666666666666666690", 0}, // 16 bytes
    // x86-64-v1
    {"0f28c1", 3, "sse"},
    {"660f6fc1", 4, "sse2"},
    {"0f6fc1", 3, "mmx"},
    {"d9c0", 2, "x87"},
    {"0f44c1", 3, "cmov"},
    {"0fc708", 3, "cx8"},
    {"0fae00", 3, "fxsr"},
    // v2
    {"f20f12c1", 4, "sse3"},
    {"660f3800c1", 5, "ssse3"},
    {"0f3800c1", 4, "ssse3"},
    {"480fc708", 4, "cx16"},
    {"660f3a22c101", 6, "sse4.1"},
    {"660f3837c1", 5, "sse4.2"},
    {"f20f38f0c1", 5, "sse4.2"},
    {"66f20f38f1c1", 6, "sse4.2"},
    {"f30fb8c1", 4, "popcnt"},
    {"66f30fb8c1", 5, "popcnt"},
    {"9f", 1, "sahf"},
    // AVX or AVX2, by opcode and vector length, not by register width
    {"c5f9fec2", 4, "avx"},
    {"c5fdfec2", 4, "avx2"},
    {"c5fd6fc1", 4, "avx"},
    {"c5fe6fc1", 4, "avx"},
    {"c5fff000", 4, "avx"},
    {"c5fde700", 4, "avx"},
    {"c4e27d17c1", 5, "avx"},
    {"c4e27958c1", 5, "avx2"},
    {"c4e279780d00000000", 9, "avx2"},
    {"c4e37902c200", 6, "avx2"},
    {"c4e27947c2", 5, "avx2"},
    {"c4e2798c00", 5, "avx2"},
    {"c4e26990040a", 6, "avx2"},
    {"c5f877", 3, "avx"},
    {"c4e27d1a00", 5, "avx"},
    {"c4e27d5a00", 5, "avx2"},
    // the rest of v3
    {"c4e26999c0", 5, "fma"},
    {"c4e27913c1", 5, "f16c"},
    {"c4e278f2c1", 5, "bmi"},
    {"c4e278f3c9", 5, "bmi"},
    {"c4e27bf6d3", 5, "bmi2"},
    {"c4e37bf0c101", 6, "bmi2"},
    {"0f38f000", 4, "movbe"},
    {"0f01d0", 3}, // XGETBV is how one asks
    {"0fae20", 3, "xsave"},
    {"f30fbdc1", 4, "", "lzcnt"},
    {"f3480fbdc1", 5, "", "lzcnt"},
    {"f30fbcc1", 4, "", "bmi"},
    {"0fbcc1", 3},
    // EVEX: VL for packed forms below 512 bits only
    {"62f17c4828c1", 6, "avx512f"},
    {"62f17c2828c1", 6, "avx512f avx512vl"},
    {"62f17c0828c1", 6, "avx512f avx512vl"},
    {"62f17e0858c1", 6, "avx512f"},
    {"62f17d087ec0", 6, "avx512f"},
    {"62f17c1858c1", 6, "avx512f"}, // {rn-sae}: L'L is the rounding mode
    {"62f17c3858c1", 6, "avx512f"},
    {"62f17c385800", 6, "avx512f avx512vl"}, // but in memory forms b is a broadcast
    {"62f1ff086f00", 6, "avx512bw avx512f avx512vl"},
    {"62f1fd48dbc1", 6, "avx512f"},
    {"62f1fd4854c1", 6, "avx512dq avx512f"},
    {"62f2fd48c4c1", 6, "avx512cd avx512f"},
    {"62f27d4850c1", 6, "avx512f avx512vnni"},
    {"62f2fd48b4c1", 6, "avx512f avx512ifma"},
    {"62f27d48cfc1", 6, "avx512f gfni"},
    {"62f27d48dcc1", 6, "avx512f vaes"},
    {"62f37d4844c100", 7, "avx512f vpclmulqdq"},
    {"62f57c4858c1", 6, "avx512f avx512fp16"},
    {"62f17c085840ff", 7, "avx512f avx512vl"}, // disp8*N is one byte
    // opmasks
    {"c5f841c1", 0},
    {"c5f441c2", 4, "avx512f"},
    {"c5f541c2", 4, "avx512dq avx512f"},
    {"c4e1f441c2", 5, "avx512bw avx512f"},
    {"c5f890c1", 4, "avx512f"},
    // crypto and others
    {"660f38dcc1", 5, "aes"},
    {"c4e279dcc1", 5, "aes avx"},
    {"c4e27ddcc1", 5, "vaes"},
    {"660f3a44c100", 6, "pclmul"},
    {"c4e37944c100", 6, "avx pclmul"},
    {"c4e37d44c100", 6, "vpclmulqdq"},
    {"0f38cbc1", 4, "sha"},
    {"660f38cfc1", 5, "gfni"},
    {"c4e279cfc1", 5, "avx gfni"},
    {"660f38f6c1", 5, "adx"},
    {"f30f38f6c1", 5, "adx"},
    {"0fc7f0", 3, "rdrnd"},
    {"0fc7f8", 3, "rdseed"},
    {"f30fc7f8", 4, "rdpid"},
    {"0f01f9", 3, "rdtscp"},
    {"c7f800000000", 6, "rtm"},
    {"660fae38", 4, "clflushopt"},
    {"660fae30", 4, "clwb"},
    {"f30fae00", 0},
    {"f30faec0", 4, "fsgsbase"},
    {"660faef0", 4, "waitpkg"},
    {"c4e27950c1", 5, "avxvnni"},
    {"c4e27b50c1", 5, "avxvnniint8"},
    {"c4e279d2c1", 5, "avxvnniint16"},
    {"c4e2f9b4c1", 5, "avxifma"},
    {"c4e27ab100", 5, "avxneconvert"},
    {"c4e27fcbc1", 5, "avx sha512"},
    {"c4e278dac1", 5, "avx sm3"},
    {"c4e27adac1", 5, "avx sm4"},
    {"c4e279e000", 5, "cmpccxadd"},
    {"0f38fc00", 4, "raoint"},
    {"c4e27b4b0408", 6, "amx-tile"},
    {"c4e2735ec2", 5, "amx-int8"},
    {"c4e2725cc2", 5, "amx-bf16"},
    {"c4e2735cc2", 5, "amx-fp16"},
    {"c4e2716cc2", 5, "amx-complex"},
    {"c4e5718dc2", 0},
    {"c4e571fdc2", 5, "amx-fp8"},
    // harmless where they are missing
    {"f30f1efa", 4},
    {"f3480f1ec8", 5},
    {"0f0d08", 3},
    {"0f0d10", 3},
    {"f390", 2},
    {"f2f00fc101", 5},
    {"0f1c00", 3},
    // AMD
    {"8fe878c0c101", 6, "xop"},
    {"8fe978e2c1", 5, "xop"},
    {"8fe97801c8", 5, "tbm"},
    {"8fea7810c101000000", 9, "tbm"},
    {"8f00", 2},
    {"c4e36968c120", 6, "fma4"},
    {"f20f78c10102", 6, "sse4a"},
    {"0f78c1", 3, "vmx"},
    {"660f78c00102", 6, "sse4a"},
    {"0f0fc1b4", 4, "3dnow"},
    // APX
    {"d5100fafc1", 0},
    {"d590afc1", 4},
    {"d510 01c1", 0},
    {"d51001c1", 4},
    {"d500a1efcdab8967452301", 11},
    {"62f47c1801c1", 6, "apxf"},
    {"62f47c1881c101000000", 10, "apxf"},
    {"62f47d1881c10100", 8, "apxf"},
    {"62f47c0888c1", 6, "apxf popcnt"},
    {"62f27408f2c1", 6, "apxf bmi"},
    // AVX10.2
    {"62f57d4858c1", 6, "avx10.2"},
    {"62f37d4852c100", 7, "avx10.2"},
};

TEST(Decode, OneLineForEachEncoding) {
  for (const Line &line : kLines) {
    std::string bytes;
    if (!llvm::tryGetFromHex(line.bytes, bytes)) continue;
    Insn insn;
    const bool ok = decode({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, insn);
    EXPECT_EQ(ok ? insn.length : 0, line.length) << line.bytes;
    if (!ok) continue;
    const InsnClass &klass = insn_class(insn.klass);
    EXPECT_EQ(join(klass.features), line.needs) << line.bytes;
    EXPECT_EQ(join(klass.silent), line.silent) << line.bytes;
    // Cut short it is no instruction, and nothing beyond the end is read (the sanitizers look).
    for (size_t n = 0; n < bytes.size(); ++n) {
      const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
      EXPECT_TRUE(!decode(cut, insn) || insn.length <= n) << line.bytes;
    }
  }
}

TEST(Decode, OperandsThatControlFlowNeeds) {
  const uint8_t kLea[] = {0x48, 0x8d, 0x3d, 0xfc, 0xff, 0xff, 0xff};
  Insn insn;
  ASSERT_TRUE(decode(kLea, insn));
  EXPECT_TRUE(insn.rip_relative());
  EXPECT_EQ(displacement(kLea, insn), -4);
  EXPECT_EQ(insn.reg(), 7);
  const uint8_t kJump[] = {0xeb, 0xfe};
  ASSERT_TRUE(decode(kJump, insn));
  EXPECT_EQ(immediate(kJump, insn), -2);
  const uint8_t kMove[] = {0x49, 0xbf, 1, 2, 3, 4, 5, 6, 7, 0x80};
  ASSERT_TRUE(decode(kMove, insn));
  EXPECT_EQ(immediate(kMove, insn), static_cast<int64_t>(0x8007060504030201));
  EXPECT_EQ(insn.rex, 9);
}

} // namespace
} // namespace isa_audit::host
