// The text report.
#include <fmt/format.h>

#include "isa-audit/report/report.h"
#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/target_order.h"

namespace isa_audit {

std::string write_text(const Report &report, const TextStyle &) {
  std::string out = fmt::format("verdict: {}\n", verdict_name(report.judgement.verdict));
  for (const Finding &f : report.judgement.findings) {
    out += fmt::format("{}  {}  {}  {}  {}\n  {}\n", level_name(f.level), f.rule, escaped(f.origin.path), escaped(f.subject),
                       escaped(f.holds), escaped(f.message));
    if (!f.fix.empty()) out += fmt::format("  fix  {}\n", escaped(f.fix));
  }
  for (const DeviceUnit &unit : device_units(*report.inventory))
    out += fmt::format("targets  {}  {}\n", escaped(unit.origin.path), escaped(join_targets(unit_targets(unit))));
  for (const Problem &p : report.inventory->problems)
    out += fmt::format("problem  {}  {}: {}\n", level_name(p.level), escaped(p.origin.text()), escaped(p.message));
  return out + fmt::format("{} binaries, {} bytes\n", report.inventory->binaries.size(), report.inventory->bytes);
}

} // namespace isa_audit
