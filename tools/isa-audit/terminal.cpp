#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

namespace isa_audit {

bool use_color(When when) {
  if (when != When::automatic) return when == When::always;
  // no-color.org and bixense.com/clicolors
  const char *no_color = std::getenv("NO_COLOR"), *force = std::getenv("CLICOLOR_FORCE"), *term = std::getenv("TERM");
  if (no_color && *no_color) return false;
  if (force && std::string_view(force) != "0") return true;
  return isatty(STDOUT_FILENO) && !(term && std::string_view(term) == "dumb");
}

size_t terminal_width() {
  winsize size = {};
  if (!isatty(STDOUT_FILENO)) return 0;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

ProgressLine::ProgressLine(const Progress &progress, When when) {
  const char *term = std::getenv("TERM");
  bool dumb = term && std::string_view(term) == "dumb";
  if (when == When::never || (when == When::automatic && (!isatty(STDERR_FILENO) || dumb))) return;
  thread_ = std::jthread([&progress](const std::stop_token &stop) {
    using namespace std::chrono_literals;
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    bool shown = false;
    // Short runs show nothing at all.
    for (auto pause = 400ms; !wake.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); }); pause = 100ms) {
      std::string line = fmt::format("\r\x1b[K{} binaries, {} of {} MiB", progress.binaries.load(), progress.bytes.load() >> 20,
                                     progress.total_bytes.load() >> 20);
      write_all(STDERR_FILENO, line);
      shown = true;
    }
    if (shown) write_all(STDERR_FILENO, "\r\x1b[K");
  });
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

} // namespace isa_audit
