// Static libraries.
#pragma once

#include <cstdint>
#include <string>

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/member.h"

namespace isa_audit {

bool match_ar(const Bytes &head, std::string_view name);
void read_ar(const Bytes &file, uint32_t input, const std::string &prefix, const Feed &feed);

} // namespace isa_audit
