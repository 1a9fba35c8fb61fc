// Holds our decoder against LLVM's over the encoding space (prefixes, maps, opcodes, W, L and ModRM forms) and over the code of
// libraries of this system. LLVM is not the source of our tables. Each difference must have a line in
// testdata/host/decode-differences.txt, and each line a difference.
#include "decode.h"
#include "image.h"
#include "support/llvm_x86.h"
#include "tables/cells.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "llvm/ADT/StringExtras.h"

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

bool is_known(std::vector<Difference> &rows, const std::string &kind, Map map, unsigned opcode, unsigned prefix) {
  for (Difference &d : rows) {
    if (d.kind != kind || d.map != kMapNames[static_cast<size_t>(map)] || opcode < d.first || opcode > d.last) continue;
    if (d.prefixes.find(std::string(",") + kPrefixNames[prefix] + ",") == std::string::npos) continue;
    return d.used = true;
  }
  return false;
}

void walk_map(Map map, const LlvmX86 &oracle, std::vector<Difference> &rows) {
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
          theirs = oracle.length(bytes, &name);
        }
        if (map <= Map::x0f3a) break;
      }
      if (!theirs) bytes = cell_bytes(cell, 0, 0);
      Insn insn;
      const uint64_t ours = decode(bytes, insn) ? insn.length : 0;
      if (ours == theirs) continue;
      const std::string kind = !theirs ? "ours" : !ours ? "llvm" : "length";
      EXPECT_TRUE(is_known(rows, kind, map, opcode, cell.pp))
          << kind << " " << kMapNames[static_cast<size_t>(map)] << " " << llvm::toHex(bytes, true) << " ours " << ours
          << " LLVM " << theirs << " " << name;
    }
  }
}

TEST(Walk, EveryEncodingAgreesWithLlvmOrIsListed) {
  std::vector<Difference> rows = read_differences();
  ASSERT_FALSE(rows.empty());
  const LlvmX86 oracle;
  for (int map = 0; map < static_cast<int>(Map::count_); ++map) walk_map(static_cast<Map>(map), oracle, rows);
  for (const Difference &d : rows) EXPECT_TRUE(d.used) << "no longer a difference: " << d.line;
}

// Every instruction of the functions that a library has unwind information for. Returns how many there are.
size_t walk_library(const std::string &path, const LlvmX86 &oracle, std::vector<Difference> &rows) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<uint8_t> content(std::istreambuf_iterator<char>(file), {});
  llvm::Expected<Elf> elf = Elf::read(Bytes::borrowed(content));
  if (!elf) {
    ADD_FAILURE() << path << ": " << llvm::toString(elf.takeError());
    return 0;
  }
  const Image image(*elf);
  size_t count = 0, failures = 0;
  for (const Extent &function : image.unwind_ranges()) {
    const CodeRange *range = image.code_at(function.start);
    if (!range || range->plt) continue;
    const uint64_t end = std::min(function.end, range->end);
    for (uint64_t at = function.start; at < end;) {
      const std::span<const uint8_t> code(range->bytes + (at - range->start), static_cast<size_t>(end - at));
      std::string name;
      Insn insn;
      const std::span<const uint8_t> longest = code.first(std::min<size_t>(code.size(), 15));
      const uint64_t ours = decode(code, insn) ? insn.length : 0;
      uint64_t theirs = oracle.length(longest, &name);
      // LOCK, REP and the like are instructions of their own to LLVM.
      while (theirs && name.ends_with("_PREFIX") && theirs < longest.size()) {
        const uint64_t more = oracle.length(longest.subspan(theirs), &name);
        theirs = more ? theirs + more : 0;
      }
      if (ours == 0 && theirs == 0) break; // data
      const std::string kind = !theirs ? "ours" : !ours ? "llvm" : "length";
      if (ours != theirs && !is_known(rows, kind, insn.map, insn.opcode, insn.pp) && ++failures < 10)
        ADD_FAILURE() << path << " " << kind << " at " << at << " " << llvm::toHex(longest, true) << " ours " << ours
                      << " LLVM " << theirs << " " << name;
      ++count;
      at += ours ? ours : theirs;
    }
  }
  return count;
}

TEST(Walk, EveryInstructionOfTheseLibrariesAgreesWithLlvmOrIsListed) {
  std::vector<Difference> rows = read_differences();
  const LlvmX86 oracle;
  size_t libraries = 0, instructions = 0;
  for (const char *name :
       {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libcrypto.so.3", "libssl.so.3", "libz.so.1",
        "liblzma.so.5", "libzstd.so.1", "libsqlite3.so.0", "libxml2.so.2", "libarchive.so.13", "libgmp.so.10",
        "libgnutls.so.30", "libbz2.so.1.0", "libgomp.so.1", "libfftw3.so.3", "libdeflate.so.0"}) {
    const std::string path = std::string("/usr/lib/x86_64-linux-gnu/") + name;
    if (!std::filesystem::exists(path)) continue;
    ++libraries;
    instructions += walk_library(path, oracle, rows);
  }
  if (libraries < 10) GTEST_SKIP() << "only " << libraries << " of the libraries are installed";
  EXPECT_GT(instructions, 1000000U);
}

} // namespace
} // namespace isa_audit::host
