// Scanned data as text that is safe to print and to put into JSON.
#pragma once

#include <string>
#include <string_view>

namespace isa_audit {

// `text` with every byte that is not part of valid UTF-8 shown as \xNN; control characters are kept (JSON has its own
// escapes for them).
std::string valid_utf8(std::string_view text);

// Columns that `text` (already escaped) takes on a terminal: its code points. Wide and combining characters are counted as
// one, which only costs alignment.
size_t columns(std::string_view text);

} // namespace isa_audit
