// The zip format, in three files: zip.cpp lists the central directory, zip_member.cpp gives the bytes of a member,
// zip_name.cpp makes names fit for reports.
#pragma once

#include <cstdint>
#include <string>

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/member.h"

namespace isa_audit {

bool match_zip(const Bytes &head, std::string_view name);
void read_zip(const Bytes &file, uint32_t input, const std::string &prefix, const Feed &feed);

constexpr uint16_t kZipStored = 0;
constexpr uint16_t kZipDeflate = 8;

// A member whose bytes lie inside `file`: `packed` bytes at `at`.
struct ZipData {
  Bytes file;
  uint64_t at = 0;
  uint64_t packed = 0;
  uint64_t size = 0; // as the directory says
  uint32_t crc = 0;
  uint16_t method = kZipStored;
};

// Why `size` bytes cannot come out of `packed` bytes by `method`; empty if they can. Asked before anything is allocated.
std::string impossible_size(uint16_t method, uint64_t packed, uint64_t size);

Member make_zip_member(ZipData data, Origin origin);

// "bzip2", or "method 77" for what has no name.
std::string zip_method_name(uint16_t method);

// The name for reports (see ArchiveFormat::read) of the bytes of a name field. `is_dos`: the archive was made on a system
// where '\' separates folders. The result is empty for a name without any component.
std::string shown_zip_name(std::string_view raw, bool is_dos);

} // namespace isa_audit
