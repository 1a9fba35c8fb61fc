// The parts of the generator.
#pragma once

#include <Zydis/Zydis.h>

#include "cells.h"
#include "keys.h"

namespace isa_audit::host {

// The features of an instruction that Zydis decoded.
InsnClass class_of(const ZydisDecodedInstruction &insn);
// True if Zydis 4.0 has this opcode map at all.
bool zydis_knows(Map map);

// An entry that Zydis 4.0 lacks. Masks have one bit for each value.
struct Newer {
  Map map;
  uint8_t first, last;   // opcodes
  uint8_t pp, w, l, mod; // masks: pp 1 none, 2 66, 4 F3, 8 F2; w; l; mod 1 memory, 2 register
  uint8_t reg;           // mask of ModRM.reg
  InsnClass klass;
  const char *manual;
  bool replaces = false; // Zydis has something else there
  uint8_t rm = 0xff;     // mask of ModRM.rm
  uint16_t low = 0xffff; // mask of the opcode's low four bits
};
const Newer *find_newer(const Cell &cell);
uint8_t newer_form(Map map, uint8_t opcode);

} // namespace isa_audit::host
