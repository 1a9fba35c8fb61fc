// The table of archive formats. Order decides when two match: a format that is told by more bytes comes first.

#include "isa-audit/container/container.h"

#include "ar.h"
#include "zip.h"

namespace isa_audit {

static constexpr ArchiveFormat kFormats[] = {
    {"zip", match_zip, read_zip},
    {"ar", match_ar, read_ar},
};

std::span<const ArchiveFormat> archive_formats() { return kFormats; }

const ArchiveFormat *find_archive_format(const Bytes &head, std::string_view name) {
  for (const ArchiveFormat &format : kFormats)
    if (format.match(head, name)) return &format;
  return nullptr;
}

} // namespace isa_audit
