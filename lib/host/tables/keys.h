// What the generator and the decoder agree on: how the tables of x86_tables.inc are laid out.
#pragma once

#include <cstdint>

namespace isa_audit::host {

// Immediate bytes after an opcode. z: 4, or 2 with prefix 66; v: as z, 8 with REX.W; group3: only for ModRM.reg 0 and 1;
// extrq: two bytes with prefix 66 or F2, none otherwise (VMREAD); q: JMPABS of APX.
enum class Imm : uint8_t { none, b, w, z, v, d, wb, moffs, group3b, group3z, extrq };

// A form: bit 7 = has ModRM, bits 0 to 3 = Imm.
inline constexpr uint8_t kFormModrm = 0x80;

// A word of the decision tree. Below kNodeBit: a class, kInvalidClass for none. Else the index of a node: its first word is
// the Dimension to look at, then one word for each value.
inline constexpr uint16_t kNodeBit = 0x8000;
inline constexpr uint16_t kInvalidClass = 0x7fff;
enum class Dimension : uint8_t { pp, mod, reg, rm, w, l };
inline constexpr int kDimensionSize[] = {4, 2, 8, 8, 2, 4};

} // namespace isa_audit::host
