// Encodings that are newer than Zydis 4.0, each with the manual that defines it.
#include "generate.h"

namespace isa_audit::host {

namespace {

using enum Feature;

constexpr uint8_t kNp = 1, k66 = 2, kF3 = 4, kF2 = 8, kAnyPp = 15;
constexpr uint8_t kW0 = 1, kW1 = 2, kAnyW = 3;
constexpr uint8_t kL128 = 1, kL256 = 2, kL512 = 4, kAnyL = 15, kPacked = 7;
constexpr uint8_t kMem = 1, kReg = 2, kAnyMod = 3;
constexpr uint8_t kAll = 0xff;

const char *const kIse = "Intel Architecture Instruction Set Extensions and Future Features, 319433";
const char *const kApx = "Intel APX Architecture Specification, 355828";
const char *const kAvx10 = "Intel AVX10.2 Architecture Specification, 361050";
const char *const kSdm = "Intel SDM volume 2";
const char *const k3dnow = "AMD 3DNow! Technology Manual, 21928";

const Newer kNewer[] = {
    {Map::x0f, 0x0f, 0x0f, kAnyPp, kAnyW, kAnyL, kAnyMod, kAll, {{threednow}, {}}, k3dnow},

    // Legacy maps. Those of the operating system need no feature of a program.
    {Map::x0f, 0x00, 0x00, kF2, kAnyW, kAnyL, kAnyMod, 1 << 6, {}, kSdm},                  // LKGS
    {Map::x0f, 0x01, 0x01, kNp | kF3 | kF2, kAnyW, kAnyL, kReg, 1, {}, kIse, false, 0xc0}, // WRMSRNS, RDMSRLIST, WRMSRLIST,
                                                                                           // PBNDKB
    {Map::x0f, 0x01, 0x01, kF3 | kF2, kAnyW, kAnyL, kReg, 2, {}, kSdm, false, 0x04},       // ERETS, ERETU
    {Map::x0f38, 0x8a, 0x8a, kNp, kAnyW, kAnyL, kMem, kAll, {{movrs}, {}}, kIse},
    {Map::x0f38, 0x8b, 0x8b, kNp | k66, kAnyW, kAnyL, kMem, kAll, {{movrs}, {}}, kIse},
    {Map::x0f38, 0xf8, 0xf8, kF3 | kF2, kW0, kAnyL, kReg, kAll, {{usermsr}, {}}, kIse},
    {Map::x0f38, 0xfc, 0xfc, kAnyPp, kAnyW, kAnyL, kMem, kAll, {{raoint}, {}}, kIse},

    // VEX.
    {Map::vex2, 0x48, 0x48, k66, kW0, kL128, kReg, kAll, {{amx_tf32}, {}}, kIse},
    {Map::vex2, 0x4a, 0x4a, k66 | kF2, kW0, kL128, kMem, kAll, {{amx_movrs}, {}}, kIse},
    {Map::vex2, 0x50, 0x51, kNp | kF3 | kF2, kW0, kL128 | kL256, kAnyMod, kAll, {{avxvnniint8}, {}}, kIse},
    {Map::vex2, 0x5c, 0x5c, kF2, kW0, kL128, kReg, kAll, {{amx_fp16}, {}}, kIse},
    {Map::vex2, 0x6c, 0x6c, kNp | k66, kW0, kL128, kReg, kAll, {{amx_complex}, {}}, kIse},
    {Map::vex2, 0x72, 0x72, kF3, kW0, kL128 | kL256, kAnyMod, kAll, {{avxneconvert}, {}}, kIse},
    {Map::vex2, 0xb0, 0xb0, kAnyPp, kW0, kL128 | kL256, kMem, kAll, {{avxneconvert}, {}}, kIse},
    {Map::vex2, 0xb1, 0xb1, k66 | kF3, kW0, kL128 | kL256, kMem, kAll, {{avxneconvert}, {}}, kIse},
    {Map::vex2, 0xb4, 0xb5, k66, kW1, kL128 | kL256, kAnyMod, kAll, {{avxifma}, {}}, kIse},
    {Map::vex2, 0xcb, 0xcd, kF2, kW0, kL256, kReg, kAll, {{avx, sha512}, {}}, kIse},
    {Map::vex2, 0xd2, 0xd3, kNp | k66 | kF3, kW0, kL128 | kL256, kAnyMod, kAll, {{avxvnniint16}, {}}, kIse},
    {Map::vex2, 0xda, 0xda, kNp | k66, kW0, kL128, kAnyMod, kAll, {{avx, sm3}, {}}, kIse},
    {Map::vex2, 0xda, 0xda, kF3 | kF2, kW0, kL128 | kL256, kAnyMod, kAll, {{avx, sm4}, {}}, kIse},
    {Map::vex2, 0xe0, 0xef, k66, kAnyW, kL128, kMem, kAll, {{cmpccxadd}, {}}, kIse},
    {Map::vex3, 0xde, 0xde, k66, kW0, kL128, kAnyMod, kAll, {{avx, sm3}, {}}, kIse},
    {Map::vex5, 0xfd, 0xfd, kAnyPp, kW0, kL128, kReg, kAll, {{amx_fp8}, {}}, kIse},
    {Map::vex7, 0xf6, 0xf6, kF3 | kF2, kW0, kL128, kReg, 1, {}, kIse}, // RDMSR, WRMSRNS with an immediate
    {Map::vex7, 0xf8, 0xf8, kF3 | kF2, kW0, kL128, kReg, 1, {{usermsr}, {}}, kIse},

    // EVEX of AVX10.2 and AMX-AVX512.
    {Map::evex1, 0x2e, 0x2f, kF3, kW0, kAnyL, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex1, 0x2e, 0x2f, kF2, kW1, kAnyL, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex1, 0x7e, 0x7e, kF3, kW0, kL128, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex1, 0xd6, 0xd6, k66, kW0, kL128, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex2, 0x4a, 0x4a, k66 | kF3, kW0, kL512, kReg, kAll, {{amx_avx512}, {}}, kIse},
    {Map::evex2, 0x6d, 0x6d, kAnyPp, kW0, kL512, kReg, kAll, {{amx_avx512}, {}}, kIse},
    {Map::evex2, 0x50, 0x51, kNp | kF3 | kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex2, 0x52, 0x52, kNp, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex2, 0x67, 0x67, k66, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex2, 0x74, 0x74, kNp | kF3 | kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex2, 0xd2, 0xd3, kNp | k66 | kF3, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex2, 0xda, 0xda, kF3 | kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2, sm4}, {}}, kAvx10},
    {Map::evex3, 0x07, 0x07, kAnyPp, kW0, kL512, kReg, kAll, {{amx_avx512}, {}}, kIse},
    {Map::evex3, 0x77, 0x77, kF3 | kF2, kW0, kL512, kReg, kAll, {{amx_avx512}, {}}, kIse},
    {Map::evex3, 0x08, 0x08, kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex3, 0x26, 0x26, kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex3, 0x42, 0x42, kF3, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex3, 0x52, 0x52, kNp | kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex3, 0x52, 0x52, k66, kAnyW, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex3, 0x53, 0x53, kNp, kW0, kAnyL, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex3, 0x53, 0x53, k66, kAnyW, kAnyL, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex3, 0x56, 0x56, kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex3, 0x66, 0x66, kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex3, 0xc2, 0xc2, kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x18, 0x18, kNp | kF3 | kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x1b, 0x1b, kNp | kF3 | kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x1e, 0x1e, kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x2e, 0x2f, kF3, kW0, kAnyL, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x2f, 0x2f, k66, kW0, kAnyL, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x51, 0x51, k66, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x58, 0x59, k66, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x5c, 0x5f, k66, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x68, 0x6b, kNp | k66 | kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x6c, 0x6d, kNp | k66, kAnyW, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x6c, 0x6d, kF3 | kF2, kAnyW, kAnyL, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x6e, 0x6e, kF3, kW0, kL128, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x7e, 0x7e, kF3, kW0, kL128, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex5, 0x6f, 0x6f, kF3 | kF2, kAnyW, kPacked, kMem, kAll, {{avx10_2, movrs}, {}}, kIse},
    {Map::evex5, 0x74, 0x74, kNp | kF3 | kF2, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex6, 0x2c, 0x2c, kNp, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex6, 0x42, 0x42, kNp, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex6, 0x4c, 0x4c, kNp, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex6, 0x4e, 0x4e, kNp, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10},
    {Map::evex6, 0x98, 0xbf, kNp, kW0, kPacked, kAnyMod, kAll, {{avx10_2}, {}}, kAvx10, false, 0xff, 0x5500},

    // EVEX forms of VEX instructions on 32 general registers.
    {Map::evex1, 0x90, 0x90, kNp, kW0, kL128, kAnyMod, kAll, {{apx, avx512f}, {}}, kApx},
    {Map::evex1, 0x90, 0x90, k66, kW0, kL128, kAnyMod, kAll, {{apx, avx512dq, avx512f}, {}}, kApx},
    {Map::evex1, 0x90, 0x90, kNp | k66, kW1, kL128, kAnyMod, kAll, {{apx, avx512bw, avx512f}, {}}, kApx},
    {Map::evex1, 0x91, 0x91, kNp, kW0, kL128, kMem, kAll, {{apx, avx512f}, {}}, kApx},
    {Map::evex1, 0x91, 0x91, k66, kW0, kL128, kMem, kAll, {{apx, avx512dq, avx512f}, {}}, kApx},
    {Map::evex1, 0x91, 0x91, kNp | k66, kW1, kL128, kMem, kAll, {{apx, avx512bw, avx512f}, {}}, kApx},
    {Map::evex1, 0x92, 0x93, kNp, kW0, kL128, kReg, kAll, {{apx, avx512f}, {}}, kApx},
    {Map::evex1, 0x92, 0x93, k66, kW0, kL128, kReg, kAll, {{apx, avx512dq, avx512f}, {}}, kApx},
    {Map::evex1, 0x92, 0x93, kF2, kAnyW, kL128, kReg, kAll, {{apx, avx512bw, avx512f}, {}}, kApx},
    {Map::evex2, 0x49, 0x49, kNp | k66, kW0, kL128, kMem, 1, {{amx_tile, apx}, {}}, kApx},
    {Map::evex2, 0x4a, 0x4a, k66 | kF2, kW0, kL128, kMem, kAll, {{amx_movrs, apx}, {}}, kApx},
    {Map::evex2, 0x4b, 0x4b, k66 | kF3 | kF2, kW0, kL128, kMem, kAll, {{amx_tile, apx}, {}}, kApx},
    {Map::evex2, 0xe0, 0xef, k66, kAnyW, kL128, kMem, kAll, {{apx, cmpccxadd}, {}}, kApx},
    {Map::evex2, 0xf2, 0xf2, kNp, kAnyW, kL128, kAnyMod, kAll, {{apx, bmi}, {}}, kApx},
    {Map::evex2, 0xf3, 0xf3, kNp, kAnyW, kL128, kAnyMod, 0x0e, {{apx, bmi}, {}}, kApx},
    {Map::evex2, 0xf5, 0xf5, kNp | kF3 | kF2, kAnyW, kL128, kAnyMod, kAll, {{apx, bmi2}, {}}, kApx},
    {Map::evex2, 0xf6, 0xf6, kF2, kAnyW, kL128, kAnyMod, kAll, {{apx, bmi2}, {}}, kApx},
    {Map::evex2, 0xf7, 0xf7, kNp, kAnyW, kL128, kAnyMod, kAll, {{apx, bmi}, {}}, kApx},
    {Map::evex2, 0xf7, 0xf7, k66 | kF3 | kF2, kAnyW, kL128, kAnyMod, kAll, {{apx, bmi2}, {}}, kApx},
    {Map::evex3, 0xf0, 0xf0, kF2, kAnyW, kL128, kAnyMod, kAll, {{apx, bmi2}, {}}, kApx},

    // EVEX map 4: the legacy instructions with a new destination, without flags, or on condition.
    {Map::evex4, 0x00, 0x3b, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx, false, 0xff, 0x0f0f},
    {Map::evex4, 0x24, 0x24, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0x2c, 0x2c, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0x40, 0x4f, kNp | k66 | kF2, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0x60, 0x61, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx, movbe}, {}}, kApx},
    {Map::evex4, 0x65, 0x65, k66, kAnyW, kL128, kMem, kAll, {{apx, shstk}, {}}, kApx},
    {Map::evex4, 0x66, 0x66, kNp, kAnyW, kL128, kMem, kAll, {{apx, shstk}, {}}, kApx},
    {Map::evex4, 0x66, 0x66, k66 | kF3, kAnyW, kL128, kAnyMod, kAll, {{adx, apx}, {}}, kApx},
    {Map::evex4, 0x69, 0x69, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0x6b, 0x6b, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0x80, 0x81, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0x83, 0x85, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0x88, 0x88, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx, popcnt}, {}}, kApx},
    {Map::evex4, 0x8a, 0x8b, kNp | k66, kAnyW, kL128, kMem, kAll, {{apx, movrs}, {}}, kApx},
    {Map::evex4, 0xa5, 0xa5, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0xad, 0xad, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0xaf, 0xaf, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0xc0, 0xc1, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0xd0, 0xd3, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0xf0, 0xf1, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx, sse4_2}, {}}, kApx},
    {Map::evex4, 0xf0, 0xf1, kF3, kAnyW, kL128, kMem, kAll, {{apx, vmx}, {}}, kApx},
    {Map::evex4, 0xf2, 0xf2, kF3, kAnyW, kL128, kMem, kAll, {{apx, invpcid}, {}}, kApx},
    {Map::evex4, 0xf4, 0xf4, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx, bmi}, {}}, kApx},
    {Map::evex4, 0xf5, 0xf5, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx, lzcnt}, {}}, kApx},
    {Map::evex4, 0xf6, 0xf7, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    {Map::evex4, 0xf8, 0xf8, k66, kAnyW, kL128, kMem, kAll, {{apx, movdir64b}, {}}, kApx},
    {Map::evex4, 0xf8, 0xf8, kF3 | kF2, kAnyW, kL128, kMem, kAll, {{apx, enqcmd}, {}}, kApx},
    {Map::evex4, 0xf8, 0xf8, kF3 | kF2, kAnyW, kL128, kReg, kAll, {{apx, usermsr}, {}}, kApx},
    {Map::evex4, 0xf9, 0xf9, kNp, kAnyW, kL128, kMem, kAll, {{apx, movdiri}, {}}, kApx},
    {Map::evex4, 0xfc, 0xfc, kAnyPp, kAnyW, kL128, kMem, kAll, {{apx, raoint}, {}}, kApx},
    {Map::evex4, 0xfe, 0xff, kNp | k66, kAnyW, kL128, kAnyMod, kAll, {{apx}, {}}, kApx},
    // PUSH2, POP2 and their hinted forms.
    {Map::evex4, 0x8f, 0x8f, kNp, kAnyW, kL128, kReg, 1, {{apx}, {}}, kApx},
};

} // namespace

const Newer *find_newer(const Cell &c) {
  for (const Newer &n : kNewer)
    if (n.map == c.map && n.first <= c.opcode && c.opcode <= n.last && n.pp >> c.pp & 1 && n.w >> c.w & 1 && n.l >> c.l & 1 &&
        n.mod >> c.mod3 & 1 && n.reg >> c.reg & 1 && n.rm >> c.rm & 1 && n.low >> (c.opcode & 15) & 1)
      return &n;
  return nullptr;
}

uint8_t newer_form(Map map, uint8_t opcode) {
  const auto form = [](Imm imm) { return static_cast<uint8_t>(kFormModrm | static_cast<uint8_t>(imm)); };
  if (map == Map::x0f && opcode == 0x0f) return form(Imm::b);
  if (map == Map::vex7) return form(Imm::d);
  if (map == Map::x0f3a || map == Map::vex3 || map == Map::evex3) return form(Imm::b);
  if (map != Map::evex4) return form(Imm::none);
  switch (opcode) { // as in the legacy maps that it repeats
  case 0x24:
  case 0x2c:
  case 0x6b:
  case 0x80:
  case 0x83:
  case 0xc0:
  case 0xc1:
  case 0xd4: return form(Imm::b);
  case 0x69:
  case 0x81: return form(Imm::z);
  case 0xf6: return form(Imm::group3b);
  case 0xf7: return form(Imm::group3z);
  default: return form(Imm::none);
  }
}

} // namespace isa_audit::host
