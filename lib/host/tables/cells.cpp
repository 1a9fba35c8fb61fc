#include "cells.h"

namespace isa_audit::host {

std::vector<uint8_t> cell_bytes(const Cell &c, uint8_t vvvv, uint8_t mask) {
  static const uint8_t kPrefix[] = {0, 0x66, 0xf3, 0xf2};
  std::vector<uint8_t> out;
  const uint8_t w = c.w ? 0x80 : 0, inverted = static_cast<uint8_t>((~vvvv & 15) << 3);
  const auto three_byte = [&](uint8_t escape, uint8_t map) {
    out = {escape, static_cast<uint8_t>(0xe0 | map), static_cast<uint8_t>(w | inverted | (c.l & 1) << 2 | c.pp)};
  };
  const auto evex = [&](uint8_t map) {
    out = {0x62, static_cast<uint8_t>(0xf0 | map), static_cast<uint8_t>(w | inverted | 4 | c.pp),
           static_cast<uint8_t>(c.l << 5 | 8 | mask)};
  };
  switch (c.map) {
  case Map::vex1: three_byte(0xc4, 1); break;
  case Map::vex2: three_byte(0xc4, 2); break;
  case Map::vex3: three_byte(0xc4, 3); break;
  case Map::vex5: three_byte(0xc4, 5); break;
  case Map::vex7: three_byte(0xc4, 7); break;
  case Map::xop8: three_byte(0x8f, 8); break;
  case Map::xop9: three_byte(0x8f, 9); break;
  case Map::xopa: three_byte(0x8f, 10); break;
  case Map::evex1: evex(1); break;
  case Map::evex2: evex(2); break;
  case Map::evex3: evex(3); break;
  case Map::evex4: evex(4); break;
  case Map::evex5: evex(5); break;
  case Map::evex6: evex(6); break;
  default:
    if (c.pp) out.push_back(kPrefix[c.pp]);
    if (c.w) out.push_back(0x48);
    if (c.map != Map::one) out.push_back(0x0f);
    if (c.map == Map::x0f38) out.push_back(0x38);
    if (c.map == Map::x0f3a) out.push_back(0x3a);
  }
  out.push_back(c.opcode);
  out.push_back(static_cast<uint8_t>((c.mod3 ? 0xc0 : 0) | c.reg << 3 | c.rm));
  if (!c.mod3 && c.rm == 4) out.push_back(0x10); // base rax, index rdx: distinct from most registers of the walk
  out.resize(out.size() + 12);
  return out;
}

} // namespace isa_audit::host
