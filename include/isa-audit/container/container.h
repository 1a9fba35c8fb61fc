// Archives → members, in place: nothing is unpacked to disk. One row a format (formats.cpp); adding a format is a .cpp, a row,
// a fixture, a golden and a fuzz seed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/member.h"

namespace isa_audit {

struct ArchiveFormat {
  std::string_view name; // "zip"
  // By content: `head` are the first bytes of the file (up to 64 KiB); `name` only breaks ties. A file that is something else
  // first (an ELF with an archive appended) does not match.
  bool (*match)(const Bytes &head, std::string_view name);
  // Feeds the members of `file`, in the order of the archive, from the calling thread. Their origins have path `prefix` + the
  // member's name (prefix is empty for an input that is itself the archive, "dist/a.whl!" inside a directory). Damage is told
  // through feed.problem; what concerns the whole archive has the prefix without its '!' as path. The members keep `file`
  // alive; `head`, `open` and `raw` may be called on any thread, at the same time.
  //
  // Names are made safe to print and to compare, never to write to: '/'-separated and relative whatever the archive says,
  // "." and empty components dropped, ".." shown as "%2E%2E", valid UTF-8, and the second member of one name gets "#2".
  void (*read)(const Bytes &file, uint32_t input, const std::string &prefix, const Feed &feed);
};

std::span<const ArchiveFormat> archive_formats();
const ArchiveFormat *find_archive_format(const Bytes &head, std::string_view name);

// Members larger than this many bytes are inflated into an unlinked temporary file ($TMPDIR, /var/tmp, /tmp), whose pages
// the kernel can write out, and not into anonymous memory; their Member::anonymous is 0. Read when an archive is listed.
// Default: UINT64_MAX, never.
void set_memory_spill_threshold(uint64_t bytes);
uint64_t memory_spill_threshold();

} // namespace isa_audit
