// Our own x86-64 decoder: length, opcode, what an analysis of control flow needs, and the CPU features of each encoding.
//
// It is a classifier, not a disassembler: operands are left as ModRM and SIB. One call reads one instruction, touches three
// generated tables (tables/x86_tables.inc) and allocates nothing. Sixty million instructions of a large library take less
// than a second on one core.
//
// Layout of an instruction: legacy prefixes, then REX, REX2, VEX, EVEX or XOP, opcode, ModRM, SIB, displacement, immediate
// (Intel SDM volume 2A chapter 2, Intel APX specification chapter 3, AMD APM volume 6 for XOP).
// Traps: C4, C5 and 62 are always VEX and EVEX in 64-bit mode; 8F is XOP only if its map field is 8 or more, else POP; a REX
// that another legacy prefix follows is ignored; F3 or F2 beats 66 as mandatory prefix, the later of the two wins; EVEX.b on
// a register form makes L'L the rounding mode, so the vector is 512 bits long; near branches ignore 66 in 64-bit mode.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "isa-audit/host/feature.h"

namespace isa_audit::host {

// An opcode table of the processor. vex1 is VEX map 0F, and so on; evex4 is APX's promoted legacy map.
enum class Map : uint8_t {
  one,
  x0f,
  x0f38,
  x0f3a,
  vex1,
  vex2,
  vex3,
  vex5,
  vex7,
  evex1,
  evex2,
  evex3,
  evex4,
  evex5,
  evex6,
  xop8,
  xop9,
  xopa,
  count_
};

// What an encoding needs of a CPU. Few exist: an instruction holds the index.
struct InsnClass {
  IsaSet features; // without them: invalid opcode
  IsaSet silent;   // without them: runs as another instruction, no fault
};
const InsnClass &insn_class(uint16_t index);
size_t insn_class_count();
inline constexpr size_t kMaxClasses = 256; // so that a set of classes is four words

struct Insn {
  uint8_t length = 0; // bytes, 1 to 15
  Map map = Map::one;
  uint8_t opcode = 0;
  uint8_t modrm = 0;
  uint8_t modrm_at = 0;    // offset of ModRM; 0: none
  uint8_t disp_at = 0;     // offset of the displacement; 0: none
  uint8_t disp_size = 0;   // 0, 1, 4 (8 for the absolute addresses of A0 to A3)
  uint8_t imm_size = 0;    // bytes at the end of the instruction
  uint8_t rex = 0;         // W, R, X, B as in REX (8, 4, 2, 1), from whichever prefix carries them
  uint8_t pp = 0;          // mandatory prefix: 0, 1 (66), 2 (F3), 3 (F2)
  uint8_t vvvv = 0;        // second source register of VEX, EVEX and XOP
  uint8_t length_bits = 0; // VEX.L or EVEX.L'L
  bool operand16 = false;  // prefix 66
  bool segment = false;    // FS or GS
  bool apx = false;        // REX2, or an extended register in EVEX
  uint16_t klass = 0;      // index for insn_class()

  uint8_t mod() const { return modrm >> 6; }
  uint8_t reg() const { return (modrm >> 3) & 7; }
  uint8_t rm() const { return modrm & 7; }
  bool rip_relative() const { return modrm_at && (modrm & 0xc7) == 5; }
};

// Reads the instruction at the start of `code`, which may hold more. False: no valid instruction, or it does not end inside.
bool decode(std::span<const uint8_t> code, Insn &insn);

// The displacement and the immediate, sign-extended, of an instruction that starts at `at`.
int64_t displacement(const uint8_t *at, const Insn &insn);
int64_t immediate(const uint8_t *at, const Insn &insn);

} // namespace isa_audit::host
