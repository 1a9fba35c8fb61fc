// /proc/cpuinfo: blocks of "key<tab>: value" lines, one block a processor, separated by blank lines. Only the first block is
// read: Linux shows the same flags for all processors (those that some lack it clears). The flags are what the kernel lets
// programs use: AVX without XSAVE or without its state in XCR0 is not listed.
//
// Traps: pasted copies have wrapped lines, carriage returns and '-' or "unknown" for numbers. QEMU in user mode passes the
// host's file through, so an x86-64 container on an ARM host shows "Features" instead of "flags".
#include "isa-audit/machine/cpu.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace isa_audit {

namespace {

using llvm::StringRef;

void take_flags(StringRef flags, CpuIdentity &identity) {
  identity.has_fpu = false;
  while (!flags.empty()) {
    StringRef flag;
    std::tie(flag, flags) = flags.split(' ');
    flag = flag.trim();
    if (std::optional<Feature> feature = find_cpuinfo_flag(flag)) identity.features.insert(*feature);
    if (flag == "fpu") identity.has_fpu = true;
    if (flag == "hypervisor") identity.hypervisor_flag = true;
  }
}

} // namespace

llvm::Expected<CpuIdentity> parse_cpuinfo(std::string_view text) {
  CpuIdentity identity;
  bool seen_flags = false, started = false;
  StringRef rest(text);
  while (!rest.empty()) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    line = line.trim();
    if (line.empty() && seen_flags) break;
    auto [key, value] = line.split(':');
    key = key.trim();
    value = value.trim();
    if (key == "processor") {
      if (started) break;
      started = true;
    } else if (key == "vendor_id") {
      identity.vendor = value.str();
    } else if (key == "model name") {
      identity.model_name = value.str();
    } else if (key == "cpu family") {
      if (value.getAsInteger(10, identity.family)) identity.family = 0;
    } else if (key == "model") {
      if (value.getAsInteger(10, identity.model)) identity.model = 0;
    } else if (key == "flags" || (key == "Features" && !seen_flags)) {
      take_flags(value, identity);
      seen_flags = true;
    }
  }
  if (!seen_flags) return make_error("no flags line: not a copy of /proc/cpuinfo of an x86 machine");
  return identity;
}

} // namespace isa_audit
