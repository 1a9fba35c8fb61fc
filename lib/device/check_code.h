// Whether the code of a code object is code of its processor.
#pragma once

#include "isa-audit/device/code_object.h"
#include "isa-audit/elf/elf.h"

namespace isa_audit {

// Decodes every function of the object for the processor that its flags name and fills `object.code`. Without effect for what
// is not loadable.
void check_code(const Elf &elf, CodeObject &object);

} // namespace isa_audit
