// The encoding space as the generator and the tests walk it.
#pragma once

#include <cstddef>
#include <vector>

#include "../decode.h"

namespace isa_audit::host {

// One point of the encoding space of an opcode. rm is the low three bits; a memory form with rm 4 has a SIB byte.
struct Cell {
  Map map = Map::one;
  uint8_t opcode = 0;
  uint8_t pp = 0, l = 0, reg = 0, rm = 0;
  bool w = false, mod3 = false;
};
inline constexpr size_t kCellCount = 4 * 2 * 4 * 2 * 8 * 8;

constexpr size_t index_of(const Cell &c) {
  return ((((static_cast<size_t>(c.pp) * 2 + c.w) * 4 + c.l) * 2 + c.mod3) * 8 + c.reg) * 8 + c.rm;
}
constexpr Cell cell_of(Map map, uint8_t opcode, size_t at) {
  return {map,
          opcode,
          static_cast<uint8_t>(at >> 10),
          static_cast<uint8_t>(at >> 7 & 3),
          static_cast<uint8_t>(at >> 3 & 7),
          static_cast<uint8_t>(at & 7),
          (at >> 9 & 1) != 0,
          (at >> 6 & 1) != 0};
}

// An instruction of that cell, followed by zeros. vvvv is the register number; mask is EVEX.aaa.
std::vector<uint8_t> cell_bytes(const Cell &cell, uint8_t vvvv, uint8_t mask);

} // namespace isa_audit::host
