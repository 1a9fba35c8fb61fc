// Holds the features of our tables against iced-x86, over the encoding space. Our tables come from Zydis and from manuals, so
// the two are independent. Each difference must have a line in testdata/host/feature-differences.txt, and each line a
// difference.
#include "decode.h"
#include "tables/cells.h"

#include "gtest/gtest.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "llvm/ADT/StringExtras.h"

namespace isa_audit::host {
namespace {

using enum Feature;

const char *const kMapNames[] = {"one",   "0f",    "0f38",  "0f3a",  "vex1",  "vex2",  "vex3", "vex5", "vex7",
                                 "evex1", "evex2", "evex3", "evex4", "evex5", "evex6", "xop8", "xop9", "xopa"};

// iced-x86's names. What it has for old CPUs, system instructions and hints is no feature of ours.
const std::map<std::string, IsaSet> &names() {
  static const std::map<std::string, IsaSet> kNames = {
      {"ADX", {adx}},
      {"AES", {aes}},
      {"AESKLE", {kl}},
      {"WIDE_KL", {widekl}},
      {"AMX_BF16", {amx_bf16}},
      {"AMX_COMPLEX", {amx_complex}},
      {"AMX_FP16", {amx_fp16}},
      {"AMX_INT8", {amx_int8}},
      {"AMX_TILE", {amx_tile}},
      {"AVX", {avx}},
      {"AVX2", {avx2}},
      {"AVX512BW", {avx512bw, avx512f}},
      {"AVX512CD", {avx512cd, avx512f}},
      {"AVX512DQ", {avx512dq, avx512f}},
      {"AVX512ER", {avx512er, avx512f}},
      {"AVX512F", {avx512f}},
      {"AVX512PF", {avx512pf, avx512f}},
      {"AVX512VL", {avx512vl, avx512f}},
      {"AVX512_4FMAPS", {avx512_4fmaps, avx512f}},
      {"AVX512_4VNNIW", {avx512_4vnniw, avx512f}},
      {"AVX512_BF16", {avx512bf16, avx512f}},
      {"AVX512_BITALG", {avx512bitalg, avx512f}},
      {"AVX512_FP16", {avx512fp16, avx512f}},
      {"AVX512_IFMA", {avx512ifma, avx512f}},
      {"AVX512_VBMI", {avx512vbmi, avx512f}},
      {"AVX512_VBMI2", {avx512vbmi2, avx512f}},
      {"AVX512_VNNI", {avx512vnni, avx512f}},
      {"AVX512_VP2INTERSECT", {avx512vp2intersect, avx512f}},
      {"AVX512_VPOPCNTDQ", {avx512vpopcntdq, avx512f}},
      {"AVX_IFMA", {avxifma}},
      {"AVX_NE_CONVERT", {avxneconvert}},
      {"AVX_VNNI", {avxvnni}},
      {"AVX_VNNI_INT16", {avxvnniint16}},
      {"AVX_VNNI_INT8", {avxvnniint8}},
      {"BMI1", {bmi}},
      {"BMI2", {bmi2}},
      {"CET_SS", {shstk}},
      {"CLFLUSHOPT", {clflushopt}},
      {"CLWB", {clwb}},
      {"CLZERO", {clzero}},
      {"CMOV", {cmov}},
      {"CMPCCXADD", {cmpccxadd}},
      {"CMPXCHG16B", {cx16}},
      {"CX8", {cx8}},
      {"D3NOW", {threednow}},
      {"ENQCMD", {enqcmd}},
      {"F16C", {f16c}},
      {"FMA", {fma}},
      {"FMA4", {fma4}},
      {"FPU", {x87}},
      {"FPU287", {x87}},
      {"FPU387", {x87}},
      {"FSGSBASE", {fsgsbase}},
      {"FXSR", {fxsr}},
      {"GFNI", {gfni}},
      {"HRESET", {hreset}},
      {"INVEPT", {vmx}},
      {"INVPCID", {invpcid}},
      {"INVVPID", {vmx}},
      {"KL", {kl}},
      {"LWP", {lwp}},
      {"LZCNT", {lzcnt}},
      {"MMX", {mmx}},
      {"MONITOR", {monitor}},
      {"MOVBE", {movbe}},
      {"MOVDIR64B", {movdir64b}},
      {"MOVDIRI", {movdiri}},
      {"PCLMULQDQ", {pclmul}},
      {"POPCNT", {popcnt}},
      {"PTWRITE", {ptwrite}},
      {"RAO_INT", {raoint}},
      {"RDPID", {rdpid}},
      {"RDRAND", {rdrnd}},
      {"RDSEED", {rdseed}},
      {"RDTSCP", {rdtscp}},
      {"RTM", {rtm}},
      {"SERIALIZE", {serialize}},
      {"SHA", {sha}},
      {"SHA512", {sha512}},
      {"SKINIT_or_SVM", {svm}},
      {"SM3", {sm3}},
      {"SM4", {sm4}},
      {"SSE", {sse}},
      {"SSE2", {sse2}},
      {"SSE3", {sse3}},
      {"SSE4A", {sse4a}},
      {"SSE4_1", {sse4_1}},
      {"SSE4_2", {sse4_2}},
      {"SSSE3", {ssse3}},
      {"SVM", {svm}},
      {"TBM", {tbm}},
      {"TSXLDTRK", {tsxldtrk}},
      {"UINTR", {uintr}},
      {"VAES", {vaes}},
      {"VMX", {vmx}},
      {"VPCLMULQDQ", {vpclmulqdq}},
      {"WAITPKG", {waitpkg}},
      {"XOP", {xop}},
      {"XSAVE", {xsave}},
      {"XSAVEC", {xsavec}},
      {"XSAVEOPT", {xsaveopt}},
      {"XSAVES", {xsaves}},
  };
  return kNames;
}

struct Row {
  unsigned first = 0, last = 0;
  unsigned pp = 0, w = 0, l = 0, mod = 0, reg = 0, rm = 0; // masks of values
  IsaSet features;
};

unsigned mask_of(const std::string &word, const std::string &letters = "01234567") {
  if (word == "*") return ~0U;
  unsigned mask = 0;
  for (const char c : word) mask |= 1U << letters.find(c);
  return mask;
}

// By map.
std::map<std::string, std::vector<Row>> read_rows() {
  std::map<std::string, std::vector<Row>> rows;
  std::ifstream file(ISA_AUDIT_TESTDATA "/host/iced-features.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string map, opcodes, pp, w, l, mod, reg, rm;
    words >> map >> opcodes >> pp >> w >> l >> mod >> reg >> rm;
    Row row;
    row.first = static_cast<unsigned>(std::stoul(opcodes.substr(0, 2), nullptr, 16));
    row.last = static_cast<unsigned>(std::stoul(opcodes.substr(3, 2), nullptr, 16));
    row.pp = mask_of(pp);
    row.w = mask_of(w);
    row.l = mask_of(l);
    row.mod = mask_of(mod, "mr");
    row.reg = mask_of(reg);
    row.rm = mask_of(rm);
    for (std::string name; words >> name;)
      if (const auto it = names().find(name); it != names().end()) row.features |= it->second;
    rows[map].push_back(row);
  }
  return rows;
}

const Row *find_row(const std::vector<Row> &rows, const Cell &c) {
  for (const Row &r : rows)
    if (r.pp >> c.pp & 1 && r.w >> c.w & 1 && r.l >> c.l & 1 && r.mod >> c.mod3 & 1 && r.reg >> c.reg & 1 && r.rm >> c.rm & 1)
      return &r;
  return nullptr;
}

struct Difference {
  std::string map, ours, theirs, line;
  unsigned first = 0, last = 0;
  bool used = false;
};

// Of feature-differences.txt: map, opcodes, our features and theirs as comma-separated lists, "-" for none, then the reason.
std::vector<Difference> read_differences() {
  std::vector<Difference> list;
  std::ifstream file(ISA_AUDIT_TESTDATA "/host/feature-differences.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Difference d;
    std::string opcodes;
    words >> d.map >> opcodes >> d.ours >> d.theirs;
    d.first = static_cast<unsigned>(std::stoul(opcodes.substr(0, 2), nullptr, 16));
    d.last = static_cast<unsigned>(std::stoul(opcodes.substr(3, 2), nullptr, 16));
    d.line = line;
    list.push_back(std::move(d));
  }
  return list;
}

std::string join(const IsaSet &set) {
  std::string text;
  for (const std::string &name : set.names()) text.append(text.empty() ? "" : ",").append(name);
  return text.empty() ? "-" : text;
}

TEST(Features, AgreeWithIcedOverTheEncodingSpaceOrAreListed) {
  const std::map<std::string, std::vector<Row>> all = read_rows();
  std::vector<Difference> differences = read_differences();
  ASSERT_FALSE(all.empty() || differences.empty());
  size_t compared = 0;
  for (int m = 0; m < static_cast<int>(Map::count_); ++m) {
    const auto map = static_cast<Map>(m);
    const auto found = all.find(kMapNames[m]);
    if (found == all.end()) continue;
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
      std::vector<Row> rows;
      for (const Row &r : found->second)
        if (r.first <= opcode && opcode <= r.last) rows.push_back(r);
      std::set<std::pair<std::string, std::string>> told; // ours, theirs
      for (size_t at = 0; at < kCellCount && !rows.empty(); ++at) {
        const Cell cell = cell_of(map, static_cast<uint8_t>(opcode), at);
        if ((cell.rm != 0 && cell.rm != 1 && cell.rm != 4) || (map <= Map::x0f3a && cell.l != 0)) continue;
        const Row *row = find_row(rows, cell);
        Insn insn;
        const std::vector<uint8_t> bytes = cell_bytes(cell, 0, 0);
        // Which of them are instructions at all is held against LLVM (walk_test.cpp).
        if (!row || !decode(bytes, insn) || insn.opcode != opcode || insn.map != map) continue;
        ++compared;
        const InsnClass &klass = insn_class(insn.klass);
        const std::string ours = join(klass.features | klass.silent), theirs = join(row->features);
        if (ours == theirs) continue;
        bool known = false;
        for (Difference &d : differences) {
          if (d.map != kMapNames[m] || opcode < d.first || opcode > d.last || d.ours != ours || d.theirs != theirs) continue;
          known = d.used = true;
          break;
        }
        if (!known && told.emplace(ours, theirs).second)
          ADD_FAILURE() << kMapNames[m] << " " << llvm::toHex(bytes, true) << " ours " << ours << " iced-x86 " << theirs;
      }
    }
  }
  EXPECT_GT(compared, 100000U);
  for (const Difference &d : differences) EXPECT_TRUE(d.used) << "no longer a difference: " << d.line;
}

} // namespace
} // namespace isa_audit::host
