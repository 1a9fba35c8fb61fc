// A bounded view of an ELF file: sections, segments, notes, symbols. Every offset is checked once, here; what does not lie
// inside the file is left out and told as a problem. Specification: System V gABI, x86-64 psABI.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/problem.h"

namespace isa_audit {

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t offset = 0;
  uint64_t size = 0; // as the header says; `bytes` may be shorter
  uint32_t link = 0, info = 0;
  uint64_t entry_size = 0;
  Bytes bytes; // what of it lies in the file; empty for SHT_NOBITS

  bool allocated() const;
  bool executable() const;
};

struct ElfSegment {
  uint32_t type = 0, flags = 0;
  uint64_t offset = 0, address = 0, file_size = 0, memory_size = 0;
};

struct ElfSymbol {
  std::string_view name;
  uint64_t value = 0, size = 0;
  uint8_t type = 0, binding = 0;
  uint16_t section = 0; // SHN_UNDEF for an import
};

struct ElfNote {
  std::string_view owner; // without its NUL
  uint32_t type = 0;
  Bytes desc;
};

// Whether a file that starts like this claims to be ELF; for the machine (EM_*, little-endian).
bool is_elf(std::string_view head);
bool is_elf(std::string_view head, uint16_t machine);

class Elf {
public:
  // Reads the headers. Error: no ELF header, or one that nothing can be trusted of (class, byte order, header sizes). Parts
  // that lie outside the file are cut and told in `problems()` (messages without origin).
  static llvm::Expected<Elf> read(Bytes file);

  const Bytes &file() const { return file_; }
  bool is_64() const { return is_64_; }
  uint16_t type() const { return type_; }       // ET_*
  uint16_t machine() const { return machine_; } // EM_*
  uint8_t os_abi() const { return os_abi_; }
  uint8_t abi_version() const { return abi_version_; }
  uint32_t flags() const { return flags_; } // e_flags
  std::string format() const;               // "elf-x86_64", "elf-amdgpu", "elf-machine-243"

  const std::vector<ElfSection> &sections() const { return sections_; }
  const std::vector<ElfSegment> &segments() const { return segments_; }
  const std::vector<std::string> &problems() const { return problems_; }
  const ElfSection *find_section(std::string_view name) const;

  // One past the last byte that a header, section or segment of the file claims.
  uint64_t extent() const { return extent_; }

  // The file offset of a virtual address that a PT_LOAD segment backs with file bytes.
  std::optional<uint64_t> offset_of(uint64_t address) const;

  // The allocated ranges with file bytes that are not executable: sections, or PT_LOAD segments where the file has no
  // section headers. And the executable ones.
  struct Range {
    std::string name;
    uint64_t offset, address;
    Bytes bytes;
  };
  std::vector<Range> data_ranges() const;
  std::vector<Range> code_ranges() const;

  // Calls `visit` for each note of SHT_NOTE sections, or of PT_NOTE segments where there are none. Malformed ones end the
  // walk of their section.
  void for_each_note(const std::function<void(const ElfNote &)> &visit) const;

  // Symbols of .symtab, or of .dynsym (`dynamic`). Names are views into the file.
  void for_each_symbol(bool dynamic, const std::function<void(const ElfSymbol &)> &visit) const;

  // DT_NEEDED, in order.
  std::vector<std::string_view> needed() const;
  std::string_view soname() const;

private:
  void read_segments();
  void read_sections();
  std::vector<Range> ranges(bool executable) const;
  std::vector<std::string_view> dynamic_strings(uint64_t tag) const;

  Bytes file_;
  bool is_64_ = false, big_endian_ = false;
  uint16_t type_ = 0, machine_ = 0;
  uint8_t os_abi_ = 0, abi_version_ = 0;
  uint32_t flags_ = 0;
  uint64_t extent_ = 0;
  std::vector<ElfSection> sections_;
  std::vector<ElfSegment> segments_;
  std::vector<std::string> problems_;
};

} // namespace isa_audit
