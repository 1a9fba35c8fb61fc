// Names of files, symbols and kernels come from the files under audit and may hold anything. On a terminal a control
// character can rewrite what was printed before it, C1 controls (U+0080 to U+009F) are as good as ESC [ on some, and the
// directional overrides of Unicode can show a name backwards: all of them are shown as escapes.
#include "escape.h"

#include <array>
#include <cstdint>

#include "isa-audit/report/report.h"

namespace isa_audit {
namespace {

struct CodePoint {
  uint32_t value;
  size_t length; // 0: the byte at the start is not valid UTF-8
};

// Decodes by table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF.
CodePoint decode(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  uint8_t lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || length > text.size() - at) return {0, 0};
  uint32_t value = lead & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return {0, 0};
    value = value << 6 | (byte(at + i) & 0x3f);
  }
  constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {0, 0};
  return {value, length};
}

void append_hex(std::string &out, const char *prefix, uint32_t value, int digits) {
  out += prefix;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[value >> shift & 15];
}

bool is_control(uint32_t value) { return value < 0x20 || (value >= 0x7f && value < 0xa0); }

// Line and paragraph separators, marks, embeddings, overrides and isolates of the bidirectional algorithm.
bool redirects(uint32_t value) {
  return value == 0x61c || value == 0x200e || value == 0x200f || (value >= 0x2028 && value <= 0x202e) ||
         (value >= 0x2066 && value <= 0x2069);
}

template <typename Keep> std::string rewrite(std::string_view text, Keep keep) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    CodePoint point = decode(text, at);
    if (point.length == 0) {
      append_hex(out, "\\x", static_cast<uint8_t>(text[at++]), 2);
      continue;
    }
    if (keep(point.value))
      out += text.substr(at, point.length);
    else if (point.value < 0x100)
      append_hex(out, "\\x", point.value, 2);
    else
      append_hex(out, "\\u", point.value, 4);
    at += point.length;
  }
  return out;
}

} // namespace

std::string escaped(std::string_view text) {
  return rewrite(text, [](uint32_t value) { return !is_control(value) && !redirects(value); });
}

std::string valid_utf8(std::string_view text) {
  return rewrite(text, [](uint32_t) { return true; });
}

size_t columns(std::string_view text) {
  size_t count = 0;
  for (char c : text) count += (static_cast<uint8_t>(c) & 0xc0) != 0x80;
  return count;
}

} // namespace isa_audit
