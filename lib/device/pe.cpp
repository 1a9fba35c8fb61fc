// PE images (Microsoft PE/COFF specification): "MZ", at 60 a u32 offset of "PE\0\0", the COFF header (u16 machine, u16 number
// of sections, …, u16 size of the optional header at 16), the optional header, then 40 bytes for each section: name of 8 bytes,
// u32 virtual size, address, raw size, raw offset, …, u32 characteristics. Names are cut to 8 bytes in images: .hip_fatbin is
// .hip_fat, .nv_fatbin is .nv_fatb; toolchains that keep a string table write "/offset" instead, so names only say where code
// must be: every section of data is searched.

#include <algorithm>

#include "nv_fatbin.h"
#include "piece_decoder.h"
#include "range_walker.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

using namespace std::string_view_literals;

constexpr uint64_t kPointer = 60, kSignature = 4, kCoffHeader = 20, kSection = 40;
constexpr uint16_t kX86 = 0x14c, kX86_64 = 0x8664, kArm64 = 0xaa64;
constexpr uint32_t kExecutable = 0x20000000, kInitializedData = 0x40;

// Offset of the COFF header; 0 where there is none.
uint64_t coff_header(const Bytes &bytes) {
  if (!bytes.text().starts_with("MZ"sv) || !bytes.contains(kPointer, 4)) return 0;
  uint64_t at = read_le<uint32_t>(bytes.data() + kPointer);
  if (!bytes.contains(at, kSignature + kCoffHeader) || bytes.text().substr(at, kSignature) != "PE\0\0"sv) return 0;
  return at + kSignature;
}

struct Sections {
  std::vector<DeviceRange> ranges;
  std::vector<ElfSection> nvidia;
};

Sections data_sections(const Bytes &file, const Origin &origin, Problems &problems) {
  Sections out;
  auto tell = [&](std::string message) { problems.push_back({Level::error, origin, std::move(message)}); };
  uint64_t header = coff_header(file);
  uint64_t count = read_le<uint16_t>(file.data() + header + 2);
  uint64_t at = header + kCoffHeader + read_le<uint16_t>(file.data() + header + 16);
  for (uint64_t i = 0; i < count; ++i, at += kSection) {
    if (!file.contains(at, kSection)) {
      tell(llvm::formatv("section table cut off: {0} of {1} sections are there", i, count).str());
      break;
    }
    const uint8_t *p = file.data() + at;
    std::string_view name = file.text().substr(at, 8);
    name = name.substr(0, name.find('\0'));
    uint64_t address = read_le<uint32_t>(p + 12), size = read_le<uint32_t>(p + 16), offset = read_le<uint32_t>(p + 20);
    uint32_t flags = read_le<uint32_t>(p + 36);
    if ((flags & kExecutable) || !(flags & kInitializedData) || size == 0 || offset == 0) continue;
    if (!file.contains(offset, size)) {
      tell(llvm::formatv("section {0} claims {1} bytes at {2:x}, outside of the {3} bytes there are", name, size, offset,
                         file.size())
               .str());
      if (offset >= file.size()) continue;
      size = file.size() - offset;
    }
    Bytes bytes = llvm::cantFail(file.slice(offset, size));
    out.ranges.push_back({std::string(name), offset, address, bytes, name.starts_with(".hip_fat")});
    if (name.starts_with(".nv_fatb")) {
      ElfSection section;
      section.name = name;
      section.offset = offset;
      section.size = size;
      section.bytes = bytes;
      out.nvidia.push_back(std::move(section));
    }
  }
  return out;
}

} // namespace

const char *pe_format(const Bytes &head) {
  uint64_t header = coff_header(head);
  if (!header) return nullptr;
  switch (read_le<uint16_t>(head.data() + header)) {
  case kX86_64: return "pe-x86_64";
  case kArm64: return "pe-aarch64";
  case kX86: return "pe-i386";
  default: return "pe";
  }
}

DeviceCode read_pe_device(const Bytes &file, const Origin &origin, const DeviceLimits &limits, const ParallelFor &parallel,
                          Problems &problems) {
  DeviceCode code;
  if (!coff_header(file)) {
    problems.push_back({Level::error, origin, "no PE header"});
    return code;
  }
  Sections sections = data_sections(file, origin, problems);
  std::vector<DevicePiece> pieces;
  for (const DeviceRange &range : sections.ranges) walk_range(range, origin, parallel, pieces, problems);
  decode_pieces(pieces, origin, limits, parallel, code, problems);
  for (const ElfSection &section : sections.nvidia) read_nv_section(section, origin, code.nvidia, problems);
  return code;
}

} // namespace isa_audit
