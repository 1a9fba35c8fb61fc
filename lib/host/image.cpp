#include "image.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "decode.h"
#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit::host {

namespace ELF = llvm::ELF;

namespace {

constexpr uint64_t kRelaSize = 24, kSymbolSize = 24;
// More than this no real file has; what claims more is cut.
constexpr uint64_t kMaxInitialisers = 1 << 20;

// A cursor over .eh_frame.
class Reader {
public:
  Reader(const uint8_t *at, uint64_t size, uint64_t address) : at_(at), left_(size), address_(address) {}

  bool ok() const { return ok_; }
  uint64_t left() const { return left_; }
  uint64_t address() const { return address_; }

  template <typename T> T get() {
    if (left_ < sizeof(T)) {
      ok_ = false;
      left_ = 0;
      return T{};
    }
    const T value = read_le<T>(at_);
    skip(sizeof(T));
    return value;
  }
  void skip(uint64_t n) {
    if (n > left_) ok_ = false;
    n = std::min(n, left_);
    at_ += n;
    left_ -= n;
    address_ += n;
  }
  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const uint8_t byte = get<uint8_t>();
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80) || !ok_) return value;
    }
  }
  std::string_view string() {
    const void *end = left_ ? std::memchr(at_, 0, left_) : nullptr;
    if (!end) {
      ok_ = false;
      return {};
    }
    const auto *text = reinterpret_cast<const char *>(at_);
    const size_t size = static_cast<size_t>(static_cast<const char *>(end) - text);
    skip(size + 1);
    return {text, size};
  }
  // A pointer in one of the DW_EH_PE encodings; nothing for the indirect and odd ones.
  std::optional<uint64_t> pointer(uint8_t encoding) {
    const uint64_t here = address_;
    int64_t value = 0;
    switch (encoding & 0xf) {
    case 0x0: value = get<int64_t>(); break;
    case 0x2: value = get<uint16_t>(); break;
    case 0x3: value = get<uint32_t>(); break;
    case 0x4: value = get<int64_t>(); break;
    case 0xa: value = get<int16_t>(); break;
    case 0xb: value = get<int32_t>(); break;
    case 0xc: value = get<int64_t>(); break;
    default: return std::nullopt;
    }
    if ((encoding & 0x70) == 0x10) return here + static_cast<uint64_t>(value);
    if ((encoding & 0x70) != 0 || (encoding & 0x80)) return std::nullopt;
    return static_cast<uint64_t>(value);
  }

private:
  const uint8_t *at_;
  uint64_t left_, address_;
  bool ok_ = true;
};

constexpr uint8_t kOmit = 0xff;

// The encoding of the FDEs of a CIE, whose content `r` holds; kOmit when it cannot be told.
uint8_t fde_encoding(Reader r) {
  r.get<uint8_t>(); // version
  const std::string_view augmentation = r.string();
  if (!augmentation.starts_with("z")) return 0;
  r.uleb();
  r.uleb();
  r.uleb(); // code and data alignment, return register
  r.uleb(); // length of the augmentation data
  uint8_t encoding = 0;
  for (const char c : augmentation.substr(1)) {
    if (c == 'R')
      encoding = r.get<uint8_t>();
    else if (c == 'L')
      r.get<uint8_t>();
    else if (c == 'P')
      r.pointer(r.get<uint8_t>() & 0xf);
    else if (c != 'S' && c != 'B')
      break;
  }
  return r.ok() ? encoding : kOmit;
}

bool is_plt(std::string_view name) { return name == ".plt" || name.starts_with(".plt."); }

} // namespace

Image::Image(const Elf &elf) : elf_(&elf) {
  read_segments();
  read_code();
  read_dynamic();
  read_exports();
  read_unwind();
}

void Image::read_segments() {
  const Bytes &file = elf_->file();
  for (const ElfSegment &s : elf_->segments()) {
    if (s.type != ELF::PT_LOAD || s.offset >= file.size() || s.address + s.memory_size < s.address) continue;
    const uint64_t held = std::min({s.file_size, file.size() - s.offset, s.memory_size});
    loads_.push_back({s.address, s.address + s.memory_size, s.address + held, file.data() + s.offset,
                      (s.flags & ELF::PF_W) != 0, (s.flags & ELF::PF_X) != 0});
  }
  std::ranges::sort(loads_, {}, &Load::start);
}

void Image::read_code() {
  for (const ElfSection &s : elf_->sections()) {
    const uint64_t start = section_address(s);
    if (s.executable() && s.allocated() && !s.bytes.empty() && start + s.bytes.size() > start)
      code_.push_back({start, start + s.bytes.size(), s.bytes.data(), is_plt(s.name)});
  }
  if (elf_->sections().empty())
    for (const Load &l : loads_)
      if (l.executable && l.file_end > l.start) code_.push_back({l.start, l.file_end, l.bytes, false});
  std::ranges::sort(code_, {}, &CodeRange::start);
  // Where sections overlap (only crafted files have that) the first one keeps the bytes.
  std::vector<CodeRange> apart;
  for (const CodeRange &r : code_)
    if (apart.empty() || r.start >= apart.back().end) apart.push_back(r);
  code_ = std::move(apart);
}

uint64_t Image::section_address(const ElfSection &section) const {
  return elf_->type() == ELF::ET_REL ? section.offset : section.address;
}

const Image::Load *Image::load_at(uint64_t address) const {
  auto it = std::ranges::upper_bound(loads_, address, {}, &Load::start);
  if (it == loads_.begin()) return nullptr;
  --it;
  return address < it->end ? &*it : nullptr;
}

const CodeRange *Image::code_at(uint64_t address) const {
  auto it = std::ranges::upper_bound(code_, address, {}, &CodeRange::start);
  if (it == code_.begin()) return nullptr;
  --it;
  return address < it->end ? &*it : nullptr;
}

const uint8_t *Image::bytes_at(uint64_t address, uint64_t size) const {
  const Load *l = load_at(address);
  if (!l || address >= l->file_end || size > l->file_end - address) return nullptr;
  return l->bytes + (address - l->start);
}

std::string_view Image::string_at(uint64_t address, size_t limit) const {
  const Load *l = load_at(address);
  if (!l || address >= l->file_end) return {};
  const auto *text = reinterpret_cast<const char *>(l->bytes + (address - l->start));
  const size_t room = static_cast<size_t>(std::min<uint64_t>(limit, l->file_end - address));
  const void *end = std::memchr(text, 0, room);
  return end ? std::string_view(text, static_cast<size_t>(static_cast<const char *>(end) - text)) : std::string_view{};
}

bool Image::is_mapped(uint64_t address) const { return load_at(address) != nullptr; }

bool Image::is_writable(uint64_t address) const {
  const Load *l = load_at(address);
  return l && l->writable;
}

void Image::read_dynamic() {
  struct Table {
    uint64_t address = 0, size = 0;
  };
  Table rela, plt_rela, relr, init, preinit;
  uint64_t dt_init = 0;
  for (const ElfSegment &s : elf_->segments()) {
    if (s.type != ELF::PT_DYNAMIC) continue;
    const uint64_t held = s.offset < elf_->file().size() ? std::min(s.file_size, elf_->file().size() - s.offset) : 0;
    for (uint64_t at = 0; held >= 16 && at <= held - 16; at += 16) {
      const uint8_t *entry = elf_->file().data() + s.offset + at;
      const auto tag = read_le<uint64_t>(entry), value = read_le<uint64_t>(entry + 8);
      if (tag == ELF::DT_NULL) break;
      switch (tag) {
      case ELF::DT_RELA: rela.address = value; break;
      case ELF::DT_RELASZ: rela.size = value; break;
      case ELF::DT_JMPREL: plt_rela.address = value; break;
      case ELF::DT_PLTRELSZ: plt_rela.size = value; break;
      case ELF::DT_RELR: relr.address = value; break;
      case ELF::DT_RELRSZ: relr.size = value; break;
      case ELF::DT_INIT: dt_init = value; break;
      case ELF::DT_INIT_ARRAY: init.address = value; break;
      case ELF::DT_INIT_ARRAYSZ: init.size = value; break;
      case ELF::DT_PREINIT_ARRAY: preinit.address = value; break;
      case ELF::DT_PREINIT_ARRAYSZ: preinit.size = value; break;
      case ELF::DT_SYMTAB: symbol_table_ = value; break;
      case ELF::DT_STRTAB: string_table_ = value; break;
      case ELF::DT_STRSZ: string_size_ = value; break;
      default: break;
      }
    }
    break;
  }
  read_relocations(rela.address, rela.size);
  read_relocations(plt_rela.address, plt_rela.size);
  read_relr(relr.address, relr.size);
  const auto before = [](const Relocation &a, const Relocation &b) {
    return std::tie(a.where, a.symbol, a.value) < std::tie(b.where, b.symbol, b.value);
  };
  if (!std::ranges::is_sorted(relocations_, before)) std::ranges::sort(relocations_, before);
  // Two tables may share entries (DT_RELA that covers DT_JMPREL).
  const auto same = [](const Relocation &a, const Relocation &b) { return a.where == b.where; };
  relocations_.erase(std::unique(relocations_.begin(), relocations_.end(), same), relocations_.end());
  bind_relocations();
  mark_relocations();
  if (dt_init) initialisers_.push_back(dt_init);
  read_initialisers(preinit.address, preinit.size);
  read_initialisers(init.address, init.size);
}

void Image::read_relocations(uint64_t address, uint64_t size) {
  const Load *l = load_at(address);
  if (!l || address >= l->file_end) return;
  size = std::min(size, l->file_end - address);
  const uint8_t *p = l->bytes + (address - l->start);
  relocations_.reserve(relocations_.size() + size / kRelaSize);
  for (uint64_t at = 0; size >= kRelaSize && at <= size - kRelaSize; at += kRelaSize) {
    const auto where = read_le<uint64_t>(p + at), info = read_le<uint64_t>(p + at + 8), addend = read_le<uint64_t>(p + at + 16);
    const auto index = static_cast<uint32_t>(info >> 32);
    switch (static_cast<uint32_t>(info)) {
    case ELF::R_X86_64_RELATIVE: relocations_.push_back({where, addend}); break;
    case ELF::R_X86_64_IRELATIVE: relocations_.push_back({where, addend, 0, true}); break;
    case ELF::R_X86_64_64: relocations_.push_back({where, addend, index}); break;
    case ELF::R_X86_64_GLOB_DAT:
    case ELF::R_X86_64_JUMP_SLOT: relocations_.push_back({where, 0, index}); break;
    default: break;
    }
  }
}

void Image::read_relr(uint64_t address, uint64_t size) {
  const Load *l = load_at(address);
  if (!l || address >= l->file_end) return;
  size = std::min(size, l->file_end - address);
  const uint8_t *p = l->bytes + (address - l->start);
  const auto add = [&](uint64_t where) {
    if (const uint8_t *word = bytes_at(where, 8)) relocations_.push_back({where, read_le<uint64_t>(word)});
  };
  uint64_t next = 0;
  for (uint64_t at = 0; at + 8 <= size; at += 8) {
    const auto entry = read_le<uint64_t>(p + at);
    if (!(entry & 1)) {
      add(entry);
      next = entry + 8;
      continue;
    }
    for (unsigned bit = 0; bit < 63; ++bit)
      if (entry >> (bit + 1) & 1) add(next + 8 * static_cast<uint64_t>(bit));
    next += uint64_t{63} * 8;
  }
}

// Looks symbols up once: pointers are followed many times.
void Image::bind_relocations() {
  const Load *l = symbol_table_ ? load_at(symbol_table_) : nullptr;
  if (!l || symbol_table_ >= l->file_end) return;
  const uint8_t *table = l->bytes + (symbol_table_ - l->start);
  const uint64_t count = (l->file_end - symbol_table_) / kSymbolSize;
  for (Relocation &r : relocations_) {
    if (!r.symbol || r.symbol >= count) continue;
    const uint8_t *entry = table + kSymbolSize * r.symbol;
    r.defined = read_le<uint16_t>(entry + 6) != ELF::SHN_UNDEF;
    if (!r.defined) continue;
    r.ifunc = (entry[4] & 15) == ELF::STT_GNU_IFUNC;
    r.value += read_le<uint64_t>(entry + 8);
  }
}

void Image::mark_relocations() {
  constexpr uint64_t kMaxGap = 1u << 16;
  for (auto it = relocations_.begin(); it != relocations_.end();) {
    const Load *l = load_at(it->where);
    const bool overlaps = !marks_.empty() && it->where < marks_.back().end;
    if (overlaps) marks_.back().counted = false;
    if (!l || overlaps) {
      ++it;
      continue;
    }
    // A span of relocated places without a wide gap: a damaged table may name places anywhere in a segment that claims any
    // size, and must not make the bits cost more than a multiple of the table itself.
    auto last = it;
    uint64_t end = it->where;
    while (last != relocations_.end() && last->where < l->end && last->where - end <= kMaxGap) end = (last++)->where;
    Marks m;
    m.start = it->where & ~uint64_t{7};
    m.end = (last - 1)->where + 8;
    m.bits.resize((m.end - m.start) / 512 + 1);
    m.first = static_cast<size_t>(it - relocations_.begin());
    m.counted = true;
    for (; it != last; ++it) {
      uint64_t &word = m.bits[(it->where - m.start) >> 9];
      const uint64_t bit = uint64_t{1} << ((it->where - m.start) >> 3 & 63);
      m.counted &= !(word & bit) && it->where % 8 == 0;
      word |= bit;
    }
    m.rank.reserve(m.bits.size());
    uint32_t count = 0;
    for (const uint64_t word : m.bits) {
      m.rank.push_back(count);
      count += static_cast<uint32_t>(std::popcount(word));
    }
    marks_.push_back(std::move(m));
  }
}

const Relocation *Image::relocation_at(uint64_t where) const {
  if (auto after = std::ranges::upper_bound(marks_, where, {}, &Marks::start); after != marks_.begin())
    if (const Marks &m = *std::prev(after); m.counted && where < m.end) {
      const uint64_t word = m.bits[(where - m.start) >> 9], bit = uint64_t{1} << ((where - m.start) >> 3 & 63);
      if (!(word & bit)) return nullptr;
      const Relocation &r =
          relocations_[m.first + m.rank[(where - m.start) >> 9] + static_cast<size_t>(std::popcount(word & (bit - 1)))];
      return r.where == where ? &r : nullptr;
    }
  auto it = std::ranges::lower_bound(relocations_, where, {}, &Relocation::where);
  return it != relocations_.end() && it->where == where ? &*it : nullptr;
}

std::optional<uint64_t> Image::pointer_at(uint64_t where) const {
  const Relocation *r = relocation_at(where);
  if (!r) { // a file that is not position independent holds the address itself
    if (elf_->type() != ELF::ET_EXEC) return std::nullopt;
    const uint8_t *word = bytes_at(where, 8);
    const uint64_t value = word ? read_le<uint64_t>(word) : 0;
    return value && is_mapped(value) ? std::optional(value) : std::nullopt;
  }
  return !r->symbol || r->defined ? std::optional(r->value) : std::nullopt;
}

void Image::read_initialisers(uint64_t address, uint64_t size) {
  for (uint64_t at = 0; at < std::min(size, kMaxInitialisers * 8); at += 8) {
    std::optional<uint64_t> target = pointer_at(address + at);
    if (!target)
      if (const uint8_t *word = bytes_at(address + at, 8)) target = read_le<uint64_t>(word);
    if (target && *target && code_at(*target)) initialisers_.push_back(*target);
  }
}

std::optional<DynamicSymbol> Image::symbol(uint32_t index) const {
  const uint8_t *p = symbol_table_ ? bytes_at(symbol_table_ + kSymbolSize * index, kSymbolSize) : nullptr;
  if (!p) return std::nullopt;
  DynamicSymbol s;
  const auto name = read_le<uint32_t>(p);
  if (name < string_size_) s.name = string_at(string_table_ + name, 1 << 16);
  s.type = p[4] & 15;
  s.binding = p[4] >> 4;
  s.defined = read_le<uint16_t>(p + 6) != ELF::SHN_UNDEF;
  s.value = read_le<uint64_t>(p + 8);
  s.size = read_le<uint64_t>(p + 16);
  return s;
}

void Image::read_exports() {
  elf_->for_each_symbol(true, [&](const ElfSymbol &s) {
    if (s.section == ELF::SHN_UNDEF || !s.value || s.binding == ELF::STB_LOCAL) return;
    if (s.type != ELF::STT_FUNC && s.type != ELF::STT_OBJECT && s.type != ELF::STT_GNU_IFUNC && s.type != ELF::STT_NOTYPE)
      return;
    exports_.push_back({s.name, s.value, s.size, s.type, s.binding, true});
  });
}

std::optional<uint64_t> Image::plt_slot(uint64_t address) const {
  const CodeRange *range = code_at(address);
  if (!range) return std::nullopt;
  // [endbr64] [bnd] jmp *slot(%rip), or with a push before it in the lazy form.
  for (int i = 0; i < 3; ++i) {
    if (address >= range->end) return std::nullopt;
    const uint8_t *at = range->bytes + (address - range->start);
    Insn insn;
    if (!decode({at, static_cast<size_t>(range->end - address)}, insn)) return std::nullopt;
    address += insn.length;
    if (insn.map == Map::one && insn.opcode == 0xff && insn.reg() == 4 && insn.rip_relative())
      return address + static_cast<uint64_t>(displacement(at, insn));
  }
  return std::nullopt;
}

void Image::read_unwind() {
  uint64_t address = 0, size = 0;
  if (const ElfSection *s = elf_->find_section(".eh_frame")) {
    address = s->address;
    size = s->bytes.size();
  } else {
    for (const ElfSegment &s : elf_->segments()) {
      if (s.type != ELF::PT_GNU_EH_FRAME) continue;
      const uint8_t *header = bytes_at(s.address, 12);
      if (!header || header[0] != 1) continue;
      Reader r(header + 4, 8, s.address + 4);
      if (const std::optional<uint64_t> start = r.pointer(header[1])) address = *start;
      const Load *l = load_at(address);
      if (l && address < l->file_end) size = l->file_end - address;
    }
  }
  const uint8_t *bytes = size ? bytes_at(address, size) : nullptr;
  if (!bytes) return;
  std::unordered_map<uint64_t, uint8_t> encodings;
  Reader r(bytes, size, address);
  while (r.left() >= 4) {
    uint64_t length = r.get<uint32_t>();
    if (length == 0) break; // terminator
    if (length == 0xffffffff) length = r.get<uint64_t>();
    if (length > r.left() || length < 4) break;
    const uint64_t body = r.address();
    Reader entry(bytes + (body - address), length, body);
    r.skip(length);
    const auto id = entry.get<uint32_t>();
    if (id == 0) {
      encodings[body - 4] = fde_encoding(entry);
      continue;
    }
    const auto cie = encodings.find(body - id);
    if (cie == encodings.end() || cie->second == kOmit) continue;
    const std::optional<uint64_t> start = entry.pointer(cie->second);
    const std::optional<uint64_t> count = entry.pointer(cie->second & 0xf);
    if (start && count && *count && *start + *count > *start && entry.ok()) unwind_.push_back({*start, *start + *count});
  }
  if (!std::ranges::is_sorted(unwind_, {}, &Extent::start)) std::ranges::sort(unwind_, {}, &Extent::start);
}

} // namespace isa_audit::host
