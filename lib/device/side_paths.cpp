#include "side_paths.h"

#include <algorithm>

#include "isa-audit/device/processors.h"
#include "isa-audit/device/side_file.h"
#include "llvm/ADT/StringRef.h"

namespace isa_audit {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == 'X'; }

size_t digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

// The length of "-generic" or "-4-generic" at the start of `rest`.
size_t generic_length(std::string_view rest) {
  if (rest.starts_with("-generic")) return 8;
  if (!rest.starts_with("-")) return 0;
  size_t digits = digits_at(rest, 1);
  return digits && rest.substr(1 + digits).starts_with("-generic") ? 1 + digits + 8 : 0;
}

// Features come after a hyphen, as '-' and '+' are allowed in file names and ':' is not everywhere.
std::string take_features(std::string_view &rest) {
  std::string out;
  for (bool more = true; more;) {
    more = false;
    for (std::string_view feature : {"sramecc", "xnack"}) {
      size_t sign = 1 + feature.size();
      if (!rest.starts_with('-') || !rest.substr(1).starts_with(feature) || rest.size() <= sign) continue;
      if (rest[sign] != '+' && rest[sign] != '-') continue;
      out += ":";
      out += rest.substr(1, feature.size() + 1);
      rest.remove_prefix(sign + 1);
      more = true;
    }
  }
  return out;
}

} // namespace

std::vector<std::string_view> path_parts(std::string_view path) {
  std::vector<std::string_view> out;
  while (true) {
    size_t end = path.find_first_of("/!");
    out.push_back(path.substr(0, end));
    if (end == std::string_view::npos) return out;
    path.remove_prefix(end + 1);
  }
}

std::vector<std::string> gfx_names(std::string_view name) {
  std::vector<std::string> out;
  for (size_t at = name.find("gfx"); at != std::string_view::npos; at = name.find("gfx", at + 3)) {
    if (at + 3 >= name.size() || !is_digit(name[at + 3])) continue;
    size_t end = at + 3;
    while (end < name.size() && is_name(name[end])) ++end;
    std::string text(name.substr(at, end - at));
    std::string_view rest = name.substr(end);
    if (size_t generic = generic_length(rest)) {
      text += rest.substr(0, generic);
      rest.remove_prefix(generic);
    }
    text += take_features(rest);
    if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
  }
  return out;
}

UnitName parse_unit_name(std::string_view name) {
  UnitName out;
  for (const Processor &p : processors())
    if (name.starts_with(p.name) && p.name.size() > out.processor.size()) out.processor = p.name;
  if (out.processor.empty()) return out;
  llvm::StringRef rest(name.substr(out.processor.size()));
  unsigned radix = 16;
  if (rest.consume_front("_")) radix = 10;
  rest = rest.take_until([](char c) { return c == '.' || c == '_'; });
  if (rest.empty() || rest.getAsInteger(radix, out.units)) out.units = 0;
  return out;
}

bool names_processor(std::string_view written, std::string_view processor) {
  written = written.substr(0, written.find(':'));
  if (written == processor) return true;
  const Processor *row = find_processor(processor);
  if (row && !row->generic.empty() && written == row->generic) return true;
  size_t stem = written.size();
  while (stem > 0 && (written[stem - 1] == 'x' || written[stem - 1] == 'X')) --stem;
  // Of the same length: gfx11xx is no family of gfx90a's kind, and gfx9x none of gfx1100's.
  return stem >= 4 && stem < written.size() && written.size() == processor.size() &&
         processor.starts_with(written.substr(0, stem));
}

} // namespace isa_audit
