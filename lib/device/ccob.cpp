// Compressed bundles, "CCOB" (llvm/lib/Object/OffloadBundle.cpp). Version 1: u16 version, u16 method, u32 uncompressed size,
// u64 hash, 20 bytes in all and no size of its own: the payload ends where its zstd or zlib stream does. Version 2 puts a u32
// total size (header included, padding behind not) before it, version 3 makes both sizes u64. Traps: the bytes "CCOB" occur
// inside compressed payloads, so the next bundle is never searched for inside one whose size is known; frames are written as a
// single segment, so the window is as large as the bundle, and a streaming decoder's default limit of 128 MiB is too small;
// sizes may lie, so memory is reserved but only what comes out is ever touched.
#include "bundle.h"

#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "isa-audit/base/problem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MD5.h"

namespace isa_audit {

namespace {

constexpr uint16_t kZlib = 0, kZstd = 1;
// Deflate cannot shrink further than this.
constexpr uint64_t kZlibMaxRatio = 1032;

using DecompressionContext = std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx *)>;

ZSTD_DCtx *context() {
  thread_local DecompressionContext context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  return context.get();
}

struct Output {
  uint64_t size = 0, consumed = 0;
};

llvm::Expected<Output> inflate_zstd(const Bytes &payload, uint64_t capacity, uint8_t *out) {
  size_t frame = ZSTD_findFrameCompressedSize(payload.data(), payload.size());
  if (ZSTD_isError(frame)) return make_error("zstd payload is damaged or cut off");
  size_t size = ZSTD_decompressDCtx(context(), out, capacity, payload.data(), frame);
  if (ZSTD_isError(size)) return make_error(llvm::formatv("zstd payload is damaged: {0}", ZSTD_getErrorName(size)).str());
  return Output{size, frame};
}

llvm::Expected<Output> inflate_zlib(const Bytes &payload, uint64_t capacity, uint8_t *out) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return make_error("zlib could not be set up");
  constexpr uint64_t kStep = 1u << 30; // zlib counts in 32 bits
  Output result;
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_in = const_cast<Bytef *>(payload.data() + result.consumed);
    stream.avail_in = static_cast<uInt>(std::min(payload.size() - result.consumed, kStep));
    stream.next_out = out + result.size;
    stream.avail_out = static_cast<uInt>(std::min(capacity - result.size, kStep));
    uInt in = stream.avail_in, room = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    result.consumed += in - stream.avail_in;
    result.size += room - stream.avail_out;
    if (status == Z_OK && in == stream.avail_in && room == stream.avail_out) status = Z_BUF_ERROR;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) return make_error("zlib payload is damaged, cut off or larger than its header says");
  return result;
}

} // namespace

ScratchBuffer::~ScratchBuffer() {
  if (data_) munmap(data_, capacity_);
}

uint8_t *ScratchBuffer::reserve(uint64_t size) {
  if (size <= capacity_) return data_;
  if (data_) munmap(data_, capacity_);
  data_ = nullptr;
  capacity_ = 0;
  uint64_t wanted = align_up(size, uint64_t{2} << 20);
  void *memory = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, wanted, MADV_HUGEPAGE);
  data_ = static_cast<uint8_t *>(memory);
  capacity_ = wanted;
  return data_;
}

llvm::Expected<CcobHeader> parse_ccob_header(const Bytes &bytes) {
  if (!bytes.text().starts_with(kCcobMagic)) return make_error("no CCOB magic");
  const uint8_t *p = bytes.data();
  if (bytes.size() < 8)
    return make_error(llvm::formatv("compressed bundle cut off inside its header ({0} bytes)", bytes.size()).str());
  CcobHeader h;
  h.version = read_le<uint16_t>(p + 4);
  h.method = read_le<uint16_t>(p + 6);
  if (h.version < 1 || h.version > 3) return make_error(llvm::formatv("unknown CCOB version {0}", h.version).str());
  constexpr uint64_t kSizes[] = {0, 20, 24, 32};
  h.header_size = kSizes[h.version];
  if (bytes.size() < h.header_size)
    return make_error(
        llvm::formatv("compressed bundle cut off inside its header ({0} of {1} bytes)", bytes.size(), h.header_size).str());
  if (h.version == 1) {
    h.uncompressed_size = read_le<uint32_t>(p + 8);
    h.hash = read_le<uint64_t>(p + 12);
  } else if (h.version == 2) {
    h.total_size = read_le<uint32_t>(p + 8);
    h.uncompressed_size = read_le<uint32_t>(p + 12);
    h.hash = read_le<uint64_t>(p + 16);
  } else {
    h.total_size = read_le<uint64_t>(p + 8);
    h.uncompressed_size = read_le<uint64_t>(p + 16);
    h.hash = read_le<uint64_t>(p + 24);
  }
  return h;
}

bool plausible_ccob(const Bytes &bytes) {
  auto header = parse_ccob_header(bytes);
  if (!header) {
    llvm::consumeError(header.takeError());
    return false;
  }
  if (header->version > 1 && header->total_size <= header->header_size) return false;
  std::string_view payload = bytes.text().substr(header->header_size, 4);
  using namespace std::string_view_literals;
  if (header->method == kZstd) return payload == "\x28\xb5\x2f\xfd"sv;
  // A zlib stream starts with 0x78 and a second byte that makes the pair a multiple of 31.
  return header->method == kZlib && payload.size() == 4 && payload[0] == 0x78 && (0x7800 + uint8_t(payload[1])) % 31 == 0;
}

llvm::Expected<uint64_t> ccob_extent(const Bytes &bytes, const CcobHeader &header) {
  if (header.version > 1) {
    if (header.total_size < header.header_size)
      return make_error(
          llvm::formatv("compressed bundle claims {0} bytes in all, less than its header", header.total_size).str());
    return header.total_size;
  }
  Bytes payload = llvm::cantFail(bytes.slice(header.header_size, bytes.size() - header.header_size));
  if (header.method == kZstd) {
    size_t frame = ZSTD_findFrameCompressedSize(payload.data(), payload.size());
    if (ZSTD_isError(frame)) return make_error("zstd payload is damaged or cut off");
    return header.header_size + frame;
  }
  if (header.method != kZlib) return make_error(llvm::formatv("unknown compression method {0}", header.method).str());
  ScratchBuffer scratch;
  uint64_t capacity = std::min<uint64_t>(header.uncompressed_size, payload.size() * kZlibMaxRatio);
  uint8_t *memory = scratch.reserve(std::max<uint64_t>(capacity, 1));
  if (!memory) return make_error(llvm::formatv("no memory for {0} bytes", capacity).str());
  auto output = inflate_zlib(payload, capacity, memory);
  if (!output) return output.takeError();
  return header.header_size + output->consumed;
}

llvm::Expected<Decompressed> decompress_ccob(const Bytes &bytes, const CcobHeader &header, uint64_t limit, bool verify,
                                             ScratchBuffer &scratch) {
  if (header.method != kZlib && header.method != kZstd)
    return make_error(llvm::formatv("unknown compression method {0}", header.method).str());
  Decompressed out;
  uint64_t end = header.version > 1 ? std::min(bytes.size(), header.total_size) : bytes.size();
  if (end < header.header_size) return make_error("compressed bundle without a payload");
  Bytes payload = llvm::cantFail(bytes.slice(header.header_size, end - header.header_size));
  uint64_t capacity = header.uncompressed_size;
  if (header.method == kZstd) {
    unsigned long long content = ZSTD_getFrameContentSize(payload.data(), payload.size());
    if (content == ZSTD_CONTENTSIZE_ERROR) return make_error("zstd payload is damaged: no frame header");
    if (content != ZSTD_CONTENTSIZE_UNKNOWN && content != header.uncompressed_size) {
      out.warnings.push_back(
          llvm::formatv("header claims {0} uncompressed bytes, the zstd frame {1}", header.uncompressed_size, content).str());
      capacity = content;
    }
  }
  if (capacity > limit)
    return make_error(llvm::formatv("uncompressed size {0} is beyond the limit of {1} bytes", capacity, limit).str());
  uint8_t *memory = scratch.reserve(std::max<uint64_t>(capacity, 1));
  if (!memory) return make_error(llvm::formatv("no memory for {0} bytes", capacity).str());
  auto output = header.method == kZstd ? inflate_zstd(payload, capacity, memory) : inflate_zlib(payload, capacity, memory);
  if (!output) return output.takeError();
  if (output->size != header.uncompressed_size && out.warnings.empty())
    out.warnings.push_back(
        llvm::formatv("header claims {0} uncompressed bytes, {1} came out", header.uncompressed_size, output->size).str());
  out.compressed_size = output->consumed;
  out.bundle = Bytes::borrowed({memory, output->size});
  if (verify) {
    llvm::MD5 md5;
    md5.update(llvm::ArrayRef<uint8_t>(memory, output->size));
    llvm::MD5::MD5Result digest;
    md5.final(digest);
    if (digest.low() != header.hash)
      out.warnings.push_back(llvm::formatv("MD5 mismatch: header {0:x16}, content {1:x16}", header.hash, digest.low()).str());
  }
  return out;
}

} // namespace isa_audit
