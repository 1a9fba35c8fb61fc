// What the streams are, and progress on one that is a terminal.
#pragma once

#include <string>
#include <string_view>
#include <thread>

#include "isa-audit/scan/scan.h"
#include "options.h"

namespace isa_audit {

bool use_color(When when);
// Columns of standard output; 0 when it is no terminal.
size_t terminal_width();
// Writes everything; false, with errno, when the reader has gone or the device is full.
bool write_all(int descriptor, std::string_view bytes);
// On standard output. Returns 0, or 2 when it could not be written, which is said on standard error; a reader that has seen
// enough and has gone is no failure.
int print_out(std::string_view text);
// "isa-audit: <message>" on standard error, control characters shown as escapes: messages repeat what was on the command line
// and in files. Returns 2.
int complain(std::string_view message);

// "12 s: 3 of 40 binaries, 120 of 900 MiB, libtorch.so", cut to `width` columns.
std::string progress_text(const Progress &progress, double seconds, size_t width);

// While it lives, shows on standard error how far a scan is; leaves nothing behind.
class ProgressLine {
public:
  ProgressLine(const Progress &progress, When when);
  ~ProgressLine();

private:
  std::jthread thread_;
};

} // namespace isa_audit
