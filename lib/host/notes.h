#pragma once

#include "isa-audit/elf/elf.h"

namespace isa_audit::host {

// x86-64 levels that GNU property notes name; 0: none.
struct IsaNotes {
  int needed = 0, used = 0;
};
IsaNotes read_isa_notes(const Elf &elf);

} // namespace isa_audit::host
