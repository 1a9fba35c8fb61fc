// One walk for every place that may hold device code. In .hip_fatbin each translation unit adds a bundle, plain or compressed,
// aligned to 4096 as a rule; objcopy and hand-made inputs keep no alignment, so the walk goes from the end of one piece to the
// next magic wherever it is. What lies between is padding when it is zero, and is told when it is not. A piece is never
// searched for magics inside: compressed bytes hold "CCOB" by chance, plain bundles hold ELF files by design.
#include "range_walker.h"

#include <algorithm>

#include "code_object_reader.h"
#include "isa-audit/elf/elf.h"
#include "offload_binary.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

// HIP hands comgr a slice of this size as "the bundle" when it looks up an entry (hip_fatbin.cpp).
constexpr uint64_t kRuntimeHeaderLimit = 4096;

class RangeWalker {
public:
  RangeWalker(const DeviceRange &range, const Origin &origin, std::vector<DevicePiece> &pieces, Problems &problems)
      : range_(range), origin_(origin), pieces_(pieces), problems_(problems) {}

  void walk(const std::vector<MagicHit> &hits) {
    uint64_t end = 0; // of the last piece
    for (const MagicHit &hit : hits) {
      if (hit.offset < end) continue;
      bool told = damaged_;
      damaged_ = false;
      uint64_t next = take(hit);
      if (next == hit.offset) {
        damaged_ |= told;
        continue;
      }
      if (!told) check_gap(end, hit.offset);
      end = next;
    }
    if (damaged_) return;
    if (range_.dedicated) check_gap(end, range_.bytes.size());
  }

private:
  // One past the piece at `hit`, or the hit's own offset when there is none.
  uint64_t take(const MagicHit &hit) {
    Bytes rest = llvm::cantFail(range_.bytes.slice(hit.offset, range_.bytes.size() - hit.offset));
    switch (hit.magic) {
    case Magic::bundle: return take_bundle(hit.offset, rest);
    case Magic::ccob: return take_ccob(hit.offset, rest);
    case Magic::elf: return take_elf(hit.offset, rest);
    case Magic::offload_binary: return take_offload_binary(hit.offset, rest);
    }
    return hit.offset;
  }

  uint64_t take_bundle(uint64_t at, const Bytes &rest) {
    if (!range_.dedicated && !plausible_bundle(rest)) return at;
    BundleHeader header = parse_bundle_header(rest);
    for (const std::string &error : header.errors) tell(Level::error, at, error);
    uint64_t header_end = 32;
    for (const BundleEntry &entry : header.entries)
      header_end =
          std::max<uint64_t>(header_end, static_cast<uint64_t>(entry.id.data() - rest.text().data()) + entry.id.size());
    if (header_end > kRuntimeHeaderLimit)
      tell(Level::warning, at,
           llvm::formatv("the bundle's header takes {0} bytes; the HIP runtime looks at the first {1} only", header_end,
                         kRuntimeHeaderLimit)
               .str());
    uint64_t size = std::min(header.end, rest.size());
    if (header.entries.empty()) return at + std::max<uint64_t>(size, 1);
    add(Magic::bundle, at, rest.prefix(size)).header = std::move(header);
    return at + size;
  }

  uint64_t take_ccob(uint64_t at, const Bytes &rest) {
    if (!range_.dedicated && !plausible_ccob(rest)) return at;
    auto header = parse_ccob_header(rest);
    if (!header) return fail(at, kCcobMagic.size(), header.takeError());
    auto size = ccob_extent(rest, *header);
    if (!size) return fail(at, kCcobMagic.size(), size.takeError());
    uint64_t fit = std::min(*size, rest.size());
    if (fit == *size)
      add(Magic::ccob, at, rest.prefix(fit));
    else
      tell(Level::error, at, llvm::formatv("compressed bundle claims {0} bytes, {1} are there: truncated?", *size, fit).str());
    return at + fit;
  }

  uint64_t take_elf(uint64_t at, const Bytes &rest) {
    // e_version, e_ehsize: what else a real header has that a coincidence does not.
    if (!rest.contains(0, 64) || read_le<uint32_t>(rest.data() + 20) != 1 || read_le<uint16_t>(rest.data() + 52) != 64) {
      if (range_.dedicated) tell(Level::error, at, "damaged header of an AMDGPU ELF image");
      return at;
    }
    auto elf = Elf::read(rest);
    if (!elf) return fail(at, 64, elf.takeError());
    if (elf->sections().empty() && elf->segments().empty()) {
      if (range_.dedicated) tell(Level::error, at, "AMDGPU ELF image without sections and segments");
      return at;
    }
    uint64_t size = std::min(elf->extent(), rest.size());
    add(Magic::elf, at, rest.prefix(size));
    return at + size;
  }

  uint64_t take_offload_binary(uint64_t at, const Bytes &rest) {
    auto size = offload_binary_extent(rest);
    if (!size) {
      if (range_.dedicated) return fail(at, 4, size.takeError());
      llvm::consumeError(size.takeError());
      return at;
    }
    add(Magic::offload_binary, at, rest.prefix(*size));
    return at + *size;
  }

  DevicePiece &add(Magic magic, uint64_t at, Bytes bytes) {
    DevicePiece &piece = pieces_.emplace_back();
    piece.magic = magic;
    piece.place = place(at);
    piece.pos = range_.offset + at;
    piece.address = range_.address ? range_.address + at : 0;
    piece.bytes = std::move(bytes);
    return piece;
  }

  std::string place(uint64_t at) const { return llvm::formatv("{0}+{1:x}", range_.name, at).str(); }

  void tell(Level level, uint64_t at, std::string message) {
    Origin origin = origin_;
    origin.place = place(at);
    origin.pos = range_.offset + at;
    problems_.push_back({level, std::move(origin), std::move(message)});
  }

  // What follows a piece that cannot be read, up to the next one, belongs to it.
  uint64_t fail(uint64_t at, uint64_t size, llvm::Error error) {
    damaged_ = true;
    tell(Level::error, at, llvm::toString(std::move(error)));
    return at + size;
  }

  void check_gap(uint64_t from, uint64_t to) {
    if (!range_.dedicated) return;
    auto gap = range_.bytes.view().subspan(from, to - from);
    auto first = std::ranges::find_if(gap, [](uint8_t byte) { return byte != 0; });
    if (first == gap.end()) {
      // A whole page of zeros before the first bundle is what no linker leaves.
      if (from == 0 && to >= 4096 && to < range_.bytes.size())
        tell(Level::warning, 0, llvm::formatv("{0} zero bytes before the first bundle", to).str());
      return;
    }
    uint64_t at = from + static_cast<uint64_t>(first - gap.begin());
    tell(Level::warning, at, llvm::formatv("{0} bytes that belong to no bundle or code object", to - at).str());
  }

  const DeviceRange &range_;
  const Origin &origin_;
  std::vector<DevicePiece> &pieces_;
  Problems &problems_;
  bool damaged_ = false;
};

} // namespace

void walk_range(const DeviceRange &range, const Origin &origin, const ParallelFor &parallel, std::vector<DevicePiece> &pieces,
                Problems &problems) {
  RangeWalker(range, origin, pieces, problems).walk(scan_magics(range.bytes, parallel));
}

} // namespace isa_audit
