// METADATA and PKG-INFO: lines of "Name: value" as in mail (RFC 822), a value goes on in lines that start with a space or a
// tab, and the description follows after the first empty line. Files of all times are met: any line ends, a byte order mark,
// names in any case.

#include <tuple>

#include "isa-audit/base/problem.h"
#include "isa-audit/source/site_packages.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ConvertUTF.h"

namespace isa_audit {
namespace {

constexpr size_t kHeaderLimit = 1 << 20;   // bytes looked at
constexpr size_t kValueLimit = 256;        // bytes of a name or version
constexpr size_t kRequirementLimit = 4096; // bytes of a requirement, and the number of them

// Whether `value` can stand in a report: not empty, UTF-8, without control characters.
bool is_text(std::string_view value, size_t limit) {
  if (value.empty() || value.size() > limit) return false;
  for (const char c : value)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  const auto *at = reinterpret_cast<const llvm::UTF8 *>(value.data());
  return llvm::isLegalUTF8String(&at, at + value.size());
}

void take(Distribution &distribution, llvm::StringRef field, const std::string &value) {
  const std::string trimmed = llvm::StringRef(value).trim().str();
  if (field.equals_insensitive("name") && distribution.name.empty() && is_text(trimmed, kValueLimit))
    distribution.name = trimmed;
  if (field.equals_insensitive("version") && distribution.version.empty() && is_text(trimmed, kValueLimit))
    distribution.version = trimmed;
  if (field.equals_insensitive("requires-dist") && distribution.requires_dist.size() < kRequirementLimit &&
      is_text(trimmed, kRequirementLimit))
    distribution.requires_dist.push_back(trimmed);
}

} // namespace

std::string normalized_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.') {
      if (!out.ends_with('-')) out += '-';
    } else {
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return out;
}

llvm::Expected<Distribution> parse_metadata(std::string_view text) {
  llvm::StringRef rest(text.substr(0, kHeaderLimit));
  rest.consume_front("\xef\xbb\xbf");
  Distribution distribution;
  llvm::StringRef field;
  std::string value;
  while (!rest.empty()) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (line.ends_with("\r")) line = line.drop_back();
    if (line.empty()) break;
    if (line.front() == ' ' || line.front() == '\t') {
      value += ' ';
      value += line.trim();
      continue;
    }
    take(distribution, field, value);
    llvm::StringRef start;
    std::tie(field, start) = line.split(':');
    value = start.str();
  }
  take(distribution, field, value);
  if (distribution.name.empty()) return make_error("no sound Name");
  return distribution;
}

} // namespace isa_audit
