// What the streams are, and progress on one that is a terminal.
#pragma once

#include <string_view>
#include <thread>

#include "isa-audit/scan/scan.h"
#include "options.h"

namespace isa_audit {

bool use_color(When when);
// Columns of standard output; 0 when it is no terminal.
size_t terminal_width();
// Writes everything; false when the reader has gone or the device is full.
bool write_all(int descriptor, std::string_view bytes);

// While it lives, shows on standard error how far a scan is; leaves nothing behind.
class ProgressLine {
public:
  ProgressLine(const Progress &progress, When when);
  ~ProgressLine();

private:
  std::jthread thread_;
};

} // namespace isa_audit
