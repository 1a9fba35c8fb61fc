#include "isa-audit/verdict/target_order.h"

#include <algorithm>
#include <tuple>

namespace isa_audit {
namespace {

unsigned number(std::string_view digits) {
  unsigned value = 0;
  for (char c : digits.substr(0, 6)) value = value * 10 + static_cast<unsigned>(c - '0');
  return value;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return text.substr(at, end - at);
}

// (class, generation, kind, rest): "gfx90a" has generation 9 (the last two characters are minor and stepping).
using Key = std::tuple<unsigned, unsigned, unsigned, std::string_view>;

Key key(std::string_view text) {
  std::string_view processor = text.substr(0, text.find(':'));
  if (processor.starts_with("gfx")) {
    bool generic = processor.ends_with("-generic");
    std::string_view digits = digits_at(processor, 3);
    // A stepping may be a letter (gfx90a): then one digit fewer belongs to minor and stepping.
    size_t end = 3 + digits.size();
    size_t tail = end < processor.size() && processor[end] != '-' && !generic ? 1 : 2;
    if (!generic) digits = digits.substr(0, digits.size() - std::min(digits.size(), tail));
    return {0, number(digits), generic, text};
  }
  for (std::string_view prefix : {"sm_", "compute_"})
    if (processor.starts_with(prefix)) return {2, number(digits_at(processor, prefix.size())), prefix == "compute_", text};
  return {1, 0, 0, text};
}

} // namespace

bool TargetOrder::operator()(std::string_view a, std::string_view b) const { return key(a) < key(b); }

std::string join_targets(const std::vector<std::string> &targets, size_t limit) {
  if (targets.empty()) return "nothing";
  std::string out;
  size_t shown = limit == 0 ? targets.size() : std::min(limit, targets.size());
  for (size_t i = 0; i < shown; ++i) out += (i ? " " : "") + targets[i];
  if (shown < targets.size()) out += " +" + std::to_string(targets.size() - shown);
  return out;
}

} // namespace isa_audit
