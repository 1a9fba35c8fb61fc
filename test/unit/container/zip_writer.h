// Writes zip archives for tests, sound ones and such as no sound writer makes.
#pragma once

#include <cstdint>
#include <libdeflate.h>
#include <optional>
#include <string>
#include <vector>

namespace isa_audit {

struct ZipSpec {
  std::string name;
  std::string content;
  bool deflate = false;
  bool zip64 = false;      // sizes and offset in the zip64 extra field
  bool descriptor = false; // sizes and checksum behind the data
  uint16_t flags = 0x800;  // UTF-8
  uint8_t host = 3;        // Unix
  // What the headers say in place of the truth.
  std::optional<uint16_t> method = {};
  std::optional<uint32_t> crc = {};
  std::optional<uint64_t> size = {}, packed_size = {};
  std::optional<uint64_t> offset = {};        // of the local header, in the central directory
  std::optional<std::string> local_name = {}; // in the local header
  std::string packed = {};                    // the data as it is, instead of `content` packed
};

struct ZipShape {
  std::string prefix = {};  // bytes in front of the archive
  std::string comment = {}; // of the archive
  bool zip64_end = false;
  std::optional<uint64_t> count = {}; // members, in the end record
  uint16_t disk = 0;
};

inline void put(std::string &out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value);
}

inline std::string deflated(const std::string &content, int level = 6) {
  libdeflate_compressor *compressor = libdeflate_alloc_compressor(level);
  std::string out(libdeflate_deflate_compress_bound(compressor, content.size()), '\0');
  out.resize(libdeflate_deflate_compress(compressor, content.data(), content.size(), out.data(), out.size()));
  libdeflate_free_compressor(compressor);
  return out;
}

inline std::string make_zip(const std::vector<ZipSpec> &specs, const ZipShape &shape = {}) {
  std::string out = shape.prefix, directory;
  for (const ZipSpec &spec : specs) {
    const std::string data = !spec.packed.empty() ? spec.packed : spec.deflate ? deflated(spec.content) : spec.content;
    const uint64_t size = spec.size.value_or(spec.content.size()), packed = spec.packed_size.value_or(data.size());
    const uint32_t crc = spec.crc.value_or(libdeflate_crc32(0, spec.content.data(), spec.content.size()));
    const uint64_t offset = spec.offset.value_or(out.size() - shape.prefix.size());
    const uint16_t method = spec.method.value_or(spec.deflate ? 8 : 0);
    const uint16_t flags = spec.flags | (spec.descriptor ? 8 : 0);
    const std::string local_name = spec.local_name.value_or(spec.name);
    std::string extra;
    if (spec.zip64) {
      put(extra, 1, 2);
      put(extra, 24, 2);
      put(extra, size, 8);
      put(extra, packed, 8);
      put(extra, offset, 8);
    }
    const uint64_t size32 = spec.zip64 ? UINT32_MAX : size, packed32 = spec.zip64 ? UINT32_MAX : packed;
    put(out, 0x04034b50, 4);
    put(out, 45, 2);
    put(out, flags, 2);
    put(out, method, 2);
    put(out, 0x58214000, 4);
    put(out, spec.descriptor ? 0 : crc, 4);
    put(out, spec.descriptor ? 0 : packed32, 4);
    put(out, spec.descriptor ? 0 : size32, 4);
    put(out, local_name.size(), 2);
    put(out, extra.size(), 2);
    out += local_name + extra + data;
    if (spec.descriptor) {
      put(out, 0x08074b50, 4);
      put(out, crc, 4);
      put(out, packed, spec.zip64 ? 8 : 4);
      put(out, size, spec.zip64 ? 8 : 4);
    }
    put(directory, 0x02014b50, 4);
    put(directory, 45 | spec.host << 8, 2);
    put(directory, 45, 2);
    put(directory, flags, 2);
    put(directory, method, 2);
    put(directory, 0x58214000, 4);
    put(directory, crc, 4);
    put(directory, packed32, 4);
    put(directory, size32, 4);
    put(directory, spec.name.size(), 2);
    put(directory, extra.size(), 2);
    put(directory, 0, 2 + 2 + 2 + 4); // comment, disk, attributes
    put(directory, spec.zip64 ? UINT32_MAX : offset, 4);
    directory += spec.name + extra;
  }
  const uint64_t start = out.size() - shape.prefix.size(), count = shape.count.value_or(specs.size());
  out += directory;
  if (shape.zip64_end) {
    const uint64_t end = out.size() - shape.prefix.size();
    put(out, 0x06064b50, 4);
    put(out, 44, 8);
    put(out, 45, 2);
    put(out, 45, 2);
    put(out, 0, 8);
    put(out, count, 8);
    put(out, count, 8);
    put(out, directory.size(), 8);
    put(out, start, 8);
    put(out, 0x07064b50, 4);
    put(out, 0, 4);
    put(out, end + shape.prefix.size(), 8);
    put(out, 1, 4);
  }
  put(out, 0x06054b50, 4);
  put(out, shape.disk, 2);
  put(out, shape.disk, 2);
  put(out, shape.zip64_end ? UINT16_MAX : count, 2);
  put(out, shape.zip64_end ? UINT16_MAX : count, 2);
  put(out, shape.zip64_end ? UINT32_MAX : directory.size(), 4);
  put(out, shape.zip64_end ? UINT32_MAX : start, 4);
  put(out, shape.comment.size(), 2);
  return out + shape.comment;
}

} // namespace isa_audit
