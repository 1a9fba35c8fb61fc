// What the readers of dist-info folders share.
#pragma once

#include <string>
#include <string_view>

#include "isa-audit/source/distribution.h"

namespace isa_audit {

// `row` of a RECORD put behind `base` ("" or ending with '/' or '!'); empty if it leads out of the input or the archive.
std::string placed(std::string_view base, std::string_view row);

// Sets name and version to "kern" and "1.2" of "kern-1.2.dist-info": what there is to go by without METADATA.
void name_by_folder(Distribution &distribution, std::string_view folder);

} // namespace isa_audit
