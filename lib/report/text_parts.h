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
  std::string given(uint32_t index) const; // the same as the user wrote it, escaped

  // A file with code, or a distribution, was found in the input.
  bool is_audited(uint32_t index) const { return index >= audited_.size() || audited_[index]; }
  bool nothing_audited() const {
    return inventory.binaries.empty() && inventory.distributions.empty() && inventory.side_files.empty();
  }
  // Why an input is not audited, as far as a problem tells it: the worst one, nullptr for none.
  const Problem *why_unaudited(uint32_t index) const;
  // The place of a problem: an input itself as the user named it, what is inside by its path there. Escaped.
  std::string problem_place(const Origin &origin) const;
  size_t width() const { return style.width; }

private:
  std::vector<bool> audited_;
  std::vector<bool> ambiguous_; // another input is called the same
};

bool has_headlines(const TextContext &context);
// A finding that says in JSON what the problems say here (input-incomplete, unless the user gave the rule a level).
bool told_by_problems(const TextContext &context, const Finding &finding);

std::string machines_text(const TextContext &context);  // what is judged against
std::string headlines_text(const TextContext &context); // a verdict for each distribution or input
std::string findings_text(const TextContext &context);
std::string targets_text(const TextContext &context);  // the matrix of gfx targets
std::string sidecars_text(const TextContext &context); // kernel folders of libraries
std::string kernels_text(const TextContext &context);  // --kernels
std::string cpu_text(const TextContext &context);      // x86 extensions and where they are used first
std::string needs_text(const TextContext &context);    // the least CPU that each distribution needs
std::string files_text(const TextContext &context);    // --all
std::string problems_text(const TextContext &context);
std::string totals_text(const TextContext &context); // the last line

// "1 file", "3 files", "2 entries".
std::string counted_text(uint64_t count, std::string_view noun);
Colour level_colour(Level level);
// As describe_isa(), with at most a few features behind the level: "x86-64-v2+avx+f16c+fma and 3 more".
std::string short_isa_text(const IsaSet &features);

// What a list ends with when only a part is shown.
std::string more_text(uint64_t count, std::string_view lead);

} // namespace isa_audit
