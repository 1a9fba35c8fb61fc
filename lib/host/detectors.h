// Names and strings by which programs ask what the CPU can do without executing CPUID themselves.
#pragma once

#include <string_view>
#include <vector>

#include "image.h"

namespace isa_audit::host {

// An imported object that describes the CPU (libgcc's __cpu_model).
bool is_detector_object(std::string_view name);
// An imported function whose result says what the CPU can do, whatever its arguments.
bool is_detector_function(std::string_view name);
// A function that does not come back.
bool is_no_return(std::string_view name);

// Where the name of Linux' file on the CPU lies, sorted, in a file that also knows that file's words for instruction sets:
// others read the number of cores or the clock there. Functions that refer to it ask the CPU.
std::vector<uint64_t> find_cpuinfo_names(const Image &image);

} // namespace isa_audit::host
