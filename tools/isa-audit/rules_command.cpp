#include "rules_command.h"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "help_formatter.h"
#include "isa-audit/verdict/finding.h"
#include "terminal.h"
#include "llvm/ADT/StringRef.h"

namespace isa_audit {

namespace {

std::string table(std::span<const Rule> list, size_t width) {
  size_t name_width = 0;
  for (const Rule &rule : list) name_width = std::max(name_width, rule.name.size());
  std::string out;
  const size_t lead = name_width + 2 + 7 + 2;
  for (const Rule &rule : list) {
    std::string summary(rule.summary);
    if (width > lead) summary = wrapped(summary, width - lead, lead);
    out += fmt::format("{:{}}  {:7}  {}\n", rule.name, name_width, level_name(rule.level), summary);
  }
  return out;
}

std::string page(const Rule &rule, size_t width) {
  std::string summary(rule.summary), help(rule.help);
  if (width) {
    summary = wrapped(summary, width, 0);
    help = wrapped(help, width, 0);
  }
  return fmt::format("{} ({})\n{}\n\n{}\n", rule.name, level_name(rule.level), summary, help);
}

std::string json(std::span<const Rule> list) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Rule &rule : list)
    rows.push_back({{"name", rule.name}, {"level", level_name(rule.level)}, {"summary", rule.summary}, {"help", rule.help}});
  return nlohmann::ordered_json{{"schema", "isa-audit-rules/1"}, {"rules", std::move(rows)}}.dump(1) + "\n";
}

} // namespace

std::string near_rules(std::string_view name) {
  std::vector<std::pair<unsigned, std::string_view>> near;
  const unsigned most = std::max<unsigned>(2, static_cast<unsigned>(name.size() / 4));
  for (const Rule &rule : rules()) {
    unsigned distance = llvm::StringRef(name).edit_distance(llvm::StringRef(rule.name), true, most);
    bool part = name.size() >= 4 && rule.name.find(name) != std::string_view::npos;
    if (part || distance <= most) near.emplace_back(part ? 0 : distance, rule.name);
  }
  std::ranges::sort(near);
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(near.size(), 4); ++i) out += fmt::format("{}{}", i ? ", " : "", near[i].second);
  return out.empty() ? out : fmt::format(" (did you mean {}?)", out);
}

int rules_command(const std::string &name, std::string_view format) {
  std::span<const Rule> list = rules();
  if (!name.empty()) {
    const Rule *rule = find_rule(name);
    if (!rule) return complain(fmt::format("'{}' is no rule{}; 'isa-audit rules' lists them", name, near_rules(name)));
    list = {rule, 1};
  }
  // As wide as the help.
  const size_t width = std::min<size_t>(terminal_width(), 80);
  if (format == "json") return print_out(json(list));
  return print_out(name.empty() ? table(list, width) : page(list.front(), width));
}

} // namespace isa_audit
