// Names of zip members. The format (APPNOTE 4.4.17) wants '/' and relative paths; bit 11 of the flags says UTF-8, otherwise
// code page 437 is meant. Writers that do not set the bit but write UTF-8 (Info-ZIP of some systems, old Python) are many, so
// bytes that are valid UTF-8 are taken as such. Old .NET writes '\' on Windows.

#include "zip.h"

#include <algorithm>

#include "llvm/Support/ConvertUTF.h"

namespace isa_audit {
namespace {

// Code page 437, 0x80 to 0xff (unicode.org, VENDORS/MICSFT/PC/CP437.TXT).
constexpr std::u16string_view kCodePage437 = u"ÇüéâäàåçêëèïîìÄÅ"
                                             u"ÉæÆôöòûùÿÖÜ¢£¥₧ƒ"
                                             u"áíóúñÑªº¿⌐¬½¼¡«»"
                                             u"░▒▓│┤╡╢╖╕╣║╗╝╜╛┐"
                                             u"└┴┬├─┼╞╟╚╔╩╦╠═╬╧"
                                             u"╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
                                             u"αßΓπΣσµτΦΘΩδ∞φε∩"
                                             u"≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";
static_assert(kCodePage437.size() == 128);

bool is_valid_utf8(std::string_view text) {
  const auto *at = reinterpret_cast<const llvm::UTF8 *>(text.data());
  return llvm::isLegalUTF8String(&at, at + text.size());
}

void append_utf8(std::string &out, char16_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xe0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

std::string to_utf8(std::string_view raw) {
  std::string out;
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    append_utf8(out, byte < 0x80 ? byte : kCodePage437[byte - 0x80]);
  }
  return out;
}

} // namespace

std::string shown_zip_name(std::string_view raw, bool is_dos) {
  std::string text = is_valid_utf8(raw) ? std::string(raw) : to_utf8(raw);
  if (is_dos) std::replace(text.begin(), text.end(), '\\', '/');
  std::string shown;
  for (size_t at = 0; at <= text.size();) {
    const size_t slash = std::min(text.find('/', at), text.size());
    const std::string_view part = std::string_view(text).substr(at, slash - at);
    at = slash + 1;
    if (part.empty() || part == ".") continue;
    if (!shown.empty()) shown += '/';
    shown += part == ".." ? "%2E%2E" : part;
  }
  return shown;
}

} // namespace isa_audit
