// `isa-audit machine`: what this machine is and how each part was found.
#pragma once

#include <string>
#include <string_view>

#include "isa-audit/machine/detect.h"

namespace isa_audit {

// Prints the machine on standard output, as "text" or as the "json" of a profile (isa-audit-machine/1). Returns the exit code:
// 0, or 2 when the request names nothing known (said on standard error).
int machine_command(const MachineRequest &request, std::string_view format);

// The text; prose is wrapped at `width` columns, 0 for not at all.
std::string machine_text(const Machine &machine, size_t width);
// The profile, with a newline at its end.
std::string machine_profile(const Machine &machine);

} // namespace isa_audit
