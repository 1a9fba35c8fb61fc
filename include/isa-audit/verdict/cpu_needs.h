// What a distribution asks of a CPU, put together over its files: what people ask maintainers for.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "isa-audit/verdict/inventory.h"

namespace isa_audit {

struct CpuNeeds {
  IsaSet import;            // to load its files and to import its modules
  IsaSet all;               // and to call every function: code for which no run-time check was found counts
  IsaSet exploits;          // beyond `all`: used where a run-time check finds it
  uint64_t files = 0;       // with x86-64 code
  bool guards_known = true; // false: some file's run-time checks were not analysed, so that `all` may be too much

  // The least CPU in the grammar of --cpu: "x86-64-v2", "x86-64-v3+aes+pclmul". `best`: that leaves nothing unused.
  std::string import_cpu() const { return describe_isa(import); }
  std::string all_cpu() const { return describe_isa(all); }
  std::string best_cpu() const { return describe_isa(all | exploits); }
};

// Of files together. A note in one that it needs a level (GNU property) counts as needed to load it: glibc refuses the file
// below it.
CpuNeeds cpu_needs(std::span<const HostCode *const> files);

// By input and distribution; under an empty name what no distribution owns. Those without x86-64 code are left out.
std::map<std::pair<uint32_t, std::string>, CpuNeeds> cpu_needs(const Inventory &inventory);

} // namespace isa_audit
