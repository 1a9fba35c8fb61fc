#include "isa-audit/base/discard.h"

#include <sys/mman.h>
#include <unistd.h>

namespace isa_audit {

void discard(const Bytes &bytes, uint64_t offset, uint64_t length) {
  if (!bytes.contains(offset, length)) return;
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto from = reinterpret_cast<uintptr_t>(bytes.data() + offset), to = from + length;
  from = (from + page - 1) / page * page;
  to = to / page * page;
  if (from < to) madvise(reinterpret_cast<void *>(from), to - from, MADV_DONTNEED);
}

} // namespace isa_audit
