// An x86-64 ELF file as a loader would see it: addresses to bytes, relocated pointers, imported and exported names, unwind
// ranges. The parts of the program model that need no decoding.
//
// Specification: System V gABI (dynamic section, RELR), x86-64 psABI (relocation types, unwind section), LSB (.eh_frame,
// .eh_frame_hdr and its pointer encodings). Tables are found through the program headers, as the loader does; section
// headers only say which executable bytes are PLT stubs. Everything is bounded by the bytes that the file has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "isa-audit/elf/elf.h"

namespace isa_audit::host {

struct Extent {
  uint64_t start = 0, end = 0;
  bool contains(uint64_t a) const { return a >= start && a < end; }
};

struct CodeRange {
  uint64_t start = 0, end = 0;
  const uint8_t *bytes = nullptr;
  bool plt = false;
};

// A pointer that the loader writes. symbol: index into the dynamic symbols, 0 when there is none.
struct Relocation {
  uint64_t where = 0;
  uint64_t value = 0; // address in this file; with a symbol that the file does not define, addend to the symbol
  uint32_t symbol = 0;
  bool resolver = false; // IRELATIVE: `value` is called to get the pointer
  bool defined = false;  // the file itself defines the symbol
  bool ifunc = false;    // and what it defines is a resolver

  // True if the value is what the loader writes (no other file having a symbol of that name).
  bool is_local() const { return !resolver && !ifunc && (defined || !symbol); }
};

struct DynamicSymbol {
  std::string_view name;
  uint64_t value = 0, size = 0;
  uint8_t type = 0, binding = 0;
  bool defined = false;
};

class Image {
public:
  explicit Image(const Elf &elf);

  const Elf &elf() const { return *elf_; }
  const std::vector<CodeRange> &code() const { return code_; } // sorted by address
  // The range that holds `address`, null if no executable byte is there.
  const CodeRange *code_at(uint64_t address) const;

  // Where a section lies. Object files have no addresses yet: there it is the file offset, so that sections stay apart.
  uint64_t section_address(const ElfSection &section) const;

  // `size` bytes at a virtual address that the file holds; null otherwise.
  const uint8_t *bytes_at(uint64_t address, uint64_t size) const;
  // The string at `address`, up to `limit` bytes; empty when there is none.
  std::string_view string_at(uint64_t address, size_t limit = 256) const;
  bool is_mapped(uint64_t address) const;
  bool is_writable(uint64_t address) const;

  const std::vector<Relocation> &relocations() const { return relocations_; } // sorted by place
  const Relocation *relocation_at(uint64_t where) const;
  // False for most places without one, at the cost of a look at one bit.
  bool may_have_relocation(uint64_t where) const {
    auto after = std::ranges::upper_bound(marks_, where, {}, &Marks::start);
    if (after != marks_.begin())
      if (const Marks &m = *std::prev(after); where < m.end)
        return m.bits[(where - m.start) >> 9] >> ((where - m.start) >> 3 & 63) & 1;
    return elf_->type() == 2; // ET_EXEC: its pointers need none
  }
  // The address in this file that the loader writes to `where`: relative, or a symbol that the file defines itself.
  std::optional<uint64_t> pointer_at(uint64_t where) const;

  // Entry `index` of the dynamic symbol table; none outside it.
  std::optional<DynamicSymbol> symbol(uint32_t index) const;
  // Defined functions and objects of the dynamic symbol table.
  const std::vector<DynamicSymbol> &exports() const { return exports_; }
  // The slot that the PLT stub at `address` jumps through.
  std::optional<uint64_t> plt_slot(uint64_t address) const;

  // Functions that run when the file is loaded: DT_INIT, DT_PREINIT_ARRAY, DT_INIT_ARRAY.
  const std::vector<uint64_t> &initialisers() const { return initialisers_; }
  // FDE ranges, sorted by start.
  const std::vector<Extent> &unwind_ranges() const { return unwind_; }

private:
  struct Load {
    uint64_t start, end, file_end;
    const uint8_t *bytes;
    bool writable, executable;
  };

  struct Marks { // one bit for each 8 bytes of a span of relocated places
    uint64_t start, end;
    size_t first; // relocation of the first bit
    bool counted; // no two relocations have the same bit
    std::vector<uint64_t> bits;
    std::vector<uint32_t> rank; // bits that are set before each word
  };

  void read_segments();
  void read_code();
  void read_dynamic();
  void read_relocations(uint64_t address, uint64_t size);
  void read_relr(uint64_t address, uint64_t size);
  void read_initialisers(uint64_t address, uint64_t size);
  void read_exports();
  void bind_relocations();
  void mark_relocations();
  void read_unwind();
  const Load *load_at(uint64_t address) const;

  const Elf *elf_;
  std::vector<Load> loads_;
  std::vector<CodeRange> code_;
  std::vector<Relocation> relocations_;
  std::vector<Marks> marks_;
  std::vector<DynamicSymbol> exports_;
  std::vector<uint64_t> initialisers_;
  std::vector<Extent> unwind_;
  uint64_t symbol_table_ = 0, string_table_ = 0, string_size_ = 0;
};

} // namespace isa_audit::host
