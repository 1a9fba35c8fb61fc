// The text report: what is judged, a verdict for each distribution or input, the findings with their consequence and fix, what
// was found, what could not be read, and totals. Gates alone are for logs: rows first, then what they mean.
#include <fmt/format.h>

#include "escape.h"
#include "text_parts.h"

namespace isa_audit {
namespace {

constexpr size_t kProblems = 20;

std::string file_name(std::string_view path) {
  size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string size_text(uint64_t bytes) {
  if (bytes < 1024) return counted_text(bytes, "byte");
  double value = static_cast<double>(bytes);
  const char *units[] = {"KiB", "MiB", "GiB"};
  size_t unit = 0;
  for (value /= 1024; value >= 1024 && unit < 2; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

// An input that a gate turned down.
size_t rejected_inputs(const TextContext &context) {
  Level least = context.report.policy.fail_on == FailOn::warning ? Level::warning : Level::error;
  std::vector<bool> rejected(context.inventory.inputs.size());
  for (const Finding &finding : context.report.judgement.findings)
    if (finding.machine < 0 && finding.level >= least && finding.origin.input < rejected.size())
      rejected[finding.origin.input] = true;
  return static_cast<size_t>(std::count(rejected.begin(), rejected.end(), true));
}

std::string gate_text(const TextContext &context) {
  const auto &inputs = context.inventory.inputs;
  bool wheels = std::ranges::all_of(inputs, [](const Input &input) { return input.kind == "wheel"; });
  const char *noun = wheels ? "wheel" : "input";
  size_t rejected = rejected_inputs(context);
  if (rejected == 0) return fmt::format("{} {}", counted_text(inputs.size(), noun), inputs.size() == 1 ? "passes" : "pass");
  return fmt::format("{} of {} rejected", rejected, counted_text(inputs.size(), noun));
}

std::string counts_text(const TextContext &context) {
  uint64_t counts[3] = {};
  for (const Finding &finding : context.report.judgement.findings) ++counts[static_cast<size_t>(finding.level)];
  std::string out;
  auto add = [&](const std::string &text) { out += (out.empty() ? text : fmt::format(", {}", text)); };
  if (counts[2]) add(counted_text(counts[2], "error"));
  if (counts[1]) add(counted_text(counts[1], "warning"));
  if (counts[0])
    add(counted_text(counts[0], "note") + (context.style.verbose || context.style.quiet ? "" : " (-v shows them)"));
  if (!counts[2] && !counts[1]) out = fmt::format("no errors, no warnings{}{}", out.empty() ? "" : ", ", out);
  size_t problems = context.inventory.problems.size();
  if (problems) add(counted_text(problems, "problem"));
  return out;
}

} // namespace

TextContext::TextContext(const Report &report, const TextStyle &style)
    : report(report), style(style), inventory(*report.inventory), units(device_units(*report.inventory)),
      gates(!report.policy.required.empty() || report.policy.max_cpu), machines(false) {
  for (const Machine &machine : report.machines) machines |= machine.judge_gpus || machine.cpu;
}

std::string TextContext::input(uint32_t index) const {
  return index < inventory.inputs.size() ? escaped(inventory.inputs[index].path) : "";
}

std::string TextContext::path(const Origin &origin) const {
  // A folder given as input that is a set of kernel files itself.
  if (origin.path.empty() || origin.path == ".") return input(origin.input);
  std::string inside = escaped(origin.path);
  if (inventory.inputs.size() < 2 || origin.input >= inventory.inputs.size()) return inside;
  const Input &in = inventory.inputs[origin.input];
  if (in.kind == "directory" || in.kind == "distribution")
    return in.path == "." ? inside : fmt::format("{}/{}", escaped(in.path), inside);
  if (file_name(in.path) == origin.path) return escaped(in.path);
  return fmt::format("{}!{}", escaped(in.path), inside);
}

std::string counted_text(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

Colour level_colour(Level level) {
  return level == Level::error ? Colour::red : level == Level::warning ? Colour::yellow : Colour::cyan;
}

std::string more_text(uint64_t count, std::string_view lead) {
  return fmt::format("{}… and {} more, see --all\n", lead, count);
}

std::string problems_text(const TextContext &context) {
  std::string out;
  const Problems &problems = context.inventory.problems;
  size_t shown = context.style.all ? problems.size() : std::min(problems.size(), kProblems);
  for (size_t i = 0; i < shown; ++i) {
    const Problem &p = problems[i];
    std::string where = context.path(p.origin);
    if (!p.origin.place.empty()) where += fmt::format(":{}", escaped(p.origin.place));
    std::string lead = fmt::format("problem  {:<7}  ", level_name(p.level));
    std::string line = wrapped(where + ": " + escaped(p.message), context.width(), lead);
    out += painted(line.substr(0, lead.size()), level_colour(p.level), context.style.color) + line.substr(lead.size());
  }
  if (shown < problems.size()) out += more_text(problems.size() - shown, "");
  return out;
}

std::string totals_text(const TextContext &context) {
  if (context.inventory.binaries.empty() && context.inventory.problems.empty() && context.inventory.distributions.empty() &&
      context.inventory.side_files.empty())
    return "nothing to audit: no ELF file, code object or archive was found\n";
  std::string out = context.gates ? fmt::format("{}: ", gate_text(context)) : "";
  out += fmt::format("{} in {}; {}", counts_text(context),
                     context.inventory.binaries.size() == 1 ? "1 binary"
                                                            : fmt::format("{} binaries", context.inventory.binaries.size()),
                     size_text(context.inventory.bytes));
  if (context.style.seconds >= 0) out += fmt::format(" in {:.1f} s", context.style.seconds);
  return wrapped(out, context.width(), "");
}

std::string write_text(const Report &report, const TextStyle &style) {
  TextContext context(report, style);
  std::vector<std::string> sections;
  bool clean = std::ranges::none_of(report.judgement.findings, [](const Finding &f) { return f.level > Level::note; });
  bool inventory = !style.quiet && (context.machines || !context.gates || clean || style.verbose || style.all);
  if (!style.quiet) sections = {machines_text(context), headlines_text(context)};
  sections.push_back(findings_text(context));
  if (inventory) sections.insert(sections.end(), {targets_text(context), sidecars_text(context), cpu_text(context)});
  if (style.kernels) sections.push_back(kernels_text(context));
  sections.push_back(problems_text(context));
  if (!style.quiet) sections.push_back(totals_text(context));
  std::string out;
  for (const std::string &section : sections) {
    if (section.empty()) continue;
    // The rows of gates and the line that counts them belong together.
    bool joined = context.gates && !context.machines && &section == &sections.back() && !inventory;
    if (!out.empty() && !joined) out += '\n';
    out += section;
  }
  return out;
}

} // namespace isa_audit
