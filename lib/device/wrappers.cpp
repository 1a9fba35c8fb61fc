// .hipFatBinSegment holds 24 bytes for each translation unit (hipamd/src/hip_platform.cpp): u32 magic, u32 version 1, u64
// pointer to the bundle, u64 unused. The magic is "HIPF" as a C multi-character constant, so 46 50 49 48 on disk; a library
// whose code was split off into kpack archives has "HIPK" there, and the number of its code in the last field. In a
// position-independent library the pointer is filled in by a R_X86_64_RELATIVE relocation whose addend is the address; with
// RELR, and in executables at fixed addresses, it stands in place. The count of wrappers may differ from that of bundles
// (relocatable device code), but each pointer must lead to one.
#include "wrappers.h"

#include <algorithm>
#include <unordered_map>

#include "isa-audit/base/bytes.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

constexpr uint32_t kHipf = 0x48495046, kHipk = 0x4b504948;
constexpr uint64_t kWrapperSize = 24, kRelaSize = 24;

// Address → addend of the relative relocations that fall into [from, to).
std::unordered_map<uint64_t, uint64_t> relative_relocations(const Elf &elf, uint64_t from, uint64_t to) {
  std::unordered_map<uint64_t, uint64_t> out;
  for (const ElfSection &section : elf.sections()) {
    if (section.type != llvm::ELF::SHT_RELA || !section.allocated()) continue;
    for (uint64_t at = 0; section.bytes.contains(at, kRelaSize); at += kRelaSize) {
      const uint8_t *p = section.bytes.data() + at;
      uint64_t address = read_le<uint64_t>(p);
      if (address >= from && address < to && read_le<uint32_t>(p + 8) == llvm::ELF::R_X86_64_RELATIVE)
        out[address] = read_le<uint64_t>(p + 16);
    }
  }
  return out;
}

} // namespace

void check_wrappers(const Elf &elf, const Origin &origin, const std::vector<DevicePiece> &pieces, DeviceCode &code,
                    Problems &problems) {
  const ElfSection *segment = elf.find_section(".hipFatBinSegment");
  if (!segment || !elf.is_64()) return;
  auto tell = [&](uint64_t at, std::string message) {
    Origin where = origin;
    where.place = llvm::formatv(".hipFatBinSegment+{0:x}", at).str();
    where.pos = segment->offset + at;
    problems.push_back({Level::warning, std::move(where), std::move(message)});
  };
  if (segment->bytes.size() % kWrapperSize)
    tell(0, llvm::formatv("its {0} bytes are no multiple of {1}", segment->bytes.size(), kWrapperSize).str());
  std::vector<uint64_t> starts;
  for (const DevicePiece &piece : pieces)
    if (piece.address) starts.push_back(piece.address);
  std::ranges::sort(starts);
  bool linked = elf.type() == llvm::ELF::ET_DYN || elf.type() == llvm::ELF::ET_EXEC;
  auto relocated = relative_relocations(elf, segment->address, segment->address + segment->bytes.size());
  for (uint64_t at = 0; segment->bytes.contains(at, kWrapperSize); at += kWrapperSize) {
    const uint8_t *p = segment->bytes.data() + at;
    uint32_t magic = read_le<uint32_t>(p);
    if (magic != kHipf && magic != kHipk) {
      tell(at, llvm::formatv("unknown fat binary wrapper magic {0:x8}", magic).str());
      continue;
    }
    ++code.wrappers;
    if (magic == kHipk) {
      if (!code.external) code.external.emplace();
      code.external->indices.push_back(read_le<uint32_t>(p + 16));
      continue;
    }
    if (!linked) continue;
    auto found = relocated.find(segment->address + at + 8);
    uint64_t pointer = found == relocated.end() ? read_le<uint64_t>(p + 8) : found->second;
    if (!std::ranges::binary_search(starts, pointer))
      tell(at, llvm::formatv("fat binary wrapper points to {0:x}, where no device code was found", pointer).str());
  }
}

} // namespace isa_audit
