// GNU property notes: what the linker was told that the file needs of the CPU. ld.so refuses a file whose NEEDED note exceeds
// the CPU ("CPU ISA level is lower than required"). Layout: Linux ABI extension, .note.gnu.property; x86 values: x86-64 psABI.
#include "notes.h"

#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit::host {

namespace {

constexpr uint32_t kIsaNeeded = 0xc0008002, kIsaUsed = 0xc0010002;

int highest_bit(uint32_t bits) {
  for (int level = 4; level >= 1; --level)
    if (bits >> (level - 1) & 1) return level;
  return 0;
}

} // namespace

IsaNotes read_isa_notes(const Elf &elf) {
  IsaNotes notes;
  elf.for_each_note([&](const ElfNote &note) {
    if (note.owner != "GNU" || note.type != llvm::ELF::NT_GNU_PROPERTY_TYPE_0) return;
    const Bytes &d = note.desc;
    for (uint64_t at = 0; d.contains(at, 8);) {
      const auto type = read_le<uint32_t>(d.data() + at);
      const uint64_t size = read_le<uint32_t>(d.data() + at + 4);
      if (!d.contains(at + 8, size)) return;
      if (size >= 4) {
        const int level = highest_bit(read_le<uint32_t>(d.data() + at + 8));
        if (type == kIsaNeeded) notes.needed = std::max(notes.needed, level);
        if (type == kIsaUsed) notes.used = std::max(notes.used, level);
      }
      at += 8 + align_up(size, 8);
    }
  });
  return notes;
}

} // namespace isa_audit::host
