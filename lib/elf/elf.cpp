// Reading the headers of an ELF file (System V gABI, chapter 4). The traps: e_shnum of 0 means that the count stands in section
// 0 (more than 65,279 sections), likewise e_shstrndx; offsets are attacker controlled; a stripped-down library may have no
// section headers at all, then the program headers tell where things are; kpack-split libraries have SHT_NOBITS sections
// where others have bytes. Both classes are read; of big-endian files only the identity is (no GPU host is big-endian).
#include "isa-audit/elf/elf.h"

#include <algorithm>
#include <utility>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace ELF = llvm::ELF;

namespace {

// Field offsets of the two classes; all that differs between them.
struct Layout {
  uint64_t header, program, section, symbol, dynamic;
};
constexpr Layout kLayout32{52, 32, 40, 16, 8};
constexpr Layout kLayout64{64, 56, 64, 24, 16};

// More section headers than this are no real file's; a table that claims more is cut.
constexpr uint64_t kMaxSections = 1u << 20;

std::string_view string_at(const Bytes &table, uint64_t offset) {
  if (offset >= table.size()) return {};
  std::string_view rest = table.text().substr(offset);
  size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

// What of `size` bytes at `offset` lies inside `file`.
Bytes clamp(const Bytes &file, uint64_t offset, uint64_t size) {
  if (offset >= file.size()) return {};
  return llvm::cantFail(file.slice(offset, std::min(size, file.size() - offset)));
}

ElfSection read_section(const uint8_t *at, bool is_64) {
  ElfSection s;
  s.type = read_le<uint32_t>(at + 4);
  if (is_64) {
    s.flags = read_le<uint64_t>(at + 8);
    s.address = read_le<uint64_t>(at + 16);
    s.offset = read_le<uint64_t>(at + 24);
    s.size = read_le<uint64_t>(at + 32);
    s.link = read_le<uint32_t>(at + 40);
    s.info = read_le<uint32_t>(at + 44);
    s.entry_size = read_le<uint64_t>(at + 56);
  } else {
    s.flags = read_le<uint32_t>(at + 8);
    s.address = read_le<uint32_t>(at + 12);
    s.offset = read_le<uint32_t>(at + 16);
    s.size = read_le<uint32_t>(at + 20);
    s.link = read_le<uint32_t>(at + 24);
    s.info = read_le<uint32_t>(at + 28);
    s.entry_size = read_le<uint32_t>(at + 36);
  }
  return s;
}

ElfSegment read_segment(const uint8_t *at, bool is_64) {
  ElfSegment s;
  s.type = read_le<uint32_t>(at);
  if (is_64) {
    s.flags = read_le<uint32_t>(at + 4);
    s.offset = read_le<uint64_t>(at + 8);
    s.address = read_le<uint64_t>(at + 16);
    s.file_size = read_le<uint64_t>(at + 32);
    s.memory_size = read_le<uint64_t>(at + 40);
  } else {
    s.offset = read_le<uint32_t>(at + 4);
    s.address = read_le<uint32_t>(at + 8);
    s.file_size = read_le<uint32_t>(at + 16);
    s.memory_size = read_le<uint32_t>(at + 20);
    s.flags = read_le<uint32_t>(at + 24);
  }
  return s;
}

} // namespace

bool ElfSection::allocated() const { return flags & ELF::SHF_ALLOC; }
bool ElfSection::executable() const { return flags & ELF::SHF_EXECINSTR; }

bool is_elf(std::string_view head) { return head.starts_with(ELF::ElfMagic); }

bool is_elf(std::string_view head, uint16_t machine) {
  return is_elf(head) && head.size() >= 20 && read_le<uint16_t>(reinterpret_cast<const uint8_t *>(head.data()) + 18) == machine;
}

llvm::Expected<Elf> Elf::read(Bytes file) {
  const uint8_t *h = file.data();
  if (file.size() < 20 || !is_elf(file.text())) return make_error("not an ELF file");
  const uint64_t size = file.size();
  Elf elf;
  elf.file_ = std::move(file);
  if (h[ELF::EI_CLASS] != ELF::ELFCLASS32 && h[ELF::EI_CLASS] != ELF::ELFCLASS64)
    return make_error(llvm::formatv("unknown ELF class {0}", unsigned(h[ELF::EI_CLASS])).str());
  elf.is_64_ = h[ELF::EI_CLASS] == ELF::ELFCLASS64;
  elf.big_endian_ = h[ELF::EI_DATA] == ELF::ELFDATA2MSB;
  if (!elf.big_endian_ && h[ELF::EI_DATA] != ELF::ELFDATA2LSB)
    return make_error(llvm::formatv("unknown ELF byte order {0}", unsigned(h[ELF::EI_DATA])).str());
  elf.os_abi_ = h[ELF::EI_OSABI];
  elf.abi_version_ = h[ELF::EI_ABIVERSION];
  auto half = [&](unsigned at) -> uint16_t {
    return elf.big_endian_ ? uint16_t(h[at] << 8 | h[at + 1]) : read_le<uint16_t>(h + at);
  };
  elf.type_ = half(16);
  elf.machine_ = half(18);
  if (elf.big_endian_) {
    elf.extent_ = size;
    return elf;
  }
  const Layout &layout = elf.is_64_ ? kLayout64 : kLayout32;
  if (size < layout.header)
    return make_error(llvm::formatv("file ends inside the ELF header ({0} of {1} bytes)", size, layout.header).str());
  elf.flags_ = read_le<uint32_t>(h + (elf.is_64_ ? 48 : 36));
  elf.extent_ = layout.header;
  elf.read_segments();
  elf.read_sections();
  return elf;
}

void Elf::read_segments() {
  const uint8_t *h = file_.data();
  const Layout &layout = is_64_ ? kLayout64 : kLayout32;
  uint64_t table = is_64_ ? read_le<uint64_t>(h + 32) : read_le<uint32_t>(h + 28);
  uint64_t entry = read_le<uint16_t>(h + (is_64_ ? 54 : 42)), count = read_le<uint16_t>(h + (is_64_ ? 56 : 44));
  if (!table || !count) return;
  if (entry < layout.program || !file_.contains(table, entry * count)) {
    problems_.push_back(llvm::formatv("program headers at {0:x} do not lie inside the file", table).str());
    return;
  }
  extent_ = std::max(extent_, table + entry * count);
  for (uint64_t i = 0; i < count; ++i) {
    ElfSegment s = read_segment(h + table + i * entry, is_64_);
    if (s.type == ELF::PT_LOAD && !file_.contains(s.offset, s.file_size))
      problems_.push_back(
          llvm::formatv("segment {0} ({1:x} bytes at {2:x}) ends beyond the file: truncated?", i, s.file_size, s.offset).str());
    extent_ = std::max(extent_, s.offset + std::min(s.file_size, UINT64_MAX - s.offset));
    segments_.push_back(s);
  }
}

void Elf::read_sections() {
  const uint8_t *h = file_.data();
  const Layout &layout = is_64_ ? kLayout64 : kLayout32;
  uint64_t table = is_64_ ? read_le<uint64_t>(h + 40) : read_le<uint32_t>(h + 32);
  uint64_t entry = read_le<uint16_t>(h + (is_64_ ? 58 : 46)), count = read_le<uint16_t>(h + (is_64_ ? 60 : 48));
  uint64_t names = read_le<uint16_t>(h + (is_64_ ? 62 : 50));
  if (!table) return;
  if (entry < layout.section || !file_.contains(table, entry)) {
    problems_.push_back(llvm::formatv("section headers at {0:x} do not lie inside the file: truncated?", table).str());
    return;
  }
  ElfSection first = read_section(h + table, is_64_);
  if (count == 0) count = first.size;
  if (names == ELF::SHN_XINDEX) names = first.link;
  uint64_t fit = std::min((file_.size() - table) / entry, kMaxSections);
  if (count > fit) {
    problems_.push_back(llvm::formatv("{0} section headers are claimed, {1} lie inside the file", count, fit).str());
    count = fit;
  }
  extent_ = std::max(extent_, table + entry * count);
  Bytes strings;
  sections_.reserve(count);
  std::vector<uint32_t> name_offsets;
  name_offsets.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint8_t *at = h + table + i * entry;
    ElfSection s = read_section(at, is_64_);
    name_offsets.push_back(read_le<uint32_t>(at));
    if (s.type != ELF::SHT_NOBITS && s.type != ELF::SHT_NULL) {
      s.bytes = clamp(file_, s.offset, s.size);
      extent_ = std::max(extent_, s.offset + std::min(s.size, UINT64_MAX - s.offset));
    }
    sections_.push_back(s);
  }
  if (names < sections_.size()) strings = sections_[names].bytes;
  for (uint64_t i = 0; i < count; ++i) {
    ElfSection &s = sections_[i];
    s.name = string_at(strings, name_offsets[i]);
    if (s.type != ELF::SHT_NOBITS && s.type != ELF::SHT_NULL && s.bytes.size() < s.size)
      problems_.push_back(llvm::formatv("section {0} '{1}' ({2:x} bytes at {3:x}) ends beyond the file: truncated?", i, s.name,
                                        s.size, s.offset)
                              .str());
  }
}

std::string Elf::format() const {
  if (big_endian_) return llvm::formatv("elf-be-machine-{0}", machine_).str();
  switch (machine_) {
  case ELF::EM_X86_64: return is_64_ ? "elf-x86_64" : "elf-x32";
  case ELF::EM_386: return "elf-i386";
  case ELF::EM_AARCH64: return "elf-aarch64";
  case ELF::EM_ARM: return "elf-arm";
  case ELF::EM_PPC64: return "elf-ppc64le";
  case ELF::EM_RISCV: return is_64_ ? "elf-riscv64" : "elf-riscv32";
  case ELF::EM_LOONGARCH: return "elf-loongarch";
  case ELF::EM_AMDGPU: return "elf-amdgpu";
  case ELF::EM_CUDA: return "elf-cuda";
  case ELF::EM_BPF: return "elf-bpf";
  default: return llvm::formatv("elf-machine-{0}", machine_).str();
  }
}

const ElfSection *Elf::find_section(std::string_view name) const {
  for (const ElfSection &s : sections_)
    if (s.name == name) return &s;
  return nullptr;
}

std::optional<uint64_t> Elf::offset_of(uint64_t address) const {
  for (const ElfSegment &s : segments_) {
    if (s.type != ELF::PT_LOAD || address < s.address || address - s.address >= s.file_size) continue;
    uint64_t into = address - s.address;
    if (s.offset <= file_.size() && into < file_.size() - s.offset) return s.offset + into;
  }
  return std::nullopt;
}

std::vector<Elf::Range> Elf::ranges(bool executable) const {
  std::vector<Range> out;
  for (const ElfSection &s : sections_)
    if (s.allocated() && s.executable() == executable && !s.bytes.empty())
      out.push_back({std::string(s.name), s.offset, s.address, s.bytes});
  if (!sections_.empty()) return out;
  for (size_t i = 0; i < segments_.size(); ++i) {
    const ElfSegment &s = segments_[i];
    Bytes bytes = clamp(file_, s.offset, s.file_size);
    if (s.type == ELF::PT_LOAD && bool(s.flags & ELF::PF_X) == executable && !bytes.empty())
      out.push_back({llvm::formatv("segment {0}", i).str(), s.offset, s.address, bytes});
  }
  return out;
}

std::vector<Elf::Range> Elf::data_ranges() const { return ranges(false); }
std::vector<Elf::Range> Elf::code_ranges() const { return ranges(true); }

static void walk_notes(const Bytes &bytes, uint64_t alignment, const std::function<void(const ElfNote &)> &visit) {
  // x86-64 property notes are padded to 8, all others to 4.
  uint64_t at = 0;
  while (bytes.contains(at, 12)) {
    uint64_t name_size = read_le<uint32_t>(bytes.data() + at), desc_size = read_le<uint32_t>(bytes.data() + at + 4);
    uint32_t type = read_le<uint32_t>(bytes.data() + at + 8);
    uint64_t name_at = at + 12, desc_at = at + align_up(12 + name_size, alignment);
    if (!bytes.contains(name_at, name_size) || !bytes.contains(desc_at, desc_size)) return;
    std::string_view owner = bytes.text().substr(name_at, name_size);
    owner = owner.substr(0, owner.find('\0'));
    visit({owner, type, llvm::cantFail(bytes.slice(desc_at, desc_size))});
    at = align_up(desc_at + desc_size, alignment);
  }
}

void Elf::for_each_note(const std::function<void(const ElfNote &)> &visit) const {
  bool any = false;
  for (const ElfSection &s : sections_) {
    if (s.type != ELF::SHT_NOTE) continue;
    any = true;
    walk_notes(s.bytes, s.name == ".note.gnu.property" && is_64_ ? 8 : 4, visit);
  }
  if (any) return;
  for (const ElfSegment &s : segments_)
    if (s.type == ELF::PT_NOTE) walk_notes(clamp(file_, s.offset, s.file_size), 4, visit);
}

void Elf::for_each_symbol(bool dynamic, const std::function<void(const ElfSymbol &)> &visit) const {
  const uint64_t entry = (is_64_ ? kLayout64 : kLayout32).symbol;
  for (const ElfSection &s : sections_) {
    if (s.type != (dynamic ? ELF::SHT_DYNSYM : ELF::SHT_SYMTAB) || s.link >= sections_.size()) continue;
    const Bytes &strings = sections_[s.link].bytes;
    for (uint64_t at = entry; s.bytes.contains(at, entry); at += entry) {
      const uint8_t *p = s.bytes.data() + at;
      ElfSymbol symbol;
      symbol.name = string_at(strings, read_le<uint32_t>(p));
      uint8_t info = is_64_ ? p[4] : p[12];
      symbol.type = info & 15;
      symbol.binding = info >> 4;
      symbol.section = read_le<uint16_t>(p + (is_64_ ? 6 : 14));
      symbol.value = is_64_ ? read_le<uint64_t>(p + 8) : read_le<uint32_t>(p + 4);
      symbol.size = is_64_ ? read_le<uint64_t>(p + 16) : read_le<uint32_t>(p + 8);
      visit(symbol);
    }
  }
}

// The dynamic section's entries with `tag`, looked up in its string table.
std::vector<std::string_view> Elf::dynamic_strings(uint64_t tag) const {
  std::vector<std::string_view> out;
  const uint64_t entry = (is_64_ ? kLayout64 : kLayout32).dynamic;
  for (const ElfSection &s : sections_) {
    if (s.type != ELF::SHT_DYNAMIC || s.link >= sections_.size()) continue;
    const Bytes &strings = sections_[s.link].bytes;
    for (uint64_t at = 0; s.bytes.contains(at, entry); at += entry) {
      const uint8_t *p = s.bytes.data() + at;
      uint64_t found = is_64_ ? read_le<uint64_t>(p) : read_le<uint32_t>(p);
      if (found == ELF::DT_NULL) break;
      if (found != tag) continue;
      auto text = string_at(strings, is_64_ ? read_le<uint64_t>(p + 8) : read_le<uint32_t>(p + 4));
      if (!text.empty()) out.push_back(text);
    }
  }
  return out;
}

std::vector<std::string_view> Elf::needed() const { return dynamic_strings(ELF::DT_NEEDED); }

std::string_view Elf::soname() const {
  auto names = dynamic_strings(ELF::DT_SONAME);
  return names.empty() ? std::string_view{} : names.front();
}

} // namespace isa_audit
