// Globs over paths. A mismatch goes back to the last '*' while the byte it would take is no '/', else to the last '**': a
// later star can match whatever an earlier one could, so no further points need to be kept and the time is bounded by a
// polynomial of the lengths.

#include "isa-audit/source/walk.h"

namespace isa_audit {
namespace {

// The end of the set that starts at glob[at] == '[', or npos when it is not closed: then '[' stands for itself.
size_t set_end(std::string_view glob, size_t at) {
  size_t close = at + 1;
  if (close < glob.size() && (glob[close] == '!' || glob[close] == '^')) ++close;
  if (close < glob.size() && glob[close] == ']') ++close; // a ']' that comes first belongs to the set
  return glob.find(']', close);
}

bool in_set(std::string_view set, unsigned char byte) {
  bool negated = false;
  if (!set.empty() && (set[0] == '!' || set[0] == '^')) {
    negated = true;
    set.remove_prefix(1);
  }
  bool found = false;
  for (size_t i = 0; i < set.size(); ++i) {
    const auto low = static_cast<unsigned char>(set[i]);
    auto high = low;
    if (i + 2 < set.size() && set[i + 1] == '-') {
      high = static_cast<unsigned char>(set[i + 2]);
      i += 2;
    }
    if (low <= byte && byte <= high) found = true;
  }
  return found != negated;
}

// Whether the one-byte item at glob[at] matches `byte`; moves `at` behind the item when it does.
bool match_one(std::string_view glob, size_t &at, char byte) {
  if (at >= glob.size()) return false;
  switch (glob[at]) {
  case '?':
    if (byte == '/') return false;
    ++at;
    return true;
  case '[': {
    const size_t close = set_end(glob, at);
    if (close == std::string_view::npos) break;
    if (byte == '/' || !in_set(glob.substr(at + 1, close - at - 1), static_cast<unsigned char>(byte))) return false;
    at = close + 1;
    return true;
  }
  case '\\':
    if (at + 1 >= glob.size()) break;
    if (glob[at + 1] != byte) return false;
    at += 2;
    return true;
  default: break;
  }
  if (glob[at] != byte) return false;
  ++at;
  return true;
}

// Where to go on after a mismatch: `glob` behind a star, `path` where what the star took so far ends.
struct Retry {
  bool set = false;
  bool whole_folders = false; // "**/": what it takes ends with a '/'
  size_t glob = 0;
  size_t path = 0;

  // Lets the star take more; false if it cannot.
  bool widen(std::string_view text, bool deep) {
    if (!set || path >= text.size()) return false;
    if (!deep && text[path] == '/') return false;
    if (!whole_folders) {
      ++path;
      return true;
    }
    const size_t slash = text.find('/', path);
    if (slash == std::string_view::npos) return false;
    path = slash + 1;
    return true;
  }
};

} // namespace

bool glob_match(std::string_view glob, std::string_view path) {
  size_t g = 0, p = 0;
  Retry star, deep;
  while (true) {
    if (g < glob.size() && glob[g] == '*') {
      const size_t first = g;
      while (g < glob.size() && glob[g] == '*') ++g;
      if (g - first == 1) {
        star = {true, false, g, p};
        continue;
      }
      const bool whole = g < glob.size() && glob[g] == '/' && (first == 0 || glob[first - 1] == '/');
      if (whole) ++g;
      deep = {true, whole, g, p};
      star = {};
      continue;
    }
    if (p == path.size() && g == glob.size()) return true;
    if (p < path.size() && match_one(glob, g, path[p])) {
      ++p;
      continue;
    }
    if (star.widen(path, false)) {
      g = star.glob;
      p = star.path;
      continue;
    }
    if (!deep.widen(path, true)) return false;
    star = {};
    g = deep.glob;
    p = deep.path;
  }
}

std::string glob_fault(std::string_view glob) {
  if (glob.empty()) return "an empty glob matches nothing";
  for (size_t at = 0; at < glob.size(); ++at) {
    if (glob[at] == '\\') {
      if (++at == glob.size()) return "nothing stands behind the last '\\'";
    } else if (glob[at] == '[') {
      at = set_end(glob, at);
      if (at == std::string_view::npos) return "the set that '[' begins is not closed; '\\[' stands for the character";
    }
  }
  return "";
}

bool is_excluded(const std::vector<std::string> &globs, std::string_view path) {
  if (globs.empty()) return false;
  const auto matches = [&](std::string_view part) {
    const size_t cut = part.find_last_of("/!");
    const std::string_view last = cut == std::string_view::npos ? part : part.substr(cut + 1);
    for (const std::string &glob : globs) {
      std::string_view pattern = glob;
      if (pattern.size() > 1 && pattern.back() == '/') pattern.remove_suffix(1); // "tests/" means the folder
      if (glob_match(pattern, pattern.find('/') == std::string_view::npos ? last : part)) return true;
    }
    return false;
  };
  for (size_t i = 0; i < path.size(); ++i)
    if ((path[i] == '/' || path[i] == '!') && i > 0 && matches(path.substr(0, i))) return true;
  return matches(path);
}

} // namespace isa_audit
