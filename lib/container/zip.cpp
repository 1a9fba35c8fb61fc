// Zip, and so wheels (PKWARE APPNOTE.TXT 6.3.10).
//
//   [anything] (local header, name, extra, data)* central directory [zip64 end record and locator] end record [comment]
//
// The central directory rules; a local header only says where the data starts, and is held against the directory by minizip.
// minizip reads the directory from the mapped bytes; it finds data in front of the archive (self-extracting files) by itself.
// Traps it leaves to us:
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
#include <unordered_map>
#include <utility>
#include <vector>

namespace isa_audit {
namespace {

constexpr uint32_t kLocalMagic = 0x04034b50, kCentralMagic = 0x02014b50, kEndMagic = 0x06054b50, kSpannedMagic = 0x08074b50;
constexpr uint64_t kCentralHeader = 46, kEndRecord = 22;
constexpr unsigned kEncrypted = 1, kStrongEncryption = 1 << 6, kMaskedHeader = 1 << 13;

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

int no_error(voidpf, voidpf) { return 0; }

struct CloseZip {
  void operator()(void *zip) const { unzClose(zip); }
};

struct Listed {
  std::string name;
  ZipData data;
};

class Lister {
public:
  Lister(const Bytes &file, uint32_t input, const std::string &prefix, const Feed &feed)
      : file_(file), input_(input), prefix_(prefix), feed_(feed), stream_{&file} {}

  void run() {
    zlib_filefunc64_def functions = {open_stream, read_stream, nullptr, tell_stream, seek_stream, no_error, no_error, &stream_};
    zip_.reset(unzOpen2_64("", &functions));
    if (!zip_) {
      std::string message = why_not_opened();
      if (!message.empty()) tell(Level::error, "", std::move(message));
      return;
    }
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

  // Empty for an archive without members.
  std::string why_not_opened() const {
    const uint64_t last = file_.size() < kEndRecord ? 0 : file_.size() - kEndRecord;
    const uint64_t first = last > UINT16_MAX ? last - UINT16_MAX : 0;
    for (uint64_t at = last + 1; at-- > first;) {
      if (!has_magic(file_, at, kEndMagic) || !file_.contains(at, kEndRecord)) continue;
      const uint8_t *record = file_.data() + at;
      if (read_le<uint16_t>(record + 4) != 0 || read_le<uint16_t>(record + 6) != 0 ||
          read_le<uint16_t>(record + 8) != read_le<uint16_t>(record + 10))
        return "a part of a zip archive split over several disks, which cannot be read";
      const uint64_t size = read_le<uint32_t>(record + 12), offset = read_le<uint32_t>(record + 16);
      if (at == 0 && size == 0 && offset == 0 && read_le<uint16_t>(record + 10) == 0) return {};
      return "zip central directory missing where the end record places it (" + std::to_string(size) + " bytes at offset " +
             std::to_string(offset) + "): the file is damaged";
    }
    return "zip central directory missing: the file is truncated?";
  }

  void list_directory() {
    unz_global_info64 global = {};
    unzGetGlobalInfo64(zip_.get(), &global);
    unzGoToFirstFile(zip_.get());
    // Read off before any member: the position of the first header in the file, and in minizip's counting.
    directory_ = stream_.last_seek;
    const uint64_t base = directory_ - unzGetOffset64(zip_.get());
    uint64_t at = directory_;
    uint64_t count = 0;
    std::string name(UINT16_MAX + 1, '\0');
    for (; has_magic(file_, at, kCentralMagic); ++count) {
      unz_file_info64 info;
      if (unzSetOffset64(zip_.get(), at - base) != UNZ_OK ||
          unzGetCurrentFileInfo64(zip_.get(), &info, name.data(), name.size(), nullptr, 0, nullptr, 0) != UNZ_OK)
        break;
      add(info, std::string_view(name).substr(0, info.size_filename));
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

  void add(const unz_file_info64 &info, std::string_view raw_name) {
    if (raw_name.ends_with('/') || raw_name.ends_with('\\')) return; // a folder
    const unsigned host = (info.version >> 8) & 0xff;                // 0: DOS, 10: NTFS of the format, 11: what .NET writes
    std::string name = shown_zip_name(raw_name, host == 0 || host == 10 || host == 11);
    if (name.empty()) name = "(no name)";
    const unsigned copies = ++seen_[name];
    if (copies > 1) {
      tell(Level::warning, name, "the archive has another member of this name: shown with #" + std::to_string(copies));
      name += '#';
      name += std::to_string(copies);
      while (!seen_.emplace(name, 1).second) name += "'";
    }
    if (name.find("%2E%2E") != std::string::npos && raw_name.find("..") != std::string_view::npos)
      tell(Level::warning, name, "the member's name leads out of the archive's folder with '..'");

    ZipData data{file_,
                 0,
                 info.compressed_size,
                 info.uncompressed_size,
                 static_cast<uint32_t>(info.crc),
                 static_cast<uint16_t>(info.compression_method)};
    std::string trouble = place(info, data);
    if (!trouble.empty()) return tell(Level::error, name, std::move(trouble));
    listed_.push_back({std::move(name), std::move(data)});
  }

  // Sets where the data of the current member starts, or says why it cannot be read.
  std::string place(const unz_file_info64 &info, ZipData &data) {
    if (info.flag & (kEncrypted | kStrongEncryption | kMaskedHeader)) return "encrypted: cannot be read";
    if (data.method != kZipStored && data.method != kZipDeflate)
      return "compressed by " + zip_method_name(data.method) + ", which is not supported";
    if (info.disk_num_start != 0 && info.disk_num_start != UINT16_MAX)
      return "lies on disk " + std::to_string(info.disk_num_start) + " of a split archive, which cannot be read";
    std::string impossible = impossible_size(data.method, data.packed, data.size);
    if (!impossible.empty()) return "damaged: " + impossible;
    int method = 0;
    if (unzOpenCurrentFile2(zip_.get(), &method, nullptr, 1) != UNZ_OK)
      return "damaged: its local header is missing or disagrees with the central directory";
    data.at = unzGetCurrentFileZStreamPos64(zip_.get());
    unzCloseCurrentFile(zip_.get());
    if (data.at > directory_ || data.packed > directory_ - data.at)
      return "damaged: its " + std::to_string(data.packed) + " bytes at offset " + std::to_string(data.at) +
             " reach into the central directory or beyond the file";
    return {};
  }

  // Members may share all of their data (a writer that stores equal files once) but not parts of it.
  void drop_overlapping() {
    std::vector<size_t> order(listed_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return listed_[a].data.at < listed_[b].data.at; });
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
