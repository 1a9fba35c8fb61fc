#pragma once

#include <string>

namespace isa_audit {

// `isa-audit rules [NAME]`: the table, or one rule with its help.
int rules_command(const std::string &name);

} // namespace isa_audit
