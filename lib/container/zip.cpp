// Zip, and so wheels (PKWARE APPNOTE.TXT 6.3.10).
//
//   [anything] (local header, name, extra, data)* central directory [zip64 end record and locator] end record [comment]
//
// The central directory rules; a local header says where the data starts and has to agree with it. minizip finds and reads
// the directory in the mapped bytes, also behind data in front of the archive (self-extracting files). Traps of minizip 1.1:
//   - it takes the end of the file for zeros unless the error function says otherwise;
//   - where `long` has 64 bits it never reads the zip64 extra field, so sizes and offsets from there are read here, and local
//     headers with them;
//   - it believes the 16-bit member count, which writers without zip64 let wrap (70,000 members count as 4,464): the walk
//     here goes from header to header while there is one, and holds the count against the result;
//   - it does not look whether the data lies inside the file, nor whether members overlap (a zip bomb that gives the same
//     deflate data to many members, each of a sound size);
//   - it takes an archive of nothing but an end record for no archive.

#include "zip.h"

#include <algorithm>
#include <memory>
#include <minizip/unzip.h>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace isa_audit {
namespace {

constexpr uint32_t kLocalMagic = 0x04034b50, kCentralMagic = 0x02014b50, kEndMagic = 0x06054b50, kSpannedMagic = 0x08074b50;
constexpr uint64_t kLocalHeader = 30, kCentralHeader = 46, kEndRecord = 22;
constexpr uint16_t kZip64Extra = 1;
constexpr unsigned kEncrypted = 1, kDescriptor = 1 << 3, kStrongEncryption = 1 << 6, kMaskedHeader = 1 << 13;

bool has_magic(const Bytes &bytes, uint64_t at, uint32_t magic) {
  return bytes.contains(at, 4) && read_le<uint32_t>(bytes.data() + at) == magic;
}

// What minizip reads from: the mapped bytes. Positions are kept inside the file, so that no sum of a hostile offset wraps.
struct Stream {
  const Bytes *file;
  uint64_t at = 0;
  uint64_t last_seek = 0; // where the last absolute seek went: minizip does not tell where the directory starts
};

Stream &stream_of(voidpf stream) { return *static_cast<Stream *>(stream); }

voidpf open_stream(voidpf opaque, const void *, int) { return opaque; }

uLong read_stream(voidpf, voidpf handle, void *out, uLong size) {
  Stream &stream = stream_of(handle);
  const uint64_t count = std::min<uint64_t>(size, stream.file->size() - stream.at);
  if (count > 0) std::memcpy(out, stream.file->data() + stream.at, count);
  stream.at += count;
  return count;
}

ZPOS64_T tell_stream(voidpf, voidpf handle) { return stream_of(handle).at; }

long seek_stream(voidpf, voidpf handle, ZPOS64_T offset, int origin) {
  Stream &stream = stream_of(handle);
  uint64_t base = 0;
  if (origin == ZLIB_FILEFUNC_SEEK_CUR) base = stream.at;
  if (origin == ZLIB_FILEFUNC_SEEK_END) base = stream.file->size();
  const uint64_t target = base + offset; // minizip seeks backwards with a wrapped offset
  if (origin == ZLIB_FILEFUNC_SEEK_SET) stream.last_seek = target;
  if (target > stream.file->size()) return -1;
  stream.at = target;
  return 0;
}

int close_stream(voidpf, voidpf) { return 0; }

// Asked only after a read that fell short: without an error minizip takes the end of the file for zeros.
int always_error(voidpf, voidpf) { return 1; }

struct CloseZip {
  void operator()(void *zip) const { unzClose(zip); }
};

// The values that the zip64 extra field has for those fields of a central header that are all ones, in the field's order.
// False if it is cut short.
bool read_zip64(std::span<const uint8_t> extra, uint64_t &size, uint64_t &packed, uint64_t &offset) {
  for (size_t at = 0; extra.size() - at >= 4;) {
    const auto id = read_le<uint16_t>(&extra[at]);
    const size_t length = read_le<uint16_t>(&extra[at + 2]);
    at += 4;
    if (length > extra.size() - at) return id != kZip64Extra;
    if (id == kZip64Extra) {
      std::span<const uint8_t> values = extra.subspan(at, length);
      for (uint64_t *field : {&size, &packed, &offset}) {
        if (*field != UINT32_MAX) continue;
        if (values.size() < 8) return false;
        *field = read_le<uint64_t>(values.data());
        values = values.subspan(8);
      }
      return true;
    }
    at += length;
  }
  return true;
}

struct Listed {
  std::string name;
  ZipData data;
};

class Lister {
public:
  Lister(const Bytes &file, uint32_t input, const std::string &prefix, const Feed &feed)
      : file_(file), input_(input), prefix_(prefix), feed_(feed), stream_{&file} {}

  void run() {
    zlib_filefunc64_def functions = {open_stream, read_stream,  nullptr,      tell_stream,
                                     seek_stream, close_stream, always_error, &stream_};
    zip_.reset(unzOpen2_64("", &functions));
    if (!zip_) {
      std::string message = why_not_opened();
      if (!message.empty()) tell(Level::error, "", std::move(message));
      return;
    }
    // minizip is content with the zip64 end record.
    if (!find_end_record()) tell(Level::warning, "", "zip end record missing: the file is truncated?");
    list_directory();
    drop_overlapping();
    for (Listed &listed : listed_)
      feed_.member(make_zip_member(std::move(listed.data), Origin{input_, prefix_ + listed.name, "", 0}));
  }

private:
  void tell(Level level, const std::string &name, std::string message) {
    std::string path = prefix_ + name;
    if (name.empty() && path.ends_with('!')) path.pop_back();
    feed_.problem({level, Origin{input_, std::move(path), "", 0}, std::move(message)});
  }

  // The last whole end record, which a comment of up to 64 KiB may follow.
  std::optional<uint64_t> find_end_record() const {
    if (file_.size() < kEndRecord) return std::nullopt;
    const uint64_t last = file_.size() - kEndRecord, first = last > UINT16_MAX ? last - UINT16_MAX : 0;
    for (uint64_t at = last + 1; at-- > first;)
      if (has_magic(file_, at, kEndMagic)) return at;
    return std::nullopt;
  }

  // Empty for an archive without members.
  std::string why_not_opened() const {
    const std::optional<uint64_t> end = find_end_record();
    if (!end) return "zip central directory missing: the file is truncated?";
    const uint8_t *record = file_.data() + *end;
    if (read_le<uint16_t>(record + 4) != 0 || read_le<uint16_t>(record + 6) != 0 ||
        read_le<uint16_t>(record + 8) != read_le<uint16_t>(record + 10))
      return "a part of a zip archive split over several disks, which cannot be read";
    const uint64_t size = read_le<uint32_t>(record + 12), offset = read_le<uint32_t>(record + 16);
    if (*end == 0 && size == 0 && offset == 0 && read_le<uint16_t>(record + 10) == 0) return {};
    return "zip central directory missing where the end record places it (" + std::to_string(size) + " bytes at offset " +
           std::to_string(offset) + "): the file is damaged";
  }

  void list_directory() {
    unz_global_info64 global = {};
    unzGetGlobalInfo64(zip_.get(), &global);
    unzGoToFirstFile(zip_.get());
    // Read off before any member: the position of the first header in the file, and in minizip's counting.
    directory_ = stream_.last_seek;
    base_ = directory_ - unzGetOffset64(zip_.get());
    uint64_t at = directory_;
    uint64_t count = 0;
    for (; has_magic(file_, at, kCentralMagic); ++count) {
      unz_file_info64 info;
      if (unzSetOffset64(zip_.get(), at - base_) != UNZ_OK ||
          unzGetCurrentFileInfo64(zip_.get(), &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK ||
          !file_.contains(at + kCentralHeader, info.size_filename + info.size_file_extra))
        break;
      add(info, at);
      at += kCentralHeader + info.size_filename + info.size_file_extra + info.size_file_comment;
    }
    if (has_magic(file_, at, kCentralMagic) || count < global.number_entry)
      tell(Level::error, "",
           "zip central directory damaged at offset " + std::to_string(at) + ": " + std::to_string(count) + " of " +
               std::to_string(global.number_entry) + " members listed");
    else if ((count & UINT16_MAX) != (global.number_entry & UINT16_MAX))
      tell(Level::warning, "",
           "the zip end record counts " + std::to_string(global.number_entry) + " members, the central directory has " +
               std::to_string(count));
  }

  // `at`: the central header, which with its name and extra field lies in the file.
  void add(const unz_file_info64 &info, uint64_t at) {
    const std::string_view raw_name = file_.text().substr(at + kCentralHeader, info.size_filename);
    if (raw_name.ends_with('/') || raw_name.ends_with('\\')) return; // a folder
    const unsigned host = (info.version >> 8) & 0xff;                // 0: DOS, 10: NTFS of the format, 11: what .NET writes
    std::string name = unique_name(shown_zip_name(raw_name, host == 0 || host == 10 || host == 11));
    if (name.find("%2E%2E") != std::string::npos && raw_name.find("..") != std::string_view::npos)
      tell(Level::warning, name, "the member's name leads out of the archive's folder with '..'");

    ZipData data{file_,
                 0,
                 info.compressed_size,
                 info.uncompressed_size,
                 static_cast<uint32_t>(info.crc),
                 static_cast<uint16_t>(info.compression_method)};
    std::string trouble = place(info, at, data);
    if (!trouble.empty()) return tell(Level::error, name, std::move(trouble));
    listed_.push_back({std::move(name), std::move(data)});
  }

  std::string unique_name(std::string name) {
    if (name.empty()) name = "(no name)";
    const unsigned copies = ++seen_[name];
    if (copies == 1) return name;
    const std::string suffix = '#' + std::to_string(copies);
    tell(Level::warning, name, "the archive has another member of this name: shown with " + suffix);
    name += suffix;
    while (!seen_.emplace(name, 1).second) name += '\'';
    return name;
  }

  // Completes `data` with what the zip64 field says and with where it starts, or says why it cannot be read.
  std::string place(const unz_file_info64 &info, uint64_t at, ZipData &data) {
    const uint8_t *header = file_.data() + at;
    uint64_t offset = read_le<uint32_t>(header + 42);
    const std::span<const uint8_t> extra(header + kCentralHeader + info.size_filename, info.size_file_extra);
    if (!read_zip64(extra, data.size, data.packed, offset)) return "damaged: its zip64 field is cut short";
    if (info.flag & (kEncrypted | kStrongEncryption | kMaskedHeader)) return "encrypted: cannot be read";
    if (data.method != kZipStored && data.method != kZipDeflate)
      return "compressed by " + zip_method_name(data.method) + ", which is not supported";
    if (info.disk_num_start != 0 && info.disk_num_start != UINT16_MAX)
      return "lies on disk " + std::to_string(info.disk_num_start) + " of a split archive, which cannot be read";
    std::string impossible = impossible_size(data.method, data.packed, data.size);
    if (!impossible.empty()) return "damaged: " + impossible;

    const uint64_t local = base_ + offset; // may wrap: what is not a header in the file is caught below
    if (offset > file_.size() || !has_magic(file_, local, kLocalMagic) ||
        !file_.contains(local, kLocalHeader + info.size_filename))
      return "damaged: its local header is missing at offset " + std::to_string(local);
    if (!agrees(file_.data() + local, header, info, data))
      return "damaged: its local header and the central directory disagree";
    data.at = local + kLocalHeader + info.size_filename + read_le<uint16_t>(file_.data() + local + 28);
    if (data.at > directory_ || data.packed > directory_ - data.at)
      return "damaged: its " + std::to_string(data.packed) + " bytes at offset " + std::to_string(data.at) +
             " reach into the central directory or beyond the file";
    return {};
  }

  // Whether a local header says what the central one says. Its checksum and sizes are zero when they follow the data, and
  // all ones when they are in its own zip64 field.
  static bool agrees(const uint8_t *local, const uint8_t *central, const unz_file_info64 &info, const ZipData &data) {
    const auto flags = read_le<uint16_t>(local + 6);
    if (flags & kEncrypted || read_le<uint16_t>(local + 8) != data.method ||
        read_le<uint16_t>(local + 26) != info.size_filename)
      return false;
    if (std::memcmp(local + kLocalHeader, central + kCentralHeader, info.size_filename) != 0) return false;
    if (flags & kDescriptor) return true;
    const auto packed = read_le<uint32_t>(local + 18), size = read_le<uint32_t>(local + 22);
    return read_le<uint32_t>(local + 14) == data.crc && (packed == UINT32_MAX || packed == data.packed) &&
           (size == UINT32_MAX || size == data.size);
  }

  // Members may share all of their data (a writer that stores equal files once) but not parts of it.
  void drop_overlapping() {
    std::vector<size_t> order(listed_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return std::tie(listed_[a].data.at, a) < std::tie(listed_[b].data.at, b); });
    std::vector<bool> dropped(listed_.size());
    const ZipData *last = nullptr;
    for (const size_t index : order) {
      const ZipData &data = listed_[index].data;
      if (data.packed == 0) continue;
      if (last && data.at < last->at + last->packed && (data.at != last->at || data.packed != last->packed)) {
        dropped[index] = true;
        tell(Level::error, listed_[index].name, "damaged: its data overlaps that of another member: not read");
      } else {
        last = &data;
      }
    }
    size_t kept = 0;
    for (size_t i = 0; i < listed_.size(); ++i)
      if (!dropped[i]) {
        if (kept != i) listed_[kept] = std::move(listed_[i]);
        ++kept;
      }
    listed_.erase(listed_.begin() + static_cast<ptrdiff_t>(kept), listed_.end());
  }

  const Bytes &file_;
  uint32_t input_;
  const std::string &prefix_;
  const Feed &feed_;
  Stream stream_;
  std::unique_ptr<void, CloseZip> zip_;
  uint64_t directory_ = 0; // offset of the central directory in the file
  uint64_t base_ = 0;      // what is added to an offset of the archive: the length of what is in front of it
  std::vector<Listed> listed_;
  std::unordered_map<std::string, unsigned> seen_;
};

} // namespace

bool match_zip(const Bytes &head, std::string_view) {
  if (has_magic(head, 0, kLocalMagic) || has_magic(head, 0, kEndMagic)) return true;
  // A split archive that fits one disk starts with the mark of split archives, or with the one that took its place.
  if ((has_magic(head, 0, kSpannedMagic) || head.text().starts_with("PK00")) && has_magic(head, 4, kLocalMagic)) return true;
  // An interpreter line in front (zipapp, pex, shiv).
  if (!head.text().starts_with("#!")) return false;
  const size_t line = head.text().find('\n');
  return line != std::string_view::npos && has_magic(head, line + 1, kLocalMagic);
}

void read_zip(const Bytes &file, uint32_t input, const std::string &prefix, const Feed &feed) {
  Lister(file, input, prefix, feed).run();
}

} // namespace isa_audit
