#include "isa-audit/base/discard.h"

#include <sys/mman.h>
#include <unistd.h>

namespace isa_audit {

void discard(const Bytes &bytes, uint64_t offset, uint64_t length) {
  if (!bytes.contains(offset, length)) return;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  // madvise takes no const pointer, but changes nothing that anybody looks at.
  auto *start = const_cast<uint8_t *>(bytes.data() + offset);
  const uint64_t skip = (page - reinterpret_cast<uintptr_t>(start) % page) % page;
  if (length > skip && length - skip >= page) madvise(start + skip, (length - skip) / page * page, MADV_DONTNEED);
}

} // namespace isa_audit
