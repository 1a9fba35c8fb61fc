// An archive (ROCm/rocm-kpack): "KPAK", u32 version 1, u64 offset of the table of contents; padding to 64; the code; a
// MessagePack map up to the end of the file. The map has `compression_scheme`, "none" with `blobs` [{offset, size}] or
// "zstd-per-kernel" with `zstd_offset` and `zstd_size`, and `toc`: binary key → target → {type, ordinal, original_size,
// metadata}. zstd-per-kernel: u32 count, then for each u32 size of a frame and the frame; the ordinal is the index, in both
// schemes. The order of the map's keys is not fixed. A library points to its archives by a MessagePack map {kernel_name,
// kpack_search_paths} in .rocm_kpack_ref, of which the loader reads at most 64 KiB.
#include "kpack.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "bundle.h"
#include "check_code.h"
#include "code_object_reader.h"
#include "pack_reader.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMagic = "KPAK";
constexpr uint64_t kHeader = 16;
constexpr uint64_t kMaxReference = 64 << 10;
// Far above the largest archive; bounds what a crafted table of single bytes can make us keep.
constexpr size_t kMaxObjects = size_t{1} << 22;

struct Range {
  uint64_t offset = 0, size = 0;
};

struct TocObject {
  std::string_view target;
  uint64_t ordinal = UINT64_MAX, original_size = 0;
};

struct TocBinary {
  std::string_view key;
  std::vector<TocObject> objects;
};

struct Toc {
  std::string_view scheme = "none";
  std::vector<Range> blobs;
  Range zstd;
  std::vector<TocBinary> binaries;
};

class TocReader {
public:
  explicit TocReader(std::string_view blob) : reader_(blob) {}

  // False where the table is damaged; what was read before is sound.
  bool read(Toc &toc) {
    size_t pairs = 0;
    if (!reader_.map(pairs)) return false;
    for (size_t i = 0; i < pairs; ++i) {
      std::string_view key;
      if (!reader_.text(key)) return false;
      bool sound = key == "compression_scheme" ? reader_.text(toc.scheme)
                   : key == "blobs"            ? blobs(toc.blobs)
                   : key == "zstd_offset"      ? reader_.number(toc.zstd.offset)
                   : key == "zstd_size"        ? reader_.number(toc.zstd.size)
                   : key == "toc"              ? binaries(toc.binaries)
                                               : pass();
      if (!sound) return false;
    }
    return true;
  }

private:
  bool pass() {
    PackReader::Token token;
    return reader_.next(token) && reader_.skip(token);
  }

  bool blobs(std::vector<Range> &out) {
    size_t count = 0, pairs = 0;
    if (!reader_.array(count)) return false;
    for (size_t i = 0; i < count; ++i) {
      Range range;
      if (out.size() == kMaxObjects || !reader_.map(pairs)) return false;
      for (size_t k = 0; k < pairs; ++k) {
        std::string_view key;
        if (!reader_.text(key)) return false;
        if (!(key == "offset" ? reader_.number(range.offset) : key == "size" ? reader_.number(range.size) : pass()))
          return false;
      }
      out.push_back(range);
    }
    return true;
  }

  bool binaries(std::vector<TocBinary> &out) {
    size_t count = 0;
    if (!reader_.map(count)) return false;
    for (size_t i = 0; i < count; ++i) {
      TocBinary binary;
      size_t targets = 0;
      if (++kept_ > kMaxObjects || !reader_.text(binary.key) || !reader_.map(targets)) return false;
      bool sound = true;
      for (size_t t = 0; sound && t < targets; ++t) sound = object(binary.objects);
      out.push_back(std::move(binary));
      if (!sound) return false;
    }
    return true;
  }

  bool object(std::vector<TocObject> &out) {
    TocObject object;
    size_t pairs = 0;
    if (++kept_ > kMaxObjects || !reader_.text(object.target) || !reader_.map(pairs)) return false;
    for (size_t k = 0; k < pairs; ++k) {
      std::string_view key;
      if (!reader_.text(key)) return false;
      bool sound = key == "ordinal"         ? reader_.number(object.ordinal)
                   : key == "original_size" ? reader_.number(object.original_size)
                                            : pass();
      if (!sound) return false;
    }
    out.push_back(object);
    return true;
  }

  PackReader reader_;
  size_t kept_ = 0;
};

class ArchiveReader {
public:
  ArchiveReader(const Bytes &file, const Origin &origin, const DeviceLimits &limits, DeviceCode &code, Problems &problems)
      : file_(file), origin_(origin), limits_(limits), code_(code), problems_(problems) {}

  void read() {
    if (file_.size() < kHeader)
      return tell(Level::error, "", llvm::formatv("kpack archive cut off inside its header ({0} bytes)", file_.size()).str());
    uint32_t version = read_le<uint32_t>(file_.data() + 4);
    if (version != 1) return tell(Level::error, "", llvm::formatv("unknown kpack version {0}", version).str());
    uint64_t at = read_le<uint64_t>(file_.data() + 8);
    if (at < kHeader || at >= file_.size())
      return tell(Level::error, "",
                  llvm::formatv("table of contents at {0:x} lies outside of the {1} bytes there are", at, file_.size()).str());
    std::string_view table = file_.text().substr(at);
    if (!TocReader(table).read(toc_)) tell(Level::error, "", "the table of contents is damaged; read as far as it could be");
    find_blobs();
    for (size_t i = 0; i < toc_.binaries.size(); ++i) take(toc_.binaries[i], i);
  }

private:
  // Where the code of each ordinal lies, into `toc_.blobs` for both schemes.
  void find_blobs() {
    if (toc_.scheme == "none") return;
    if (toc_.scheme != "zstd-per-kernel")
      return tell(Level::error, "", llvm::formatv("unknown compression scheme '{0}'", toc_.scheme).str());
    zstd_ = true;
    toc_.blobs.clear();
    auto [at, size] = toc_.zstd;
    if (!file_.contains(at, size) || size < 4)
      return tell(Level::error, "",
                  llvm::formatv("compressed code of {0} bytes at {1:x} lies outside of the file", size, at).str());
    uint64_t end = at + size;
    uint32_t count = read_le<uint32_t>(file_.data() + at);
    at += 4;
    for (uint32_t i = 0; i < count; ++i) {
      if (end - at < 4) break;
      uint64_t frame = read_le<uint32_t>(file_.data() + at);
      at += 4;
      if (frame > end - at) break;
      toc_.blobs.push_back({at, frame});
      at += frame;
    }
    if (toc_.blobs.size() < count)
      tell(Level::error, "",
           llvm::formatv("claims {0} compressed code objects, {1} are there", count, toc_.blobs.size()).str());
  }

  void take(const TocBinary &binary, size_t number) {
    DeviceImage image;
    image.place = binary.key;
    image.pos = number;
    image.carrier = Carrier::kpack;
    KernelNames names;
    for (const TocObject &object : binary.objects)
      if (auto made = read_object(binary, object, names)) image.code_objects.push_back(std::move(*made));
    image.kernel_names = names.take();
    if (!image.code_objects.empty()) code_.images.push_back(std::move(image));
  }

  std::optional<CodeObject> read_object(const TocBinary &binary, const TocObject &entry, KernelNames &names) {
    std::string place = llvm::formatv("{0} {1}", binary.key, entry.target).str();
    if (entry.ordinal >= toc_.blobs.size() ||
        !file_.contains(toc_.blobs[entry.ordinal].offset, toc_.blobs[entry.ordinal].size)) {
      tell(Level::error, place, "its code is not in the archive");
      return std::nullopt;
    }
    Range range = toc_.blobs[entry.ordinal];
    CodeObject object;
    object.carrier = Carrier::kpack;
    object.claimed = "hip-amdgcn-amd-amdhsa--" + std::string(entry.target);
    object.offset = range.offset;
    object.size = zstd_ ? entry.original_size : range.size;
    object.kernels_known = false;
    if (auto target = parse_target_id(entry.target)) {
      object.target = *target;
    } else {
      llvm::consumeError(target.takeError());
      object.target.processor = entry.target;
    }
    Bytes bytes = llvm::cantFail(file_.slice(range.offset, range.size));
    if (zstd_ && !limits_.verify_all && !limits_.kernel_details && !limits_.sink) return object;
    if (zstd_ && !inflate(bytes, place)) return object;
    look_inside(bytes, object, names, place);
    return object;
  }

  bool inflate(Bytes &bytes, const std::string &place) {
    unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > limits_.max_bundle) {
      tell(Level::error, place, "its zstd frame is damaged, or beyond the limit");
      return false;
    }
    uint8_t *memory = scratch_.reserve(std::max<uint64_t>(size, 1));
    size_t got = memory ? ZSTD_decompress(memory, size, bytes.data(), bytes.size()) : 0;
    if (!memory || ZSTD_isError(got)) {
      tell(Level::error, place, "its zstd frame is damaged");
      return false;
    }
    bytes = Bytes::borrowed({memory, got});
    return true;
  }

  void look_inside(const Bytes &bytes, CodeObject &object, KernelNames &names, const std::string &place) {
    if (!is_amdgpu_elf(bytes.text())) return tell(Level::error, place, "holds no AMDGPU code object");
    auto elf = Elf::read(bytes);
    if (!elf) return tell(Level::error, place, llvm::toString(elf.takeError()));
    TargetId said = object.target;
    object.target = {};
    object.kernels_known = true;
    std::vector<std::string> messages;
    if (!read_amdgpu_elf(*elf, object, names, messages, limits_.kernel_details)) object.target = said;
    compare_claim(object);
    if (limits_.decode) check_code(*elf, object);
    if (!limits_.sink) return;
    Origin where = origin_;
    where.place = place;
    where.pos = object.offset;
    limits_.sink(object, where, bytes, names.names_of(object));
    for (std::string &message : messages) tell(Level::warning, place, std::move(message));
  }

  void tell(Level level, std::string place, std::string message) {
    Origin where = origin_;
    where.place = std::move(place);
    problems_.push_back({level, std::move(where), std::move(message)});
  }

  const Bytes &file_;
  const Origin &origin_;
  const DeviceLimits &limits_;
  DeviceCode &code_;
  Problems &problems_;
  Toc toc_;
  bool zstd_ = false;
  ScratchBuffer scratch_;
};

bool read_reference(std::string_view blob, ExternalCode &out) {
  PackReader reader(blob);
  size_t pairs = 0;
  if (!reader.map(pairs)) return false;
  for (size_t i = 0; i < pairs; ++i) {
    std::string_view key, text;
    if (!reader.text(key)) return false;
    if (key == "kernel_name") {
      if (!reader.text(text)) return false;
      out.kernel_name = text;
    } else if (key == "kpack_search_paths") {
      size_t count = 0;
      if (!reader.array(count)) return false;
      for (size_t k = 0; k < count; ++k) {
        if (!reader.text(text)) return false;
        out.search_paths.emplace_back(text);
      }
    } else {
      PackReader::Token token;
      if (!reader.next(token) || !reader.skip(token)) return false;
    }
  }
  return !out.kernel_name.empty() && !out.search_paths.empty();
}

} // namespace

bool is_kpack(const Bytes &head) {
  return head.text().starts_with(kMagic) && (head.size() < 8 || read_le<uint32_t>(head.data() + 4) < 256);
}

void read_kpack(const Bytes &file, const Origin &origin, const DeviceLimits &limits, DeviceCode &code, Problems &problems) {
  ArchiveReader(file, origin, limits, code, problems).read();
}

void read_kpack_reference(const Elf &elf, const Origin &origin, DeviceCode &code, Problems &problems) {
  const ElfSection *section = elf.find_section(".rocm_kpack_ref");
  Origin where = origin;
  where.place = ".rocm_kpack_ref";
  if (!section) {
    if (code.external)
      problems.push_back({Level::error, where, "missing, although the wrappers say that the device code is in kpack archives"});
    return;
  }
  if (!code.external) code.external.emplace();
  std::ranges::sort(code.external->indices);
  auto [first, last] = std::ranges::unique(code.external->indices);
  code.external->indices.erase(first, last);
  where.pos = section->offset;
  if (!read_reference(section->bytes.prefix(kMaxReference).text(), *code.external))
    problems.push_back({Level::error, where, "does not name the kpack archives of the device code: damaged"});
}

} // namespace isa_audit
