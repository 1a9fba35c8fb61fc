// A vector would write zeros that the inflater overwrites; malloc would keep large blocks in the heap of one thread. Space in
// a temporary file is reserved at once: a full disk is an error here instead of a SIGBUS at some later store.

#include "buffer.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "isa-audit/base/problem.h"
#include "isa-audit/container/container.h"

namespace isa_audit {
namespace {

constexpr uint64_t kMapFrom = uint64_t{1} << 20;
constexpr uint64_t kHugePage = uint64_t{2} << 20;

std::atomic<uint64_t> spill_threshold{UINT64_MAX};

std::shared_ptr<const void> unmapper(void *data, uint64_t size) {
  return {data, [size](const void *mapped) { munmap(const_cast<void *>(mapped), size); }};
}

llvm::Error no_memory(uint64_t size) { return make_error("no memory for " + std::to_string(size) + " bytes"); }

// An anonymous mapping that starts at a multiple of the huge page's size: a kernel before 6.7 places it anywhere.
void *map_aligned(uint64_t size) {
  const uint64_t room = size + kHugePage;
  void *raw = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return raw;
  auto *first = static_cast<uint8_t *>(raw);
  const uint64_t skip = (kHugePage - reinterpret_cast<uintptr_t>(raw) % kHugePage) % kHugePage;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t used = (size + page - 1) / page * page;
  if (skip > 0) munmap(first, skip);
  if (room > skip + used) munmap(first + skip + used, room - skip - used);
  return first + skip;
}

int open_temporary() {
  const char *chosen = std::getenv("TMPDIR");
  for (const char *folder : {chosen, "/var/tmp", "/tmp"}) {
    if (!folder || !*folder) continue;
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (fd >= 0) return fd;
    std::string name = std::string(folder) + "/isa-audit-XXXXXX"; // a file system without O_TMPFILE
    fd = mkostemp(name.data(), O_CLOEXEC);
    if (fd < 0) continue;
    unlink(name.c_str());
    return fd;
  }
  return -1;
}

std::string reason(int error_number) {
  char buffer[256];
  return strerror_r(error_number, buffer, sizeof buffer);
}

} // namespace

void set_memory_spill_threshold(uint64_t bytes) { spill_threshold.store(bytes, std::memory_order_relaxed); }
uint64_t memory_spill_threshold() { return spill_threshold.load(std::memory_order_relaxed); }

llvm::Expected<Buffer> allocate_buffer(uint64_t size) {
  if (size < kMapFrom) {
    std::shared_ptr<uint8_t> owner(new (std::nothrow) uint8_t[size], std::default_delete<uint8_t[]>());
    if (!owner) return no_memory(size);
    return Buffer{owner.get(), owner};
  }
  if (size > UINT64_MAX / 4) return no_memory(size);
  void *data = map_aligned(size);
  if (data == MAP_FAILED) return no_memory(size);
  madvise(data, size, MADV_HUGEPAGE);
  return Buffer{static_cast<uint8_t *>(data), unmapper(data, size)};
}

llvm::Expected<Buffer> allocate_spilled(uint64_t size) {
  const int fd = open_temporary();
  if (fd < 0) return make_error("no temporary file for " + std::to_string(size) + " bytes: " + reason(errno));
  const int full = size > INT64_MAX ? EFBIG : posix_fallocate(fd, 0, static_cast<off_t>(size));
  void *data = full ? MAP_FAILED : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = full ? full : errno;
  close(fd);
  if (data == MAP_FAILED) return make_error("no temporary file of " + std::to_string(size) + " bytes: " + reason(error));
  return Buffer{static_cast<uint8_t *>(data), unmapper(data, size)};
}

} // namespace isa_audit
