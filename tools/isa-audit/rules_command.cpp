#include "rules_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa-audit/verdict/finding.h"

namespace isa_audit {

int rules_command(const std::string &name) {
  if (name.empty()) {
    size_t width = 0;
    for (const Rule &rule : rules()) width = std::max(width, rule.name.size());
    for (const Rule &rule : rules()) fmt::print("{:{}}  {:7}  {}\n", rule.name, width, level_name(rule.level), rule.summary);
    return 0;
  }
  const Rule *rule = find_rule(name);
  if (!rule) {
    fmt::print(stderr, "isa-audit: '{}' is no rule; 'isa-audit rules' lists them\n", name);
    return 2;
  }
  fmt::print("{} ({})\n{}\n\n{}\n", rule->name, level_name(rule->level), rule->summary, rule->help);
  return 0;
}

} // namespace isa_audit
