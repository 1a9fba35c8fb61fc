#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "isa-audit/report/report.h"

namespace isa_audit {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

size_t stderr_width() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

// The first `width` columns.
std::string columns_of(const std::string &text, size_t width) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && width-- == 0) break;
  return text.substr(0, at);
}

} // namespace

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

int print_out(std::string_view text) {
  if (write_all(STDOUT_FILENO, text) || errno == EPIPE) return 0;
  return complain(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

int complain(std::string_view message) {
  write_all(STDERR_FILENO, fmt::format("isa-audit: {}\n", escaped(message)));
  return 2;
}

std::string progress_text(const Progress &progress, double seconds, size_t width) {
  uint64_t total = progress.total_bytes.load();
  std::string out = total == 0 ? fmt::format("{:.0f} s: looking for files", seconds)
                               : fmt::format("{:.0f} s: {} of {} binaries, {} of {} MiB", seconds, progress.binaries.load(),
                                             progress.total_binaries.load(), progress.bytes.load() >> 20, total >> 20);
  if (std::string path = escaped(progress.path()); !path.empty()) out += ", " + path.substr(path.find_last_of("/!") + 1);
  return columns_of(out, width);
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
    const auto start = std::chrono::steady_clock::now();
    // Short runs show nothing at all.
    for (auto pause = 400ms; !wake.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); }); pause = 100ms) {
      write_all(STDERR_FILENO, "\r\x1b[K" + progress_text(progress, seconds_since(start), stderr_width() - 1));
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
