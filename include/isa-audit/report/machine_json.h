// A machine as JSON: an element of "machines" of a report, and the whole of a profile.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "isa-audit/machine/machine.h"

namespace isa_audit {

// Keys in the order of the contract, lists sorted (GPUs in the order of the runtime); strings are valid UTF-8.
nlohmann::ordered_json machine_json(const Machine &machine);

} // namespace isa_audit
