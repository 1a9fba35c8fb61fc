// Keeps the process alive when the pages of a mapped file cannot be had.
//
// Reading a mapping beyond the end of a file that was cut shorter after it was mapped raises SIGBUS, and so does a failing
// disk or network share. The linker mold and ripgrep accept that the process dies. A report about hundreds of other files
// shall not be lost to one of them, and a handler costs nothing until the signal comes: it puts a page of zeros where the
// page is missing and marks the mapping; whoever reads on sees zeros, which every reader takes as hostile input anyway, and
// the file is told as unreadable (`lost_files`).
#pragma once

#include <cstddef>

#include "isa-audit/base/origin.h"
#include "isa-audit/base/problem.h"

namespace isa_audit {

struct WatchedRange;

// Watches `size` bytes at `data`, a mapping of the file at `origin`. The first call installs the SIGBUS handler; faults
// outside every watched range go to the handler that was there before.
WatchedRange *watch_range(const void *data, size_t size, Origin origin);

// Ends the watch; call before the range is unmapped.
void unwatch_range(WatchedRange *range);

} // namespace isa_audit
