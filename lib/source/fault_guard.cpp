#include "fault_guard.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "isa-audit/source/walk.h"

namespace isa_audit {

// The handler may run at any instruction, so it takes no lock: ranges form a list that only grows, and an unused one has an
// empty address range. Everything else in a range is guarded by `mutex`.
struct WatchedRange {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> lost{false};
  WatchedRange *next = nullptr;
  bool used = false;
  Origin origin;
};

namespace {

static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<WatchedRange *>::is_always_lock_free);

std::atomic<WatchedRange *> ranges{nullptr};
uintptr_t page_size = 4096;
struct sigaction previous_action;

std::mutex &mutex() {
  static std::mutex lock;
  return lock;
}

std::vector<Origin> &lost_before() {
  static std::vector<Origin> origins;
  return origins;
}

void on_bus_error(int, siginfo_t *info, void *) {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (WatchedRange *range = ranges.load(std::memory_order_acquire); range; range = range->next) {
    if (address < range->begin.load(std::memory_order_acquire) || address >= range->end.load(std::memory_order_acquire))
      continue;
    void *page = reinterpret_cast<void *>(address & ~(page_size - 1)); // NOLINT(performance-no-int-to-ptr)
    if (mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
    range->lost.store(true, std::memory_order_release);
    errno = saved_errno;
    return;
  }
  // Not ours: the instruction faults again, under the handler that was there before.
  sigaction(SIGBUS, &previous_action, nullptr);
  errno = saved_errno;
}

void install_handler() {
  page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &previous_action);
}

} // namespace

WatchedRange *watch_range(const void *data, size_t size, Origin origin) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  const std::lock_guard<std::mutex> lock(mutex());
  WatchedRange *range = ranges.load(std::memory_order_relaxed);
  while (range && range->used) range = range->next;
  if (!range) {
    range = new WatchedRange;
    range->next = ranges.load(std::memory_order_relaxed);
    ranges.store(range, std::memory_order_release);
  }
  range->used = true;
  range->origin = std::move(origin);
  range->lost.store(false, std::memory_order_relaxed);
  range->begin.store(reinterpret_cast<uintptr_t>(data), std::memory_order_release);
  range->end.store(reinterpret_cast<uintptr_t>(data) + size, std::memory_order_release);
  return range;
}

void unwatch_range(WatchedRange *range) {
  const std::lock_guard<std::mutex> lock(mutex());
  range->end.store(0, std::memory_order_release);
  range->begin.store(0, std::memory_order_release);
  if (range->lost.load(std::memory_order_acquire)) lost_before().push_back(std::move(range->origin));
  range->used = false;
}

Problems lost_files() {
  const std::lock_guard<std::mutex> lock(mutex());
  std::vector<Origin> origins = lost_before();
  for (WatchedRange *range = ranges.load(std::memory_order_acquire); range; range = range->next)
    if (range->used && range->lost.load(std::memory_order_acquire)) origins.push_back(range->origin);
  std::sort(origins.begin(), origins.end());
  origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
  Problems problems;
  for (Origin &origin : origins)
    problems.push_back({Level::error, std::move(origin),
                        "the file was cut shorter, or a part of it could not be read, while it was looked at"});
  return problems;
}

} // namespace isa_audit
