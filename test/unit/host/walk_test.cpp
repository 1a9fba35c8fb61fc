// Holds our decoder against LLVM's over the encoding space: prefixes, maps, opcodes, W, L and ModRM forms. LLVM is not the
// source of our tables. Each difference must have a line in testdata/host/decode-differences.txt, and each line a difference.
#include "decode.h"
#include "tables/cells.h"

#include "gtest/gtest.h"

#include <fstream>
#include <sstream>

#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

namespace isa_audit::host {
namespace {

const char *const kMapNames[] = {"one",   "0f",    "0f38",  "0f3a",  "vex1",  "vex2",  "vex3", "vex5", "vex7",
                                 "evex1", "evex2", "evex3", "evex4", "evex5", "evex6", "xop8", "xop9", "xopa"};
const char *const kPrefixNames[] = {"-", "66", "f3", "f2"};

struct Difference {
  std::string kind, map, prefixes, line;
  unsigned first = 0, last = 0;
  bool used = false;
};

std::vector<Difference> read_differences() {
  std::vector<Difference> rows;
  std::ifstream file(ISA_AUDIT_TESTDATA "/host/decode-differences.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Difference d;
    std::string opcodes;
    words >> d.kind >> d.map >> opcodes >> d.prefixes;
    d.first = static_cast<unsigned>(std::stoul(opcodes.substr(0, 2), nullptr, 16));
    d.last = static_cast<unsigned>(std::stoul(opcodes.substr(3, 2), nullptr, 16));
    d.prefixes = "," + d.prefixes + ",";
    d.line = line;
    rows.push_back(std::move(d));
  }
  return rows;
}

class Oracle {
public:
  Oracle() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    std::string error;
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple_, error);
    registers_.reset(target->createMCRegInfo(triple_));
    assembler_.reset(target->createMCAsmInfo(*registers_, triple_, options_));
    instructions_.reset(target->createMCInstrInfo());
    subtarget_.reset(target->createMCSubtargetInfo(triple_, "", ""));
    context_ = std::make_unique<llvm::MCContext>(triple_, assembler_.get(), registers_.get(), subtarget_.get());
    disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
  }
  // The length, 0 for none.
  uint64_t length(const std::vector<uint8_t> &bytes, std::string &name) {
    llvm::MCInst insn;
    uint64_t size = 0;
    if (disassembler_->getInstruction(insn, size, bytes, 0, llvm::nulls()) != llvm::MCDisassembler::Success) return 0;
    name = instructions_->getName(insn.getOpcode()).str();
    return size;
  }

private:
  llvm::Triple triple_{"x86_64-unknown-linux-gnu"};
  llvm::MCTargetOptions options_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembler_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
};

bool is_prefix_or_escape(unsigned b) {
  return b == 0x0f || b == 0x26 || b == 0x2e || b == 0x36 || b == 0x3e || (b >= 0x40 && b < 0x50) || b == 0x62 ||
         (b >= 0x64 && b <= 0x67) || b == 0xc4 || b == 0xc5 || b == 0xd5 || b == 0xf0 || b == 0xf2 || b == 0xf3;
}

// Cells that are another's bytes, or that differ from a walked one in a register number alone.
bool skipped(const Cell &c) {
  if (c.map == Map::one) return c.l || is_prefix_or_escape(c.opcode) || (c.opcode == 0x8f && (c.reg & 1));
  if (c.map == Map::x0f && (c.opcode == 0x38 || c.opcode == 0x3a)) return true;
  if (c.map <= Map::x0f3a) return c.l != 0;
  if (c.rm != 0 && c.rm != 4) return true;
  return c.l == 3 || (c.l == 2 && (c.map < Map::evex1 || c.map > Map::evex6));
}

void walk_map(Map map, Oracle &oracle, std::vector<Difference> &rows) {
  const bool evex = map >= Map::evex1 && map <= Map::evex6;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    for (size_t at = 0; at < kCellCount; ++at) {
      const Cell cell = cell_of(map, static_cast<uint8_t>(opcode), at);
      if (skipped(cell)) continue;
      std::vector<uint8_t> bytes;
      std::string name;
      uint64_t theirs = 0;
      for (const uint8_t vvvv : {0, 3, 5, 6}) {
        for (const uint8_t mask : {0, 1}) {
          if (theirs || (mask && !evex)) continue;
          bytes = cell_bytes(cell, vvvv, mask);
          theirs = oracle.length(bytes, name);
        }
        if (map <= Map::x0f3a) break;
      }
      if (!theirs) bytes = cell_bytes(cell, 0, 0);
      Insn insn;
      const uint64_t ours = decode(bytes, insn) ? insn.length : 0;
      if (ours == theirs) continue;
      const std::string kind = !theirs ? "ours" : !ours ? "llvm" : "length";
      bool known = false;
      for (Difference &d : rows) {
        if (d.kind != kind || d.map != kMapNames[static_cast<size_t>(map)] || opcode < d.first || opcode > d.last) continue;
        if (d.prefixes.find(std::string(",") + kPrefixNames[cell.pp] + ",") == std::string::npos) continue;
        known = d.used = true;
        break;
      }
      EXPECT_TRUE(known) << kind << " " << kMapNames[static_cast<size_t>(map)] << " " << llvm::toHex(bytes, true) << " ours "
                         << ours << " LLVM " << theirs << " " << name;
    }
  }
}

TEST(Walk, EveryEncodingAgreesWithLlvmOrIsListed) {
  std::vector<Difference> rows = read_differences();
  ASSERT_FALSE(rows.empty());
  Oracle oracle;
  for (int map = 0; map < static_cast<int>(Map::count_); ++map) walk_map(static_cast<Map>(map), oracle, rows);
  for (const Difference &d : rows) EXPECT_TRUE(d.used) << "no longer a difference: " << d.line;
}

} // namespace
} // namespace isa_audit::host
