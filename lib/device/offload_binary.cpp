// Header: magic, u32 version, u64 size of the whole, u64 offset of the entries, then u64 entry size (version 1: one entry of 40
// bytes) or u64 count (version 2 on); version 3 adds u64 inflated size, not 0 when everything behind the entries' offset is
// compressed (zstd by magic, else zlib). An entry: u16 image kind, u16 offload kind, u32 flags, u64 offset and count of its
// strings, u64 offset and size of its image. A string is a pair of offsets of NUL-terminated texts; from version 2 on a third
// u64 holds the value's length. All offsets count from the header. LLVM 22 reads version 1 only.
#include "offload_binary.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "isa-audit/base/problem.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

constexpr uint64_t kHeader = 32, kHeaderV3 = 40, kEntry = 40;

std::string_view text_at(const Bytes &bytes, uint64_t offset) {
  if (offset >= bytes.size()) return {};
  std::string_view rest = bytes.text().substr(offset, 4096);
  return rest.substr(0, rest.find('\0'));
}

OffloadEntry read_entry(const Bytes &bytes, uint64_t at, uint32_t version, size_t index, std::vector<std::string> &errors) {
  const uint8_t *p = bytes.data() + at;
  OffloadEntry entry;
  entry.image_kind = read_le<uint16_t>(p);
  entry.offload_kind = read_le<uint16_t>(p + 2);
  entry.flags = read_le<uint32_t>(p + 4);
  uint64_t strings = read_le<uint64_t>(p + 8), count = read_le<uint64_t>(p + 16), step = version == 1 ? 16 : 24;
  for (uint64_t i = 0; i < count && strings <= bytes.size() && bytes.contains(strings + i * step, step); ++i) {
    const uint8_t *s = bytes.data() + strings + i * step;
    std::string_view key = text_at(bytes, read_le<uint64_t>(s)), value = text_at(bytes, read_le<uint64_t>(s + 8));
    if (key == "triple") entry.triple = value;
    if (key == "arch") entry.arch = value;
  }
  auto image = bytes.slice(read_le<uint64_t>(p + 24), read_le<uint64_t>(p + 32));
  if (image)
    entry.image = *image;
  else
    errors.push_back(llvm::formatv("image {0} of the offload binary: {1}", index, llvm::toString(image.takeError())).str());
  return entry;
}

llvm::Expected<Bytes> inflate_body(const Bytes &bytes, uint64_t body, uint64_t inflated, uint64_t limit) {
  if (inflated < body || inflated > limit)
    return make_error(llvm::formatv("inflated size {0} is beyond the limit", inflated).str());
  Bytes payload = llvm::cantFail(bytes.slice(body, bytes.size() - body));
  // A payload cannot grow by more than about 2^15, so a size that lies is told before memory is taken for it.
  if ((inflated - body) / 32768 > payload.size() + 1)
    return make_error(llvm::formatv("inflated size {0} cannot be true", inflated).str());
  std::shared_ptr<uint8_t[]> memory(new uint8_t[inflated]);
  uint8_t *out = memory.get();
  std::memcpy(out, bytes.data(), body);
  using namespace std::string_view_literals;
  if (payload.text().starts_with("\x28\xb5\x2f\xfd"sv)) {
    size_t size = ZSTD_decompress(out + body, inflated - body, payload.data(), payload.size());
    if (ZSTD_isError(size) || size != inflated - body) return make_error("zstd payload of the offload binary is damaged");
  } else {
    uLongf size = inflated - body;
    if (uncompress(out + body, &size, payload.data(), payload.size()) != Z_OK || size != inflated - body)
      return make_error("zlib payload of the offload binary is damaged");
  }
  return Bytes({out, inflated}, memory);
}

} // namespace

llvm::Expected<uint64_t> offload_binary_extent(const Bytes &bytes) {
  using namespace std::string_view_literals;
  if (bytes.size() < kHeader || !bytes.text().starts_with("\x10\xff\x10\xad"sv))
    return make_error("offload binary cut off inside its header");
  uint32_t version = read_le<uint32_t>(bytes.data() + 4);
  uint64_t size = read_le<uint64_t>(bytes.data() + 8), entries = read_le<uint64_t>(bytes.data() + 16);
  if (version < 1 || version > 3) return make_error(llvm::formatv("unknown offload binary version {0}", version).str());
  if (size < kHeader || size > bytes.size())
    return make_error(llvm::formatv("offload binary claims {0} bytes, {1} are there", size, bytes.size()).str());
  if (entries < kHeader || (version < 3 && entries > size))
    return make_error(llvm::formatv("offload binary claims entries at {0:x}", entries).str());
  return size;
}

llvm::Expected<OffloadBinary> parse_offload_binary(const Bytes &bytes, uint64_t limit) {
  auto size = offload_binary_extent(bytes);
  if (!size) return size.takeError();
  Bytes whole = bytes.prefix(*size);
  OffloadBinary out;
  const uint8_t *p = whole.data();
  uint32_t version = read_le<uint32_t>(p + 4);
  uint64_t at = read_le<uint64_t>(p + 16), count = version == 1 ? 1 : read_le<uint64_t>(p + 24);
  if (version == 3 && whole.size() >= kHeaderV3)
    if (uint64_t inflated = read_le<uint64_t>(p + 32)) {
      if (at > whole.size()) return make_error("compressed offload binary without a body");
      auto body = inflate_body(whole, at, inflated, limit);
      if (!body) return body.takeError();
      whole = out.content = std::move(*body);
    }
  if (!whole.contains(at, kEntry)) return make_error("offload binary without room for its entries");
  uint64_t fit = (whole.size() - at) / kEntry;
  if (count > fit)
    out.errors.push_back(llvm::formatv("offload binary claims {0} entries, where at most {1} fit", count, fit).str());
  for (uint64_t i = 0; i < std::min(count, fit); ++i)
    out.entries.push_back(read_entry(whole, at + i * kEntry, version, i, out.errors));
  return out;
}

} // namespace isa_audit
