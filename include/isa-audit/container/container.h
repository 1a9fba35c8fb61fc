// Archives → members, in place: nothing is unpacked to disk. One row a format (formats.cpp); adding a format is a .cpp, a row,
// a fixture, a golden and a fuzz seed.
#pragma once

#include <span>
#include <string_view>

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/member.h"

namespace isa_audit {

struct ArchiveFormat {
  std::string_view name; // "zip"
  // By content: `head` are the first bytes of the file (up to 64 KiB); `name` only breaks ties.
  bool (*match)(const Bytes &head, std::string_view name);
  // Feeds the members of `file`. Their origins have path `prefix` + the member's name (prefix is empty for an input that is
  // itself the archive, "dist/a.whl!" inside a directory). Damage is told through feed.problem.
  void (*read)(const Bytes &file, uint32_t input, const std::string &prefix, const Feed &feed);
};

std::span<const ArchiveFormat> archive_formats();
const ArchiveFormat *find_archive_format(const Bytes &head, std::string_view name);

} // namespace isa_audit
