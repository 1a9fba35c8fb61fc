// The text report: what is judged, a verdict for each distribution or input, the findings with their consequence and fix, what
// was found, what could not be read, and totals. Gates alone are for logs: rows first, then what they mean.
#include <algorithm>
#include <map>

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

// Inputs that a gate turned down, and those that it has no answer for.
struct GateCount {
  size_t rejected = 0, open = 0;
};

GateCount count_gate(const TextContext &context) {
  enum class State : uint8_t { passes, open, rejected };
  std::vector<State> states(context.inventory.inputs.size(), State::passes);
  for (uint32_t i = 0; i < states.size(); ++i)
    if (!context.is_audited(i)) states[i] = State::open;
  for (const Problem &problem : context.inventory.problems)
    if (problem.level == Level::error && problem.origin.input < states.size()) states[problem.origin.input] = State::open;
  Level least = context.report.policy.fail_on == FailOn::warning ? Level::warning : Level::error;
  for (const Finding &finding : context.report.judgement.findings)
    if (finding.machine < 0 && finding.level >= least && !told_by_problems(context, finding) &&
        finding.origin.input < states.size())
      states[finding.origin.input] = State::rejected;
  return {static_cast<size_t>(std::ranges::count(states, State::rejected)),
          static_cast<size_t>(std::ranges::count(states, State::open))};
}

std::string gate_text(const TextContext &context) {
  const auto &inputs = context.inventory.inputs;
  bool wheels = std::ranges::all_of(inputs, [](const Input &input) { return input.kind == "wheel"; });
  std::string all = counted_text(inputs.size(), wheels ? "wheel" : "input");
  GateCount count = count_gate(context);
  // Whatever else ends the run without an answer is no pass either.
  if (context.report.judgement.exit_code == 2 && !count.rejected) count.open = std::max<size_t>(count.open, 1);
  if (!count.rejected && !count.open) return fmt::format("{} {}", all, inputs.size() == 1 ? "passes" : "pass");
  std::string out = count.rejected ? fmt::format("{} of {} rejected", count.rejected, all) : "";
  if (!count.open) return out;
  return out.empty() ? fmt::format("{} of {} not judged", count.open, all) : fmt::format("{}, {} not judged", out, count.open);
}

std::string counts_text(const TextContext &context) {
  uint64_t counts[3] = {};
  for (const Finding &finding : context.report.judgement.findings)
    if (!told_by_problems(context, finding)) ++counts[static_cast<size_t>(finding.level)];
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
      gates(!report.policy.required.empty() || report.policy.max_cpu), machines(false), audited_(inventory.inputs.size()),
      ambiguous_(inventory.inputs.size()) {
  for (const Machine &machine : report.machines) machines |= machine.judge_gpus || machine.judge_cpu || machine.cpu;
  for (const Binary &binary : inventory.binaries)
    if (binary.origin.input < audited_.size()) audited_[binary.origin.input] = true;
  for (const Distribution &distribution : inventory.distributions)
    if (distribution.input < audited_.size()) audited_[distribution.input] = true;
  for (const SideFile &file : inventory.side_files)
    if (file.origin.input < audited_.size()) audited_[file.origin.input] = true;
  std::map<std::string_view, size_t> names;
  for (const Input &input : inventory.inputs) ++names[input.path];
  for (size_t i = 0; i < ambiguous_.size(); ++i) ambiguous_[i] = names[inventory.inputs[i].path] > 1;
}

std::string TextContext::input(uint32_t index) const {
  if (index >= inventory.inputs.size()) return "";
  return ambiguous_[index] ? given(index) : escaped(inventory.inputs[index].path);
}

std::string TextContext::given(uint32_t index) const {
  if (index >= inventory.inputs.size()) return "";
  const Input &input = inventory.inputs[index];
  return escaped(input.given.empty() ? input.path : input.given);
}

const Problem *TextContext::why_unaudited(uint32_t index) const {
  const Problem *out = nullptr;
  for (const Problem &problem : inventory.problems)
    if (problem.origin.input == index && (!out || problem.level > out->level)) out = &problem;
  return out;
}

std::string TextContext::problem_place(const Origin &origin) const {
  if (origin.input >= inventory.inputs.size()) return path(origin);
  const Input &input = inventory.inputs[origin.input];
  bool whole = origin.path.empty() || (input.kind != "directory" && file_name(input.path) == origin.path);
  std::string out = whole && !is_audited(origin.input) ? given(origin.input) : path(origin);
  return origin.place.empty() ? out : fmt::format("{}:{}", out, escaped(origin.place));
}

std::string TextContext::path(const Origin &origin) const {
  // A folder given as input that is a set of kernel files itself.
  if (origin.path.empty() || origin.path == ".") return input(origin.input);
  std::string inside = escaped(origin.path);
  if (inventory.inputs.size() < 2 || origin.input >= inventory.inputs.size()) return inside;
  const Input &in = inventory.inputs[origin.input];
  if (in.kind == "directory" || in.kind == "distribution")
    return in.path == "." ? inside : fmt::format("{}/{}", input(origin.input), inside);
  if (file_name(in.path) == origin.path) return input(origin.input);
  return fmt::format("{}!{}", input(origin.input), inside);
}

bool told_by_problems(const TextContext &context, const Finding &finding) {
  return finding.rule == "input-incomplete" && !context.report.policy.levels.contains(finding.rule);
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

bool has_headlines(const TextContext &context) { return !context.style.quiet && (!context.gates || context.machines); }

std::string problems_text(const TextContext &context) {
  std::string out;
  std::vector<const Problem *> problems;
  const bool headlines = has_headlines(context);
  for (const Problem &p : context.inventory.problems) {
    bool told = headlines && !context.is_audited(p.origin.input) && context.why_unaudited(p.origin.input) == &p;
    if (!told) problems.push_back(&p);
  }
  size_t shown = context.style.all ? problems.size() : std::min(problems.size(), kProblems);
  for (size_t i = 0; i < shown; ++i) {
    const Problem &p = *problems[i];
    std::string lead = fmt::format("problem  {:<7}  ", level_name(p.level));
    std::string line = wrapped(context.problem_place(p.origin) + ": " + escaped(p.message), context.width(), lead);
    out += painted(line.substr(0, lead.size()), level_colour(p.level), context.style.color) + line.substr(lead.size());
  }
  if (shown < problems.size()) out += more_text(problems.size() - shown, "");
  return out;
}

std::string totals_text(const TextContext &context) {
  const size_t problems = context.inventory.problems.size();
  if (context.nothing_audited()) {
    std::string counts = problems ? fmt::format(" ({})", counted_text(problems, "problem")) : "";
    bool unread = std::ranges::any_of(context.inventory.problems, [](const Problem &p) { return p.level == Level::error; });
    std::string text = unread ? "nothing could be audited" : "nothing to audit: no ELF file, code object or archive was found";
    return wrapped(text + counts, context.width(), "");
  }
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
  if (!style.quiet) sections.push_back(machines_text(context));
  if (has_headlines(context)) sections.push_back(headlines_text(context));
  sections.push_back(findings_text(context));
  if (inventory)
    sections.insert(sections.end(), {targets_text(context), sidecars_text(context), cpu_text(context), needs_text(context)});
  if (style.all) sections.push_back(files_text(context));
  if (style.kernels) sections.push_back(kernels_text(context));
  sections.push_back(problems_text(context));
  // No run ends with exit code 2 without a word of why.
  bool unexplained = report.judgement.exit_code == 2 && (context.nothing_audited() || context.inventory.problems.empty());
  if (!style.quiet || unexplained) sections.push_back(totals_text(context));
  std::string out;
  for (const std::string &section : sections) {
    if (section.empty()) continue;
    if (!out.empty()) out += '\n';
    out += section;
  }
  return out;
}

} // namespace isa_audit
