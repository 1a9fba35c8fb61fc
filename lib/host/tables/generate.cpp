// Makes x86_tables.inc: which encodings exist, how long they are, and which CPU features they need.
//
// Source: the instruction database of Zydis 4.0, asked through its decoder for every point of the encoding space (opcode
// map, mandatory prefix, opcode, W, L, ModRM's mod, reg and rm). What is newer than that comes from newer.cpp, whose entries
// name the manual. Run it as `x86_tables > lib/host/tables/x86_tables.inc`; a test compares the file with a fresh run.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <Zydis/Zydis.h>

#include "generate.h"

namespace isa_audit::host {

namespace {

// Values of a cell before it becomes a class index.
constexpr uint16_t kDontCare = 0x7ffe; // only the register numbers of the probe were at fault

class Classes {
public:
  uint16_t index(const InsnClass &c) {
    std::string key = text(c);
    auto [it, fresh] = index_.try_emplace(key, static_cast<uint16_t>(texts_.size()));
    if (fresh) texts_.push_back(key);
    return it->second;
  }
  const std::vector<std::string> &texts() const { return texts_; }

private:
  static std::string list(const IsaSet &set) {
    std::string out = "{";
    for (Feature f : set.list()) {
      if (out.size() > 1) out += ", ";
      out.append("\"").append(feature_name(f)).append("\"");
    }
    return out + "}";
  }
  static std::string text(const InsnClass &c) {
    return std::string("{").append(list(c.features)).append(", ").append(list(c.silent)).append("}");
  }

  std::map<std::string, uint16_t> index_;
  std::vector<std::string> texts_;
};

using Cells = std::array<uint16_t, kCellCount>;

struct Opcode {
  Cells cells;
  uint8_t form = 0;
  bool any = false;
};

class Prober {
public:
  Prober() {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    classes_.index({}); // class 0 needs nothing
  }

  Opcode probe(Map map, uint8_t opcode);
  Classes &classes() { return classes_; }

private:
  bool try_bytes(const std::vector<uint8_t> &bytes, ZydisDecodedInstruction &insn, bool &register_fault) const {
    const ZyanStatus status = ZydisDecoderDecodeInstruction(&decoder_, nullptr, bytes.data(), bytes.size(), &insn);
    register_fault |= status == ZYDIS_STATUS_BAD_REGISTER || status == ZYDIS_STATUS_INVALID_MASK;
    return ZYAN_SUCCESS(status);
  }
  // Bytes of a prefix or an escape are no opcodes: what they introduce belongs to another cell.
  static bool is_of(const ZydisDecodedInstruction &insn, const Cell &cell) {
    if (insn.opcode != cell.opcode) return false;
    // Knights Corner shared VEX with nobody: no CPU that runs x86-64 Linux has these.
    if (std::string_view(ZydisISASetGetString(insn.meta.isa_set)).starts_with("KNC")) return false;
    if (cell.map == Map::one)
      return insn.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && insn.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
    if (cell.map == Map::x0f) return insn.opcode_map == ZYDIS_OPCODE_MAP_0F;
    return true;
  }
  bool try_cell(const Cell &cell, ZydisDecodedInstruction &insn, bool &register_fault) const;
  uint8_t find_form(Map map, uint8_t opcode, const Opcode &table) const;

  ZydisDecoder decoder_{};
  Classes classes_;
};

bool Prober::try_cell(const Cell &cell, ZydisDecodedInstruction &insn, bool &register_fault) const {
  const bool plain = cell.map <= Map::x0f3a;
  for (const uint8_t vvvv : {0, 3, 5, 6}) {
    for (const uint8_t mask : {0, 1}) {
      if (try_bytes(cell_bytes(cell, vvvv, mask), insn, register_fault)) return is_of(insn, cell);
      if (cell.map < Map::evex1 || cell.map > Map::evex6) break;
    }
    if (plain) break;
  }
  return false;
}

int imm_bytes(const ZydisDecodedInstruction &insn) { return (insn.raw.imm[0].size + insn.raw.imm[1].size) / 8; }

uint8_t Prober::find_form(Map map, uint8_t opcode, const Opcode &table) const {
  // Of each cell that exists: ModRM, and the immediate without, with 66, with W.
  bool modrm = false;
  std::set<int> plain, with66, with_w;
  bool moffs = false;
  for (size_t at = 0; at < kCellCount; ++at) {
    if (table.cells[at] >= kDontCare || (at & 3) != 0) continue; // the immediate never depends on rm
    ZydisDecodedInstruction insn;
    bool ignored = false;
    const Cell cell = cell_of(map, opcode, at);
    if (!try_cell(cell, insn, ignored)) continue;
    modrm |= (insn.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0;
    moffs |= map == Map::one && opcode >= 0xa0 && opcode <= 0xa3;
    (cell.w ? with_w : cell.pp == 1 ? with66 : plain).insert(imm_bytes(insn));
  }
  const uint8_t bit = modrm ? kFormModrm : 0;
  auto form = [&](Imm imm) { return static_cast<uint8_t>(bit | static_cast<uint8_t>(imm)); };
  if (moffs) return form(Imm::moffs);
  if (map == Map::x0f && opcode == 0x78) return form(Imm::extrq);
  if (map == Map::one && opcode == 0xf6) return form(Imm::group3b);
  if (map == Map::one && opcode == 0xf7) return form(Imm::group3z);
  std::set<int> all = plain;
  all.insert(with66.begin(), with66.end());
  all.insert(with_w.begin(), with_w.end());
  if (all == std::set{0}) return form(Imm::none);
  if (all == std::set{1}) return form(Imm::b);
  if (all == std::set{2}) return form(Imm::w);
  if (all == std::set{3}) return form(Imm::wb);
  if (all == std::set{4}) return form(Imm::d);
  if (with66 == std::set{2} && plain == std::set{4}) return form(with_w == std::set{8} ? Imm::v : Imm::z);
  std::fprintf(stderr, "map %d opcode %02x: immediates of unknown pattern\n", static_cast<int>(map), opcode);
  std::exit(1);
}

// A cell where only the registers of the probe were at fault takes the class of one that differs in registers alone.
void settle(Cells &cells) {
  for (size_t base = 0; base < kCellCount; base += 64) {
    uint16_t any = kInvalidClass;
    for (size_t i = base; i < base + 64; ++i)
      if (cells[i] < kDontCare) any = cells[i];
    for (size_t reg = base; reg < base + 64; reg += 8) {
      uint16_t same_reg = any;
      for (size_t i = reg; i < reg + 8; ++i)
        if (cells[i] < kDontCare) same_reg = cells[i];
      for (size_t i = reg; i < reg + 8; ++i)
        if (cells[i] == kDontCare) cells[i] = same_reg;
    }
  }
}

Opcode Prober::probe(Map map, uint8_t opcode) {
  Opcode table;
  table.cells.fill(kInvalidClass);
  for (size_t at = 0; at < kCellCount; ++at) {
    const Cell cell = cell_of(map, opcode, at);
    if (cell.l != 0 && map <= Map::x0f3a) { // no vector length: the cell of L = 0 stands for all
      Cell first = cell;
      first.l = 0;
      table.cells[at] = table.cells[index_of(first)];
      continue;
    }
    ZydisDecodedInstruction insn;
    bool register_fault = false;
    if (zydis_knows(map) && try_cell(cell, insn, register_fault))
      table.cells[at] = classes_.index(class_of(insn));
    else if (register_fault)
      table.cells[at] = kDontCare;
  }
  settle(table.cells);
  for (const uint16_t cell : table.cells) table.any |= cell != kInvalidClass;
  if (table.any) table.form = find_form(map, opcode, table);

  for (size_t at = 0; at < kCellCount; ++at) {
    const Cell cell = cell_of(map, opcode, at);
    const Newer *entry = find_newer(cell);
    if (!entry || (table.cells[at] != kInvalidClass && !entry->replaces)) continue;
    table.cells[at] = classes_.index(entry->klass);
    if (!table.any) table.form = newer_form(map, opcode);
    table.any = true;
  }
  return table;
}

// Builds the decision trees; equal sub-trees are stored once.
class Trees {
public:
  uint16_t build(const Cells &cells) {
    std::vector<size_t> all(kCellCount);
    for (size_t i = 0; i < kCellCount; ++i) all[i] = i;
    return node(cells, all);
  }
  const std::vector<uint16_t> &words() const { return words_; }

private:
  static int coordinate(size_t at, Dimension d) {
    const Cell c = cell_of(Map::one, 0, at);
    switch (d) {
    case Dimension::pp: return c.pp;
    case Dimension::mod: return c.mod3;
    case Dimension::reg: return c.reg;
    case Dimension::rm: return c.rm;
    case Dimension::w: return c.w;
    case Dimension::l: return c.l;
    }
    return 0;
  }

  // True if the class of some cell changes along `d` alone.
  static bool matters(const Cells &cells, const std::vector<size_t> &some, Dimension d) {
    std::map<size_t, uint16_t> seen;
    for (const size_t at : some) {
      Cell c = cell_of(Map::one, 0, at);
      switch (d) {
      case Dimension::pp: c.pp = 0; break;
      case Dimension::mod: c.mod3 = false; break;
      case Dimension::reg: c.reg = 0; break;
      case Dimension::rm: c.rm = 0; break;
      case Dimension::w: c.w = false; break;
      case Dimension::l: c.l = 0; break;
      }
      const auto [it, fresh] = seen.try_emplace(index_of(c), cells[at]);
      if (!fresh && it->second != cells[at]) return true;
    }
    return false;
  }

  uint16_t node(const Cells &cells, const std::vector<size_t> &some) {
    bool constant = true;
    for (const size_t at : some) constant &= cells[at] == cells[some[0]];
    if (constant) return cells[some[0]];
    for (const Dimension d : {Dimension::pp, Dimension::mod, Dimension::w, Dimension::l, Dimension::reg, Dimension::rm}) {
      if (!matters(cells, some, d)) continue;
      std::vector<uint16_t> children{static_cast<uint16_t>(d)};
      for (int value = 0; value < kDimensionSize[static_cast<int>(d)]; ++value) {
        std::vector<size_t> part;
        for (const size_t at : some)
          if (coordinate(at, d) == value) part.push_back(at);
        children.push_back(node(cells, part));
      }
      const auto [it, fresh] = known_.try_emplace(children, static_cast<uint16_t>(words_.size() | kNodeBit));
      if (fresh) words_.insert(words_.end(), children.begin(), children.end());
      return it->second;
    }
    return kInvalidClass;
  }

  std::map<std::vector<uint16_t>, uint16_t> known_;
  std::vector<uint16_t> words_;
};

template <typename T> void print_words(const char *declaration, const std::vector<T> &words) {
  std::printf("%s = {", declaration);
  for (size_t i = 0; i < words.size(); ++i) std::printf("%s%u,", i % 24 ? "" : "\n", static_cast<unsigned>(words[i]));
  std::printf("\n};\n");
}

int run() {
  Prober prober;
  Trees trees;
  std::vector<uint16_t> roots;
  std::vector<uint8_t> forms;
  for (int map = 0; map < static_cast<int>(Map::count_); ++map) {
    for (int opcode = 0; opcode < 256; ++opcode) {
      const Opcode table = prober.probe(static_cast<Map>(map), static_cast<uint8_t>(opcode));
      roots.push_back(trees.build(table.cells));
      forms.push_back(table.form);
    }
  }
  std::printf("// Generated by generate.cpp from Zydis %d.%d and newer.cpp. Not edited by hand.\n",
              ZYDIS_VERSION_MAJOR(ZYDIS_VERSION), ZYDIS_VERSION_MINOR(ZYDIS_VERSION));
  std::printf("// clang-format off\n\nconstexpr ClassRow kClassRows[] = {\n");
  for (const std::string &text : prober.classes().texts()) std::printf("  %s,\n", text.c_str());
  std::printf("};\n");
  print_words("constexpr uint8_t kForms[]", forms);
  print_words("constexpr uint16_t kRoots[]", roots);
  print_words("constexpr uint16_t kNodes[]", trees.words());
  return 0;
}

} // namespace

} // namespace isa_audit::host

int main() { return isa_audit::host::run(); }
