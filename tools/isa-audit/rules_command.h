#pragma once

#include <string>
#include <string_view>

namespace isa_audit {

// `isa-audit rules [NAME]`: the table, or one rule with its help, as "text" or "json" (isa-audit-rules/1). Returns the exit
// code: 0, or 2 for a name that is no rule's (said on standard error).
int rules_command(const std::string &name, std::string_view format);

// The names of rules that are near, as " (did you mean …?)"; empty for none.
std::string near_rules(std::string_view name);

} // namespace isa_audit
