#include "isa-audit/verdict/cpu_needs.h"

#include <algorithm>

namespace isa_audit {

CpuNeeds cpu_needs(std::span<const HostCode *const> files) {
  CpuNeeds out;
  for (const HostCode *host : files) {
    ++out.files;
    out.guards_known &= host->guards_analysed;
    out.import |= host->at_load | host->at_import;
    for (int level = 1; level <= std::min(host->needed_level, 4); ++level) out.import |= psabi_level(level);
    out.all |= host->unguarded;
    for (const auto &[function, features] : host->at_call) out.all |= features;
    out.exploits |= host->guarded;
  }
  out.all |= out.import;
  out.exploits = out.exploits - out.all - psabi_level(1);
  return out;
}

std::map<std::pair<uint32_t, std::string>, CpuNeeds> cpu_needs(const Inventory &inventory) {
  std::map<std::pair<uint32_t, std::string>, std::vector<const HostCode *>> files;
  for (const Binary &binary : inventory.binaries)
    if (binary.host) files[{binary.origin.input, binary.distribution}].push_back(&*binary.host);
  std::map<std::pair<uint32_t, std::string>, CpuNeeds> out;
  for (const auto &[key, hosts] : files) out.emplace(key, cpu_needs(hosts));
  return out;
}

} // namespace isa_audit
