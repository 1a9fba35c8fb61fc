// The bytes of a zip member. A whole member is inflated by libdeflate, which wants the exact size and is twice as fast as
// zlib; the head of a large one by zlib, which can stop. Both keep their state for the life of a thread: a wheel has thousands
// of members, and setting up an inflater costs more than inflating a small head.

#include <algorithm>
#include <cstdio>
#include <libdeflate.h>
#include <memory>
#include <utility>
#include <zlib.h>

#include "buffer.h"
#include "isa-audit/base/problem.h"
#include "isa-audit/container/container.h"
#include "zip.h"

namespace isa_audit {
namespace {

// The most that deflate makes of one byte: four matches of 258 bytes, each coded in two bits.
constexpr uint64_t kDeflateRatio = 1032;

struct FreeDecompressor {
  void operator()(libdeflate_decompressor *decompressor) const { libdeflate_free_decompressor(decompressor); }
};

libdeflate_decompressor *thread_decompressor() {
  thread_local const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(libdeflate_alloc_decompressor());
  return decompressor.get();
}

// zlib's inflater for raw deflate data, reset before each use.
class HeadInflater {
public:
  HeadInflater() { ready_ = inflateInit2(&stream_, -MAX_WBITS) == Z_OK; }
  HeadInflater(const HeadInflater &) = delete;
  HeadInflater &operator=(const HeadInflater &) = delete;
  ~HeadInflater() {
    if (ready_) inflateEnd(&stream_);
  }

  // The number of bytes written, `wanted` unless the data is damaged or ends early.
  size_t inflate_head(std::span<const uint8_t> packed, uint8_t *out, size_t wanted) {
    if (!ready_ || inflateReset(&stream_) != Z_OK) return 0;
    stream_.next_in = const_cast<Bytef *>(packed.data());
    stream_.avail_in = static_cast<uInt>(std::min<size_t>(packed.size(), UINT32_MAX));
    stream_.next_out = out;
    stream_.avail_out = static_cast<uInt>(wanted);
    while (stream_.avail_out > 0)
      if (inflate(&stream_, Z_SYNC_FLUSH) != Z_OK) break;
    return wanted - stream_.avail_out;
  }

private:
  z_stream stream_ = {};
  bool ready_ = false;
};

llvm::Error check_crc(const ZipData &data, std::span<const uint8_t> content) {
  const uint32_t found = libdeflate_crc32(0, content.data(), content.size());
  if (found == data.crc) return llvm::Error::success();
  char text[80];
  std::snprintf(text, sizeof text, "damaged: its CRC-32 is %08x, the directory says %08x", found, data.crc);
  return make_error(text);
}

llvm::Error inflate_whole(const ZipData &data, uint8_t *out) {
  libdeflate_decompressor *decompressor = thread_decompressor();
  if (!decompressor) return make_error("no memory for an inflater");
  const uint8_t *packed = data.file.data() + data.at;
  switch (libdeflate_deflate_decompress(decompressor, packed, data.packed, out, data.size, nullptr)) {
  case LIBDEFLATE_SUCCESS: return llvm::Error::success();
  case LIBDEFLATE_SHORT_OUTPUT:
    return make_error("damaged: it inflates to less than the " + std::to_string(data.size) + " bytes the directory says");
  case LIBDEFLATE_INSUFFICIENT_SPACE:
    return make_error("damaged: it inflates to more than the " + std::to_string(data.size) + " bytes the directory says");
  default: return make_error("damaged: its deflate data is not sound");
  }
}

llvm::Expected<Bytes> open_deflated(const ZipData &data, bool spill) {
  if (data.size == 0) {
    uint8_t none = 0;
    // Some writers call an empty file deflated and store no data at all.
    if (data.packed > 0)
      if (llvm::Error error = inflate_whole(data, &none)) return error;
    if (llvm::Error error = check_crc(data, {})) return error;
    return Bytes();
  }
  auto buffer = spill ? allocate_spilled(data.size) : allocate_buffer(data.size);
  if (!buffer) return buffer.takeError();
  if (llvm::Error error = inflate_whole(data, buffer->data)) return error;
  const std::span<const uint8_t> content(buffer->data, data.size);
  if (llvm::Error error = check_crc(data, content)) return error;
  return Bytes(content, std::move(buffer->owner));
}

llvm::Expected<Bytes> open_stored(const ZipData &data) {
  auto content = data.file.slice(data.at, data.packed);
  if (!content) return content.takeError();
  if (llvm::Error error = check_crc(data, content->view())) return error;
  return content;
}

llvm::Expected<Bytes> head_of_deflated(const ZipData &data, uint64_t limit) {
  const size_t wanted = std::min(limit, data.size);
  if (wanted == 0) return Bytes();
  auto buffer = std::make_shared_for_overwrite<uint8_t[]>(wanted);
  if (wanted == data.size) {
    if (llvm::Error error = inflate_whole(data, buffer.get())) return error;
  } else {
    thread_local HeadInflater inflater;
    if (inflater.inflate_head(data.file.view().subspan(data.at, data.packed), buffer.get(), wanted) != wanted)
      return make_error("damaged: its deflate data is not sound or ends early");
  }
  return Bytes({buffer.get(), wanted}, buffer);
}

} // namespace

std::string impossible_size(uint16_t method, uint64_t packed, uint64_t size) {
  if (method == kZipStored ? size == packed : size / kDeflateRatio <= packed) return {};
  return "the directory gives it " + std::to_string(size) + " bytes, which cannot come from " + std::to_string(packed) +
         (method == kZipStored ? " stored bytes" : " deflated bytes");
}

std::string zip_method_name(uint16_t method) {
  switch (method) { // APPNOTE.TXT 4.4.5
  case 0: return "stored";
  case 1: return "shrink";
  case 2:
  case 3:
  case 4:
  case 5: return "reduce";
  case 6: return "implode";
  case 8: return "deflate";
  case 9: return "deflate64";
  case 10: return "PKWARE implode";
  case 12: return "bzip2";
  case 14: return "lzma";
  case 16: return "IBM z/OS CMPSC";
  case 18: return "IBM TERSE";
  case 19: return "IBM LZ77";
  case 20:
  case 93: return "zstd";
  case 94: return "mp3";
  case 95: return "xz";
  case 96: return "jpeg";
  case 97: return "wavpack";
  case 98: return "ppmd";
  case 99: return "AES encryption";
  default: return "method " + std::to_string(method);
  }
}

Member make_zip_member(ZipData data, Origin origin) {
  Member member;
  member.origin = std::move(origin);
  member.size = data.size;
  const bool stored = data.method == kZipStored;
  const bool spill = !stored && data.size > memory_spill_threshold();
  member.anonymous = stored || spill ? 0 : data.size;
  member.encoding = stored ? "stored" : "deflate";
  auto shared = std::make_shared<const ZipData>(std::move(data));
  member.raw = [shared] { return shared->file.slice(shared->at, shared->packed); };
  if (stored) {
    member.head = [shared](uint64_t limit) { return shared->file.slice(shared->at, std::min(limit, shared->packed)); };
    member.open = [shared] { return open_stored(*shared); };
  } else {
    member.head = [shared](uint64_t limit) { return head_of_deflated(*shared, limit); };
    member.open = [shared, spill] { return open_deflated(*shared, spill); };
  }
  return member;
}

} // namespace isa_audit
