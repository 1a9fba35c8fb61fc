#include "decode.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "classify.h"
#include "tables/keys.h"

namespace isa_audit::host {

namespace {

// A class as the generated file spells it: at most this many features each.
struct ClassRow {
  const char *features[6] = {};
  const char *silent[6] = {};
};

#include "tables/x86_tables.inc"

static_assert(std::size(kForms) == static_cast<size_t>(Map::count_) * 256 && std::size(kRoots) == std::size(kForms));
static_assert(std::size(kClassRows) <= kMaxClasses);

constexpr size_t kLongest = 15;

enum Prefix : uint8_t { kNone, kOperand, kAddress, kRep, kRepne, kLock, kSegment, kFsGs, kRex };

constexpr std::array<uint8_t, 256> make_prefixes() {
  std::array<uint8_t, 256> t{};
  t[0x66] = kOperand;
  t[0x67] = kAddress;
  t[0xf3] = kRep;
  t[0xf2] = kRepne;
  t[0xf0] = kLock;
  t[0x26] = t[0x2e] = t[0x36] = t[0x3e] = kSegment;
  t[0x64] = t[0x65] = kFsGs;
  for (int b = 0x40; b < 0x50; ++b) t[static_cast<size_t>(b)] = kRex;
  return t;
}
constexpr std::array<uint8_t, 256> kPrefixes = make_prefixes();

// By ModRM: bytes of displacement (bits 0 to 2), 8: a SIB byte follows, 16: with base 5 that SIB brings four more.
constexpr uint8_t kSib = 8, kSibBase = 16;
constexpr std::array<uint8_t, 256> make_addresses() {
  std::array<uint8_t, 256> t{};
  for (int m = 0; m < 0xc0; ++m) {
    const int mod = m >> 6, rm = m & 7;
    int row = mod == 1 ? 1 : mod == 2 || rm == 5 ? 4 : 0;
    if (rm == 4) row |= kSib | (mod == 0 ? kSibBase : 0);
    t[static_cast<size_t>(m)] = static_cast<uint8_t>(row);
  }
  return t;
}
constexpr std::array<uint8_t, 256> kAddresses = make_addresses();

// Immediate bytes by Imm and operand size (0: 32 bits, 1: 16 bits, 2: 64 bits). The last three depend on more.
constexpr uint8_t kImmediates[][3] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {4, 2, 4}, {4, 2, 8}, {4, 4, 4}, {3, 3, 3}, {8, 8, 8}};

// First bytes that are opcodes of map one, so that neither a prefix nor an escape has to be looked at.
constexpr std::array<bool, 256> make_plain() {
  std::array<bool, 256> t{};
  for (size_t b = 0; b < 256; ++b) t[b] = kPrefixes[b] == kNone;
  for (const size_t b : {0x0fU, 0xc4U, 0xc5U, 0x62U, 0x8fU, 0xd5U}) t[b] = false;
  return t;
}
constexpr std::array<bool, 256> kPlain = make_plain();

constexpr Map kVexMaps[] = {Map::count_, Map::vex1, Map::vex2, Map::vex3, Map::count_, Map::vex5, Map::count_, Map::vex7};
constexpr Map kEvexMaps[] = {Map::count_, Map::evex1, Map::evex2, Map::evex3, Map::evex4, Map::evex5, Map::evex6, Map::count_};

// Walks the decision tree of an opcode.
inline uint16_t find_class(uint16_t word, const Insn &insn, unsigned vector_length) {
  while (word & kNodeBit) {
    const uint16_t *node = kNodes + (word & ~kNodeBit);
    unsigned value = 0;
    switch (static_cast<Dimension>(node[0])) {
    case Dimension::pp: value = insn.pp; break;
    case Dimension::mod: value = insn.mod() == 3; break;
    case Dimension::reg: value = insn.reg(); break;
    case Dimension::rm: value = insn.rm(); break;
    case Dimension::w: value = insn.rex >> 3 & 1; break;
    case Dimension::l: value = vector_length; break;
    }
    word = node[1 + value];
  }
  return word;
}

// The immediates that kImmediates cannot tell.
unsigned odd_immediate(Imm imm, const Insn &insn, unsigned size) {
  if (imm == Imm::extrq) return insn.pp == 1 || insn.pp == 3 ? 2 : 0;
  if (insn.reg() >= 2) return 0;
  return imm == Imm::group3b ? 1 : kImmediates[static_cast<size_t>(Imm::z)][size];
}

// REX2 reaches maps 0 and 1 only, and not the opcodes that its bits make no sense for (APX specification 3.1.2).
bool rex2_allows(Map map, uint8_t opcode) {
  const int row = opcode >> 4;
  if (map == Map::one) return row != 4 && row != 7 && row != 10 && row != 14 && kPrefixes[opcode] == kNone;
  return row != 3 && row != 8 && opcode != 0x38 && opcode != 0x3a;
}

// What comes before the opcode.
struct Lead {
  const uint8_t *opcode = nullptr;
  Map map = Map::one;
  unsigned vector_length = 0;
  bool rounding = false, address32 = false;
};

// The opcode and all after it. Kept free of branches where real code is unpredictable.
inline bool finish(const uint8_t *const start, Lead lead, Insn &insn) {
  const uint8_t *p = lead.opcode;
  insn.map = lead.map;
  insn.opcode = *p;
  insn.length_bits = static_cast<uint8_t>(lead.vector_length);
  const size_t key = static_cast<size_t>(lead.map) * 256 + *p++;
  const uint8_t form = kForms[key];
  if (form & kFormModrm) {
    insn.modrm_at = static_cast<uint8_t>(p - start);
    const uint8_t modrm = p[0];
    insn.modrm = modrm;
    const unsigned row = kAddresses[modrm], sib = row >> 3 & 1;
    const unsigned size = (row & 7) | ((p[1] & 7) == 5 ? row >> 2 & 4 : 0);
    p += 1 + sib;
    insn.disp_at = static_cast<uint8_t>(size ? p - start : 0);
    insn.disp_size = static_cast<uint8_t>(size);
    p += size;
    if (lead.rounding && modrm >= 0xc0 && lead.map != Map::evex4) lead.vector_length = 2; // in map 4 the bit is ND
  }
  const Imm imm = static_cast<Imm>(form & 15);
  const unsigned size = insn.rex & 8 ? 2 : insn.operand16 ? 1 : 0;
  if (imm <= Imm::wb) {
    insn.imm_size = kImmediates[static_cast<size_t>(imm)][size];
  } else if (imm == Imm::moffs) {
    insn.disp_at = static_cast<uint8_t>(p - start);
    insn.disp_size = lead.address32 ? 4 : 8;
    p += insn.disp_size;
  } else {
    insn.imm_size = static_cast<uint8_t>(odd_immediate(imm, insn, size));
  }
  p += insn.imm_size;
  const uint16_t root = kRoots[key];
  if (root) {
    insn.klass = find_class(root, insn, lead.vector_length);
    if (insn.klass == kInvalidClass) return false;
  }
  insn.length = static_cast<uint8_t>(p - start);
  return p - start <= static_cast<ptrdiff_t>(kLongest);
}

// VEX, EVEX and XOP: `p` is at C4, C5, 62 or 8F. False: a map that no processor has.
bool read_vector_prefix(const uint8_t *p, Insn &insn, Lead &lead) {
  uint8_t last;
  if (*p == 0x62) {
    const uint8_t p0 = p[1], p2 = p[3];
    last = p[2];
    lead.map = kEvexMaps[p0 & 7];
    insn.rex = static_cast<uint8_t>((~p0 >> 5 & 7) | (last >> 4 & 8));
    insn.apx = (p0 & 8) || !(last & 4); // B4 and X4: registers 16 to 31 in an address
    insn.operand16 = (last & 3) == 1;
    insn.vvvv = static_cast<uint8_t>((~last >> 3 & 15) | (~p2 << 1 & 16));
    lead.vector_length = p2 >> 5 & 3;
    lead.rounding = p2 & 0x10;
    lead.opcode = p + 4;
  } else if (*p == 0xc5) {
    last = p[1];
    insn.rex = last & 0x80 ? 0 : 4;
    lead.map = Map::vex1;
    lead.opcode = p + 2;
  } else {
    const unsigned field = p[1] & 31;
    last = p[2];
    if (*p == 0x8f)
      lead.map = field > 10 ? Map::count_ : static_cast<Map>(static_cast<unsigned>(Map::xop8) + field - 8);
    else
      lead.map = field > 7 ? Map::count_ : kVexMaps[field];
    insn.rex = static_cast<uint8_t>((~p[1] >> 5 & 7) | (last >> 4 & 8));
    lead.opcode = p + 3;
  }
  insn.pp = last & 3;
  if (*p != 0x62) {
    insn.vvvv = ~last >> 3 & 15;
    lead.vector_length = last >> 2 & 1;
  }
  return lead.map != Map::count_;
}

// `start` has kLongest + 8 readable bytes.
bool decode_prefixed(const uint8_t *const start, Insn &insn) {
  const uint8_t *p = start;
  Lead lead;
  uint8_t rex = 0;
  for (uint8_t kind; (kind = kPrefixes[*p]) != kNone; ++p) {
    if (p - start >= static_cast<ptrdiff_t>(kLongest)) return false;
    rex = kind == kRex ? *p : 0; // a REX that another prefix follows counts for nothing
    insn.operand16 |= kind == kOperand;
    insn.segment |= kind == kFsGs;
    lead.address32 |= kind == kAddress;
    if (kind == kRep) insn.pp = 2;
    if (kind == kRepne) insn.pp = 3;
  }
  if (!insn.pp && insn.operand16) insn.pp = 1;
  insn.rex = rex & 15;
  const uint8_t byte = *p;
  if (byte == 0x0f) {
    lead.map = p[1] == 0x38 ? Map::x0f38 : p[1] == 0x3a ? Map::x0f3a : Map::x0f;
    lead.opcode = p + (lead.map == Map::x0f ? 1 : 2);
  } else if ((byte & 0xfe) == 0xc4 || byte == 0x62 || (byte == 0x8f && (p[1] & 31) >= 8)) {
    if (rex || insn.pp || !read_vector_prefix(p, insn, lead)) return false;
  } else if (byte == 0xd5) {
    if (rex) return false;
    insn.apx = true;
    insn.rex = p[1] & 15;
    lead.map = p[1] & 0x80 ? Map::x0f : Map::one;
    lead.opcode = p + 2;
    if (lead.map == Map::one && p[2] == 0xa1) { // JMPABS: a 64-bit target
      insn.imm_size = 8;
      insn.opcode = p[2];
      insn.length = static_cast<uint8_t>(p + 11 - start);
      return insn.length <= kLongest;
    }
    if (!rex2_allows(lead.map, p[2])) return false;
  } else {
    lead.opcode = p;
  }
  return finish(start, lead, insn);
}

inline bool decode_fast(const uint8_t *const start, Insn &insn) {
  insn = Insn{};
  const unsigned rex = (*start & 0xf0) == 0x40;
  const uint8_t *p = start + rex;
  if (!kPlain[*p]) return decode_prefixed(start, insn);
  insn.rex = rex ? *start & 15 : 0;
  Lead lead;
  lead.opcode = p;
  return finish(start, lead, insn);
}

// ------------------------------------------------------------------ the short way

// One of the features that every x86-64 CPU has.
constexpr bool is_baseline(std::string_view name) {
  for (const std::string_view one : {"cmov", "cx8", "x87", "fxsr", "mmx", "sse", "sse2"})
    if (name == one) return true;
  return false;
}

// The class for the pass over all code: 0 where it needs nothing beyond x86-64-v1.
constexpr std::array<uint8_t, std::size(kClassRows)> make_wanted() {
  std::array<uint8_t, std::size(kClassRows)> t{};
  for (size_t i = 0; i < t.size(); ++i) {
    bool wanted = kClassRows[i].silent[0] != nullptr;
    for (const char *name : kClassRows[i].features) wanted |= name && !is_baseline(name);
    t[i] = wanted ? static_cast<uint8_t>(i) : 0;
  }
  return t;
}
constexpr std::array<uint8_t, std::size(kClassRows)> kWanted = make_wanted();

constexpr Action action_of(Map map, unsigned op) {
  if (map == Map::x0f) {
    if ((op & 0xf0) == 0x80) return Action::branch;
    switch (op) {
    case 0x0b: return Action::stop;
    case 0xbc: return Action::scan;
    case 0x1f: return Action::pad;
    case 0x01:
    case 0x1e:
    case 0xa2: return Action::detect;
    default: return Action::none;
    }
  }
  if (map != Map::one) return Action::none;
  if ((op & 0xf0) == 0x70 || (op & 0xfc) == 0xe0) return Action::branch;
  if ((op & 0xf8) == 0xb8) return Action::move;
  switch (op) {
  case 0xe8: return Action::call;
  case 0xe9:
  case 0xeb: return Action::jump;
  case 0xc2:
  case 0xc3:
  case 0xcb:
  case 0xcf: return Action::ret;
  case 0xcc:
  case 0xf4: return Action::stop;
  case 0xff: return Action::group5;
  case 0x8d: return Action::lea;
  case 0x8b: return Action::load;
  case 0x90: return Action::pad;
  default: return Action::none;
  }
}

// The class of a form, kNodeBit if ModRM.rm decides.
constexpr uint16_t class_of_form(uint16_t word, unsigned pp, unsigned w, unsigned l, unsigned mod3, unsigned reg) {
  while (word & kNodeBit) {
    const uint16_t *node = kNodes + (word & ~kNodeBit);
    switch (static_cast<Dimension>(node[0])) {
    case Dimension::pp: word = node[1 + pp]; break;
    case Dimension::mod: word = node[1 + mod3]; break;
    case Dimension::reg: word = node[1 + reg]; break;
    case Dimension::w: word = node[1 + w]; break;
    case Dimension::l: word = node[1 + l]; break;
    default: return kNodeBit;
    }
  }
  return word;
}

constexpr uint32_t kNoWord = classify::kOther;

// The word of an opcode; `forms` receives the forms that it stands for.
constexpr uint32_t word_of(Map map, unsigned pp, unsigned w, unsigned l, unsigned op, unsigned &forms) {
  const bool is_one = map == Map::one, is_escape = map == Map::x0f && (op == 0x38 || op == 0x3a);
  if ((is_one && (!kPlain[op] || (pp > 1 && op != 0x90 && op != 0xc3))) || is_escape) return kNoWord;
  const uint16_t root = kRoots[static_cast<size_t>(map) * 256 + op];
  const uint8_t form = kForms[static_cast<size_t>(map) * 256 + op];
  const auto imm = static_cast<Imm>(form & 15);
  unsigned immediate = 0;
  if (imm <= Imm::wb) {
    immediate = kImmediates[static_cast<size_t>(imm)][w ? 2 : pp == 1 ? 1 : 0];
  } else if (imm == Imm::group3b || imm == Imm::group3z) {
    immediate = imm == Imm::group3b ? 1 : kImmediates[static_cast<size_t>(Imm::z)][w ? 2 : pp == 1 ? 1 : 0];
  } else {
    return kNoWord;
  }
  if (immediate > 7) return kNoWord;
  forms = 0;
  uint16_t klass = kNodeBit;
  // Most trees are settled by the prefix alone.
  uint16_t start = root;
  if (start & kNodeBit && static_cast<Dimension>(kNodes[start & ~kNodeBit]) == Dimension::pp)
    start = kNodes[(start & ~kNodeBit) + 1 + pp];
  if (start == kInvalidClass) return kNoWord;
  if (!(start & kNodeBit) && imm <= Imm::wb) {
    klass = start;
    forms = 0xffff;
  }
  for (unsigned f = 0; f < 16 && forms != 0xffff; ++f) {
    const uint16_t one = class_of_form(start, pp, w, l, f >> 3, f & 7);
    if (one & kNodeBit || one == kInvalidClass || (imm > Imm::wb && (f & 7) > 1)) continue;
    if (klass == kNodeBit) klass = one;
    if (one == klass) forms |= 1U << f;
  }
  const bool modrm = form & kFormModrm;
  if (!forms || (!modrm && forms != 0xffff)) return kNoWord;
  return (modrm ? classify::kModrm : 0) | (1 + modrm + immediate) << 8 | immediate << 12 |
         static_cast<uint32_t>(kWanted[klass]) << 16 | static_cast<uint32_t>(action_of(map, op)) << 24;
}

// Puts the forms into the word: as a flag, or as one of the groups, of which there are `count`.
constexpr uint32_t with_forms(uint32_t word, unsigned forms, std::array<uint16_t, classify::kGroup + 1> &groups,
                              unsigned &count) {
  if (word == kNoWord || forms == 0xffff) return word;
  if (forms == 0xff) return word | classify::kMemory;
  unsigned g = 1;
  while (g < count && groups[g] != forms) ++g;
  if (g > classify::kGroup) return kNoWord;
  if (g == count) groups[count++] = static_cast<uint16_t>(forms);
  return word | g;
}

constexpr classify::VexTable make_vex_table(Map map) {
  classify::VexTable t{};
  unsigned count = 1;
  t.groups[0] = 0xffff;
  for (unsigned at = 0; at < t.words.size(); ++at) {
    unsigned forms = 0;
    const uint32_t word = word_of(map, at >> 10, at >> 9 & 1, at >> 8 & 1, at & 255, forms);
    t.words[at] = with_forms(word, forms, t.groups, count);
  }
  return t;
}

constexpr classify::Tables make_tables() {
  classify::Tables t{};
  unsigned groups = 1;
  t.groups[0] = 0xffff;
  for (size_t at = 0; at < t.words.size(); ++at) {
    unsigned forms = 0;
    const uint32_t word = word_of(at >> 11 ? Map::x0f : Map::one, at >> 9 & 3, at >> 8 & 1, 0, at & 255, forms);
    t.words[at] = with_forms(word, forms, t.groups, groups);
  }
  for (unsigned b = 0; b < 256; ++b) {
    const unsigned pp = kPrefixes[b] == kOperand ? 1 : kPrefixes[b] == kRep ? 2 : kPrefixes[b] == kRepne ? 3 : 0;
    t.leads[b] = static_cast<uint16_t>(kPrefixes[b] == kRex ? 8 | (b & 8) << 5 : pp << 9);
    const unsigned row = kAddresses[b];
    const bool rip = (b & 0xc7) == 5;
    t.rows[b] = static_cast<uint8_t>((row & 7) + (row >> 3 & 1) + (rip ? Step::kRip : 0) + (b >= 0xc0 ? classify::kMemory : 0) +
                                     (row & kSibBase ? classify::kModrm : 0));
  }
  return t;
}

// A step from what the whole decoder says.
Step step_from(const Insn &insn) {
  Action action = action_of(insn.map, insn.opcode);
  if (action == Action::load && insn.segment) action = Action::none;
  return {action, kWanted[insn.klass], insn.length, insn.imm_size, insn.rip_relative(), insn.modrm};
}

IsaSet set_of(const char *const *names, size_t count) {
  IsaSet set;
  for (size_t i = 0; i < count && names[i]; ++i) {
    const std::optional<Feature> feature = find_feature(names[i]);
    assert(feature && "the generated tables name features that feature.h has");
    if (feature) set.insert(*feature);
  }
  return set;
}

} // namespace

const InsnClass &insn_class(uint16_t index) {
  static const std::vector<InsnClass> kClasses = [] {
    std::vector<InsnClass> classes;
    for (const ClassRow &row : kClassRows)
      classes.push_back({set_of(row.features, std::size(row.features)), set_of(row.silent, std::size(row.silent))});
    return classes;
  }();
  return kClasses[index];
}

size_t insn_class_count() { return std::size(kClassRows); }

bool decode(std::span<const uint8_t> code, Insn &insn) {
  if (code.size() > kLongest + 8) return decode_fast(code.data(), insn);
  // Near the end: a copy with room, so that the reads above need no checks of their own.
  std::array<uint8_t, kLongest + 9> room{};
  std::copy(code.begin(), code.end(), room.begin());
  return !code.empty() && decode_fast(room.data(), insn) && insn.length <= code.size();
}

namespace classify {

constexpr Tables kMade = make_tables();
const Tables kTables = kMade;
constexpr VexTable kVex1 = make_vex_table(Map::vex1), kVex2 = make_vex_table(Map::vex2), kVex3 = make_vex_table(Map::vex3);
const VexTable *const kVexTables[4] = {nullptr, &kVex1, &kVex2, &kVex3};

Step other(const uint8_t *at) {
  Insn insn;
  if ((*at & 0xfe) == 0xc4 || *at == 0x62) { // no other prefix can come first
    Lead lead;
    if (!read_vector_prefix(at, insn, lead) || !host::finish(at, lead, insn)) return Step::none();
    return {Action::none, kWanted[insn.klass], insn.length, insn.imm_size, insn.rip_relative(), insn.modrm};
  }
  return decode_fast(at, insn) ? step_from(insn) : Step::none();
}

Step last(const uint8_t *at, size_t left) {
  Insn insn;
  return decode({at, left}, insn) ? step_from(insn) : Step::none();
}

} // namespace classify

int64_t displacement(const uint8_t *at, const Insn &insn) {
  const uint8_t *p = at + insn.disp_at;
  if (!insn.disp_at) return 0;
  if (insn.disp_size == 1) return static_cast<int8_t>(*p);
  if (insn.disp_size == 4) {
    int32_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  int64_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

int64_t immediate(const uint8_t *at, const Insn &insn) {
  const uint8_t *p = at + insn.length - insn.imm_size;
  switch (insn.imm_size) {
  case 1: return static_cast<int8_t>(*p);
  case 2: {
    int16_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  case 4: {
    int32_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  case 8: {
    int64_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  default: return 0;
  }
}

} // namespace isa_audit::host
