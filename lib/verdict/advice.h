// What to do about a finding, in the words of the project that the file belongs to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/machine/machine.h"
#include "isa-audit/verdict/inventory.h"

namespace isa_audit {

struct Project {
  std::string name;        // of the distribution; empty for none
  bool uses_torch = false; // it requires torch: most likely one of its C++ extensions
};
// The project of a distribution; of a file that none owns, by its path where that tells.
Project find_project(const Inventory &inventory, const Origin &origin, const std::string &distribution);

// How to build the project for `wanted` beside the targets that it `holds`: "build with PYTORCH_ROCM_ARCH='…'", or what to
// do where its build takes no such processor.
std::string build_advice(const Project &project, const std::string &wanted, const std::vector<std::string> &holds,
                         std::string_view verb = "build with ");

// How to get code for the GPU: another build, how to build, what an override would do.
std::string gpu_advice(const Project &project, const Gpu &gpu, const std::vector<std::string> &holds);

// The last of that: "; HSA_OVERRIDE_GFX_VERSION=… makes it pose as …", or empty.
std::string override_advice(const Gpu &gpu, const std::vector<std::string> &holds);

// What to do about the features that `cpu` is `lacking`: another package or version, how to rebuild, the CPU type of a virtual
// machine that hides some. `gate`: `cpu` is what --max-cpu allows. `sure`: code that needs them was found to run unguarded;
// without, only what costs nothing to know is said, perhaps nothing.
std::string cpu_advice(std::string_view distribution, std::string_view version, const Cpu &cpu, const IsaSet &lacking,
                       bool gate, bool sure);

} // namespace isa_audit
