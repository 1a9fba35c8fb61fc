// Names for addresses, looked up for all of them at once: symbol tables are read only when there is evidence to name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "image.h"

namespace isa_audit::host {

// The function that holds each address, demangled; addresses in no named function are left out.
std::map<uint64_t, std::string> function_names(const Image &image, std::vector<uint64_t> addresses);

} // namespace isa_audit::host
