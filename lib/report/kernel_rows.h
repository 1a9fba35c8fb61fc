// The kernels of a file, put together over its code objects, for --kernels.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "isa-audit/device/code_object.h"
#include "isa-audit/verdict/target_order.h"

namespace isa_audit {

// By target; several where code objects of one target hold kernels of one name that differ. `name` of the details is 0.
using KernelUses = std::map<std::string, std::set<KernelDetails>, TargetOrder>;
using KernelRows = std::map<std::string_view, KernelUses>; // by symbol; the views are into `device`

KernelRows kernel_rows(const DeviceCode &device);

// "petit::gemm<int>(float*)" for a mangled name, else the name. Not escaped.
std::string demangled_kernel(std::string_view symbol);

} // namespace isa_audit
