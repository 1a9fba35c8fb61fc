// Files of --output: checked before the work begins, written in one step when it is done.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace isa_audit {

// Why a report cannot be written to `path`; empty when nothing speaks against it. An input is never written over, and neither
// is any other file that holds binary data: it is no older report, but most likely a slip.
std::string check_output(const std::string &path, std::span<const std::string> inputs);

// Writes a file beside `path` and renames it, so that readers see the old report or the new one, whole. Devices and FIFOs, and
// files in folders that take no new ones, are written as they are. Empty, or why it failed.
std::string write_output(const std::string &path, std::string_view bytes);

} // namespace isa_audit
