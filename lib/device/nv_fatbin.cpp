// NVIDIA does not publish the format; several independent readers agree on it. A container: u32 magic 0xba55ed50, u16 version,
// u16 header size (16), u64 size of what follows. An entry: u16 kind (1 PTX, 2 ELF), u16 version, u32 header size, u64 payload
// size (padded), … u32 arch (86 for sm_86) at 28, u64 flags at 40. Containers stand one after the other, aligned to 8; objects
// of relocatable device code have theirs in __nv_relfatbin. The suffix of sm_90a is not in the number.
#include "nv_fatbin.h"

#include "isa-audit/base/bytes.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

constexpr uint32_t kMagic = 0xba55ed50;
constexpr uint64_t kContainerHeader = 16, kEntryHeader = 32;
constexpr uint16_t kPtx = 1, kElf = 2;

struct Teller {
  const Origin &origin;
  const ElfSection &section;
  Problems &problems;
  void operator()(uint64_t at, std::string message) const {
    Origin where = origin;
    where.place = llvm::formatv("{0}+{1:x}", section.name, at).str();
    where.pos = section.offset + at;
    problems.push_back({Level::error, std::move(where), std::move(message)});
  }
};

// The entries of the container at `at`, which ends at `end`.
void read_entries(const Bytes &bytes, uint64_t at, uint64_t end, DeviceImage &image, const Teller &tell) {
  while (at < end) {
    if (end - at < kEntryHeader) return tell(at, "CUDA fat binary entry cut off inside its header");
    const uint8_t *p = bytes.data() + at;
    uint16_t kind = read_le<uint16_t>(p);
    uint64_t header = read_le<uint32_t>(p + 4), payload = read_le<uint64_t>(p + 8);
    if (header < kEntryHeader || header > end - at || payload > end - at - header)
      return tell(at, llvm::formatv("CUDA fat binary entry claims {0} bytes, {1} are there", payload, end - at).str());
    // Other kinds (intermediate code for link-time optimisation) are nothing a driver runs.
    if (kind == kPtx || kind == kElf) {
      CodeObject object;
      object.target.processor = llvm::formatv("sm_{0}", read_le<uint32_t>(p + 28)).str();
      object.target.vendor = Vendor::nvidia;
      object.carrier = Carrier::nv_fatbin;
      if (kind == kPtx) object.claimed = "ptx";
      object.offset = at;
      object.size = payload;
      object.kernels_known = false;
      image.code_objects.push_back(std::move(object));
    }
    at += header + payload;
  }
}

} // namespace

void read_nv_section(const ElfSection &section, const Origin &origin, std::vector<DeviceImage> &images, Problems &problems) {
  const Bytes &bytes = section.bytes;
  Teller tell{origin, section, problems};
  for (uint64_t at = 0; bytes.contains(at, kContainerHeader);) {
    const uint8_t *p = bytes.data() + at;
    if (read_le<uint32_t>(p) != kMagic) {
      at += 8; // padding
      continue;
    }
    uint64_t header = read_le<uint16_t>(p + 6), size = read_le<uint64_t>(p + 8);
    if (header < kContainerHeader || !bytes.contains(at, header) || !bytes.contains(at + header, size)) {
      tell(at, llvm::formatv("CUDA fat binary claims {0} bytes, {1} are there", size, bytes.size() - at).str());
      return;
    }
    DeviceImage image;
    image.place = llvm::formatv("{0}+{1:x}", section.name, at).str();
    image.pos = section.offset + at;
    image.carrier = Carrier::nv_fatbin;
    read_entries(bytes, at + header, at + header + size, image, tell);
    if (!image.code_objects.empty()) images.push_back(std::move(image));
    at = align_up(at + header + size, 8);
  }
}

std::vector<DeviceImage> read_nv_fatbins(const Elf &elf, const Origin &origin, Problems &problems) {
  std::vector<DeviceImage> images;
  for (const ElfSection &section : elf.sections())
    if (section.name == ".nv_fatbin" || section.name == "__nv_relfatbin") read_nv_section(section, origin, images, problems);
  return images;
}

} // namespace isa_audit
