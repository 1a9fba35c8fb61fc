// The format (ROCm/aotriton python/aks2.py, v3src/packed_kernel_common.cc): a header of 16 bytes, "AKS2", u32 size of
// everything decompressed, u32 number of kernels, u32 size of the directory; then one xz stream. Decompressed, the directory
// comes first: for each kernel u32 shared memory, u32 threads of a block, u32 offset, u32 size, u32 length of the name with its
// NUL, the name. The kernels, naked AMDGPU ELF images, follow, and their offsets count from the end of the directory. A size of
// 0 is a kernel that the compiler could not make, which is legal. The header's sizes are held against what comes out before any
// memory is taken for it.
#include "aks2.h"

#include <lzma.h>

#include <algorithm>
#include <memory>

#include "code_object_reader.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

constexpr uint64_t kHeader = 16, kEntry = 20;
constexpr uint64_t kMaxName = 4096;
// xz makes at most about 1 byte of 7000.
constexpr uint64_t kMaxRatio = 1u << 14;
// What the decoder may take for its window; the strongest preset has 64 MiB.
constexpr uint64_t kDecoderMemory = uint64_t{128} << 20;

struct Stream {
  lzma_stream state = LZMA_STREAM_INIT;
  ~Stream() { lzma_end(&state); }
};

struct Inflated {
  Bytes bytes;
  std::string error; // the bytes before it are sound
};

Inflated inflate_xz(const Bytes &payload, uint64_t size) {
  std::shared_ptr<uint8_t[]> memory(new uint8_t[std::max<uint64_t>(size, 1)]);
  Stream stream;
  if (lzma_stream_decoder(&stream.state, kDecoderMemory, 0) != LZMA_OK) return {{}, "the xz decoder could not be set up"};
  stream.state.next_in = payload.data();
  stream.state.avail_in = payload.size();
  stream.state.next_out = memory.get();
  stream.state.avail_out = size;
  lzma_ret status = LZMA_OK;
  while (status == LZMA_OK) status = lzma_code(&stream.state, LZMA_FINISH);
  uint64_t got = stream.state.total_out;
  Inflated out;
  out.bytes = Bytes({memory.get(), got}, memory);
  if (status == LZMA_STREAM_END && got == size) return out;
  if (status == LZMA_MEMLIMIT_ERROR)
    out.error = "the xz stream asks for too much memory";
  else if (status == LZMA_STREAM_END)
    out.error = llvm::formatv("header claims {0} uncompressed bytes, {1} came out", size, got).str();
  else if (status == LZMA_BUF_ERROR && got == size)
    out.error = llvm::formatv("more than the {0} uncompressed bytes that the header claims come out", size).str();
  else
    out.error = llvm::formatv("the xz stream is damaged or cut off after {0} of {1} uncompressed bytes", got, size).str();
  return out;
}

class Reader {
public:
  Reader(const Bytes &content, uint64_t directory, const Origin &origin, std::vector<DevicePiece> &pieces, Problems &problems)
      : content_(content), directory_(directory), origin_(origin), pieces_(pieces), problems_(problems) {}

  void read(uint32_t count) {
    uint64_t end = std::min(directory_, content_.size()), at = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (end - at < kEntry) return tell(i, "the directory ends before this entry");
      const uint8_t *p = content_.data() + at;
      uint64_t offset = read_le<uint32_t>(p + 8), size = read_le<uint32_t>(p + 12), length = read_le<uint32_t>(p + 16);
      if (length > kMaxName || length > end - at - kEntry)
        return tell(i, llvm::formatv("a name of {0} bytes; it and what follows cannot be read", length).str());
      at += kEntry + length;
      if (size) take(i, offset, size);
    }
    if (at != directory_)
      tell(count, llvm::formatv("the directory claims {0} bytes, its entries take {1}", directory_, at).str());
  }

private:
  void take(uint32_t index, uint64_t offset, uint64_t size) {
    uint64_t at = directory_ + offset; // both below 2^32
    if (!content_.contains(at, size))
      return tell(index,
                  llvm::formatv("{0} bytes at {1:x} lie outside of the {2} bytes there are", size, at, content_.size()).str());
    Bytes image = llvm::cantFail(content_.slice(at, size));
    if (!is_amdgpu_elf(image.text())) return tell(index, "no AMDGPU code object");
    DevicePiece &piece = pieces_.emplace_back();
    piece.magic = Magic::elf;
    piece.place = place(index);
    piece.pos = at;
    piece.bytes = std::move(image);
    piece.carrier = Carrier::aks2;
  }

  static std::string place(uint32_t index) { return llvm::formatv("kernel {0}", index).str(); }

  void tell(uint32_t index, std::string message) {
    Origin where = origin_;
    where.place = place(index);
    where.pos = index;
    problems_.push_back({Level::error, std::move(where), std::move(message)});
  }

  const Bytes &content_;
  const uint64_t directory_;
  const Origin &origin_;
  std::vector<DevicePiece> &pieces_;
  Problems &problems_;
};

} // namespace

void read_aks2(const Bytes &file, const Origin &origin, uint64_t limit, std::vector<DevicePiece> &pieces, Problems &problems) {
  auto tell = [&](std::string message) { problems.push_back({Level::error, origin, std::move(message)}); };
  if (file.size() < kHeader) return tell(llvm::formatv("AKS2 file cut off inside its header ({0} bytes)", file.size()).str());
  uint64_t size = read_le<uint32_t>(file.data() + 4), directory = read_le<uint32_t>(file.data() + 12);
  uint32_t count = read_le<uint32_t>(file.data() + 8);
  Bytes payload = llvm::cantFail(file.slice(kHeader, file.size() - kHeader));
  if (size > limit) return tell(llvm::formatv("uncompressed size {0} is beyond the limit of {1} bytes", size, limit).str());
  if (size / kMaxRatio > payload.size()) return tell(llvm::formatv("uncompressed size {0} cannot be true", size).str());
  if (directory > size) return tell(llvm::formatv("a directory of {0} bytes in {1}", directory, size).str());
  Inflated content = inflate_xz(payload, size);
  if (!content.error.empty()) tell(content.error);
  if (content.error.empty() || content.bytes.size() >= directory)
    Reader(content.bytes, directory, origin, pieces, problems).read(count);
}

} // namespace isa_audit
