// The decoder's short way, for the pass over all code of a file: length and class of an instruction, and whether it is one that
// the pass has to look at. Agrees with decode() on every instruction; what is rare is left to it.
//
// Most instructions of real code are one byte of opcode after at most a REX. They take three loads: what the first byte
// shifts out, the word of the opcode, the length of what ModRM brings. All of it is kept free of branches that real code
// makes unpredictable; a wrong guess costs more than the rest of an instruction.
#pragma once

#include <cstring>

#include "decode.h"

namespace isa_audit::host {

// What an instruction does to control flow, as far as the pass cares.
enum class Action : uint8_t {
  none,
  lea,  // matters when relative to RIP
  load, // MOV from memory: the same
  move, // MOV of an immediate, which may be an address in a file that is not position independent
  // From here on instructions are looked at whatever they refer to.
  pad, // NOP
  call,
  jump,
  branch,
  ret,
  stop,   // does not go on: UD2, INT3, HLT
  group5, // FF: indirect calls and jumps, and others
  scan,   // BSF or TZCNT
  detect, // CPUID, XGETBV, RDSSP and their neighbours
};

// One word, so that it stays in a register.
class Step {
public:
  Step() = default; // undefined: room to be filled
  // Of an opcode's word, the row of its ModRM and its ModRM: as kTables has them.
  Step(uint32_t word, unsigned length, unsigned row, unsigned modrm)
      : bits_(word | static_cast<uint64_t>(length | row << 8 | modrm << 16) << 32) {}
  Step(Action action, uint8_t klass, unsigned length, unsigned imm_size, bool rip_relative, uint8_t modrm)
      : Step(static_cast<uint32_t>(action) << 24 | static_cast<uint32_t>(klass) << 16 | imm_size << 12, length,
             rip_relative ? kRip : 0, modrm) {}
  static Step none() { return {0, 0, 0, 0}; }

  // 0: no valid instruction.
  unsigned length() const { return bits_ >> 32 & 255; }
  // An index for insn_class(); 0 too for what needs no more than x86-64-v1.
  uint8_t klass() const { return static_cast<uint8_t>(bits_ >> 16); }
  Action action() const { return static_cast<Action>(bits_ >> 24 & 255); }
  bool rip_relative() const { return bits_ >> 40 & kRip; }
  unsigned imm_size() const { return bits_ >> 12 & 15; }
  uint8_t modrm() const { return static_cast<uint8_t>(bits_ >> 48); } // undefined if there is none
  // False for what does no more than compute.
  bool worth_a_look() const {
    return static_cast<uint32_t>(bits_) >= static_cast<uint32_t>(Action::pad) << 24 || (bits_ & kWorth);
  }

  static constexpr uint8_t kRip = 1U << 5;

private:
  static constexpr uint64_t kWorth = uint64_t{0xff} << 16 | uint64_t{kRip} << 40;
  uint64_t bits_;
};

namespace classify {

// A word of an opcode: bits 0 to 5 which of `groups` tells the forms that the word is for, 0: all; kMemory: no register form;
// kModrm; bits 8 to 11 the length of opcode, ModRM and immediate; bits 12 to 14 immediate bytes; kOther: a prefix, an escape,
// or what more than the opcode decides; bits 16 to 23 class; bits 24 to 31 Action.
inline constexpr uint32_t kGroup = 63, kMemory = 1U << 6, kModrm = 1U << 7, kOther = 1U << 15;
// A row of ModRM: bits 0 to 2 bytes of SIB and displacement; Step::kRip; and, in the places of kMemory and kModrm: it is a
// register form; a SIB byte follows, whose base 5 brings four bytes more.
struct Tables {
  std::array<uint32_t, 2 * 4 * 2 * 256> words; // by map, mandatory prefix, W, opcode
  std::array<uint16_t, 256> leads;             // by first byte: bits 0 to 5 how far to shift it out, 8 W, 9 and 10 a prefix
  std::array<uint8_t, 256> rows;
  std::array<uint16_t, kGroup + 1> groups; // one bit for each form: ModRM.reg, 8 more for a register form
};
extern const Tables kTables;
// The same words for VEX, maps 0F, 0F 38 and 0F 3A.
struct VexTable {
  std::array<uint32_t, 4 * 2 * 2 * 256> words; // by mandatory prefix, W, L, opcode
  std::array<uint16_t, kGroup + 1> groups;
};
extern const VexTable *const kVexTables[4]; // by map; null where there is none

inline uint64_t load(const uint8_t *p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// Everything else. `at` has kStepRoom readable bytes.
Step other(const uint8_t *at);
// Near the end of the bytes.
Step last(const uint8_t *at, size_t left);

// `bytes` start with the opcode, `before` bytes after `at`.
inline Step finish(const uint8_t *at, uint64_t bytes, uint32_t word, unsigned before,
                   const std::array<uint16_t, kGroup + 1> &groups = kTables.groups) {
  const auto modrm = static_cast<uint8_t>(bytes >> 8);
  unsigned row = kTables.rows[word & kModrm ? modrm : 0xc0];
  if ((row & word & (kMemory | kModrm)) | (word & kGroup)) [[unlikely]] {
    const unsigned form = (modrm >> 3 & 7) | (modrm >= 0xc0 ? 8 : 0);
    if ((word & row & kMemory) || !(groups[word & kGroup] >> form & 1)) return other(at);
    if (row & word & kModrm) row += (bytes >> 16 & 7) == 5 ? 4 : 0;
  }
  return {word, before + (word >> 8 & 15) + (row & 7), row, modrm};
}

// VEX: C5 RvvvvLpp, or C4 RXBmmmmm WvvvvLpp.
inline Step vex(const uint8_t *at, uint64_t bytes) {
  const bool is_long = (bytes & 0xff) == 0xc4;
  const unsigned map = is_long ? bytes >> 8 & 31 : 1;
  const VexTable *table = map < 4 ? kVexTables[map] : nullptr;
  if (!table) return other(at);
  const unsigned last = is_long ? bytes >> 16 & 0xff : bytes >> 8 & 0x7f; // C5 has R in the place of W
  bytes >>= is_long ? 24 : 16;
  const uint32_t word = table->words[(last & 3) << 10 | (last & 0x80) << 2 | (last & 4) << 6 | (bytes & 0xff)];
  return word & kOther ? other(at) : finish(at, bytes, word, is_long ? 3 : 2, table->groups);
}

} // namespace classify

inline constexpr size_t kStepRoom = 24; // bytes that the short way may read

// The instruction at `at`, where kStepRoom bytes can be read. Length 0: no valid instruction.
inline Step classify_insn(const uint8_t *at) {
  using namespace classify;
  uint64_t bytes = load(at);
  unsigned lead = kTables.leads[bytes & 0xff];
  bytes >>= lead & 63;
  uint32_t word = kTables.words[(lead & 0x100) | (bytes & 0xff)];
  if (!(word & kOther)) return finish(at, bytes, word, (lead & 63) / 8);
  bytes = load(at);
  if ((bytes & 0xfe) == 0xc4) return vex(at, bytes);
  // [66, F3 or F2] [REX] [0F] opcode
  const unsigned prefix = kTables.leads[bytes & 0xff] & 0x600;
  unsigned before = prefix ? 1 : 0;
  bytes >>= before * 8;
  lead = kTables.leads[bytes & 0xff];
  bytes >>= lead & 63;
  const unsigned escape = (bytes & 0xff) == 0x0f;
  bytes >>= escape * 8;
  before += (lead & 63) / 8 + escape;
  word = kTables.words[escape << 11 | prefix | (lead & 0x100) | (bytes & 0xff)];
  if (!(word & kOther)) return finish(at, bytes, word, before);
  return other(at);
}

// The same where `left` bytes can be read; also length 0: the instruction does not end inside.
inline Step classify_insn(const uint8_t *at, size_t left) {
  return left >= kStepRoom ? classify_insn(at) : classify::last(at, left);
}

} // namespace isa_audit::host
