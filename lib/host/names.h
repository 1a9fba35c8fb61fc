// Names for addresses, looked up for all of them at once: symbol tables are read only when there is evidence to name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "image.h"

namespace isa_audit::host {

struct FunctionName {
  std::string text;  // demangled
  bool weak = false; // an inline function or template: the linker keeps one of the copies that translation units bring
};

// The function that holds each address, demangled; addresses in no named function are left out.
std::map<uint64_t, FunctionName> function_names(const Image &image, std::vector<uint64_t> addresses);

} // namespace isa_audit::host
