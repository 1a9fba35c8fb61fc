#include "isa-audit/base/origin.h"

#include <algorithm>

namespace isa_audit {

std::string last_two_parts(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  for (std::string_view homes : {"/home/", "/Users/"})
    if (path.starts_with(homes)) path.remove_prefix(std::min(path.find('/', homes.size()), path.size() - 1) + 1);
  if (path.empty()) return "~"; // a home itself
  if (path == "/") return "/";
  size_t slash = path.rfind('/');
  if (slash != std::string_view::npos && slash > 0) slash = path.rfind('/', slash - 1);
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

} // namespace isa_audit
