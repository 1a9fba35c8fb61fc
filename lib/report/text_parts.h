// The sections of the text report, one file each. Every section returns whole lines, or "" when it has nothing to say.
#pragma once

#include <string>
#include <vector>

#include "isa-audit/report/report.h"
#include "isa-audit/verdict/device_units.h"
#include "table.h"

namespace isa_audit {

struct TextContext {
  const Report &report;
  const TextStyle &style;
  const Inventory &inventory;
  std::vector<DeviceUnit> units;
  bool gates;    // --require or --max-cpu
  bool machines; // a GPU or a CPU is judged

  TextContext(const Report &report, const TextStyle &style);

  // The path as a user would write it: led by the input where there are several. Escaped.
  std::string path(const Origin &origin) const;
  std::string input(uint32_t index) const; // escaped
  size_t width() const { return style.width; }
};

std::string machines_text(const TextContext &context);  // what is judged against
std::string headlines_text(const TextContext &context); // a verdict for each distribution or input
std::string findings_text(const TextContext &context);
std::string targets_text(const TextContext &context);  // the matrix of gfx targets
std::string sidecars_text(const TextContext &context); // kernel folders of libraries
std::string kernels_text(const TextContext &context);  // --kernels
std::string cpu_text(const TextContext &context);      // x86 extensions and where they are used first
std::string problems_text(const TextContext &context);
std::string totals_text(const TextContext &context); // the last line

// "1 file", "3 files", "2 entries".
std::string counted_text(uint64_t count, std::string_view noun);
Colour level_colour(Level level);

// What a list ends with when only a part is shown.
std::string more_text(uint64_t count, std::string_view lead);

} // namespace isa_audit
