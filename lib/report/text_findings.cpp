// Findings with the same meaning (rule, machine, message) stand together: their rows, then once what follows from them.
#include <algorithm>

#include <fmt/format.h>

#include "text_parts.h"

namespace isa_audit {
namespace {

constexpr size_t kRowsOfOne = 8; // rows of one bucket
constexpr size_t kBuckets = 20;
constexpr size_t kFixes = 2; // of one bucket

// How many of `count` to show: a terminal gets the first `most`, a pipe may be searched for any.
size_t limit(const TextContext &context, size_t count, size_t most) {
  return context.style.all || context.width() == 0 ? count : std::min(count, most);
}

struct Bucket {
  std::vector<const Finding *> findings;
};

std::vector<Bucket> buckets(const TextContext &context) {
  std::vector<Bucket> out;
  bool notes = context.style.verbose;
  for (const Finding &f : context.report.judgement.findings) {
    if (f.level == Level::note && !notes) continue;
    if (told_by_problems(context, f)) continue;
    auto same = [&](const Bucket &b) {
      const Finding &o = *b.findings.front();
      return o.level == f.level && o.rule == f.rule && o.machine == f.machine && o.message == f.message;
    };
    // Findings are sorted by level and rule: only the buckets of this rule, at the end, can match.
    auto at =
        std::find_if(out.rbegin(), out.rend(), [&](const Bucket &b) { return same(b) || b.findings.front()->rule != f.rule; });
    if (at != out.rend() && same(*at))
      at->findings.push_back(&f);
    else
      out.push_back({{&f}});
  }
  return out;
}

// What the file was held against.
std::string machine_cell(const TextContext &context, const Finding &f) {
  std::string prefix = f.machine >= 0 && context.report.machines.size() > 1 ? fmt::format("{}: ", f.machine) : "";
  if (!f.strength.empty()) {
    if (f.machine < 0) return context.report.policy.max_cpu ? escaped(context.report.policy.max_cpu->name) : "";
    const Machine &machine = context.report.machines[static_cast<size_t>(f.machine)];
    return prefix + (machine.cpu ? escaped(machine.cpu->name) : "");
  }
  return prefix + escaped(f.subject);
}

std::string file_cell(const TextContext &context, const Finding &f) {
  return f.origin.path.empty() && f.machine >= 0 ? "" : context.path(f.origin);
}

std::string holds_cell(const Finding &f, bool gate_rows) {
  return gate_rows && f.rule == "required-target-missing" ? fmt::format("holds {}", escaped(f.holds)) : escaped(f.holds);
}

std::string meaning(const TextContext &context, const Bucket &bucket, std::string_view lead) {
  std::string out = wrapped(escaped(bucket.findings.front()->message), context.width(), lead, 2);
  std::vector<std::string_view> fixes; // of each distribution its own
  for (const Finding *f : bucket.findings)
    if (!f->fix.empty() && std::ranges::find(fixes, f->fix) == fixes.end()) fixes.push_back(f->fix);
  size_t shown = limit(context, fixes.size(), kFixes);
  for (size_t i = 0; i < shown; ++i) {
    std::string fix = wrapped(escaped(fixes[i]), context.width(), "  fix  ");
    out += fmt::format("  {}{}", painted("fix", Colour::green, context.style.color), fix.substr(5));
  }
  return shown < fixes.size() ? out + more_text(fixes.size() - shown, "       ") : out;
}

using enum Column::Cut;

// Level, rule and machine once, then the files: for terminals that are too narrow for a table.
std::string block(const TextContext &context, const Bucket &bucket, size_t rows) {
  const Finding &first = *bucket.findings.front();
  std::string level = level_name(first.level), machine = machine_cell(context, first);
  std::string out = painted(level, level_colour(first.level), context.style.color);
  out.append(9 - level.size(), ' ');
  out += first.rule + (machine.empty() ? "\n" : fmt::format("  {}\n", machine));
  Table files({{"", Column::Align::left, never}, {"", Column::Align::left, path, 24}, {"", Column::Align::left, end, 20}});
  for (size_t k = 0; k < rows; ++k)
    files.add({"", file_cell(context, *bucket.findings[k]), escaped(bucket.findings[k]->holds)});
  for (const std::string &line : files.lines(context.width(), false))
    if (line.size() > 1) out += line;
  return out;
}

std::string print(const TextContext &context, const std::vector<Bucket> &list, size_t shown, bool gate_rows) {
  Table table({{"LEVEL"},
               {"RULE"},
               {"FILE", Column::Align::left, path, 20},
               {gate_rows ? "GATE" : "MACHINE"},
               {"FILE HOLDS", Column::Align::left, end, 14}});
  auto rows_of = [&](const Bucket &bucket) { return limit(context, bucket.findings.size(), kRowsOfOne); };
  for (size_t i = 0; i < shown; ++i)
    for (size_t k = 0; k < rows_of(list[i]); ++k) {
      const Finding &f = *list[i].findings[k];
      table.add({level_name(f.level), f.rule, file_cell(context, f), machine_cell(context, f), holds_cell(f, gate_rows)},
                level_colour(f.level));
    }
  const bool blocks = !table.fits(context.width());
  std::string out = blocks ? "" : table.header(context.width(), context.style.color), meanings;
  std::vector<std::string> lines = table.lines(context.width(), context.style.color);
  size_t line = 0;
  for (size_t i = 0; i < shown; ++i) {
    const Bucket &bucket = list[i];
    const Finding &f = *bucket.findings.front();
    size_t rows = rows_of(bucket);
    if (blocks)
      out += block(context, bucket, rows);
    else
      for (size_t k = 0; k < rows; ++k) out += lines[line++];
    if (rows < bucket.findings.size()) out += more_text(bucket.findings.size() - rows, "  ");
    if (gate_rows && !blocks)
      meanings += fmt::format("\n{}", meaning(context, bucket, f.rule + ": "));
    else
      out += meaning(context, bucket, "  ");
  }
  return out + meanings;
}

} // namespace

std::string findings_text(const TextContext &context) {
  std::vector<Bucket> list = buckets(context);
  if (list.empty()) return "";
  size_t shown = limit(context, list.size(), kBuckets), left = 0;
  for (size_t i = shown; i < list.size(); ++i) left += list[i].findings.size();
  // Gates alone: a log is searched for rows, so they come without anything between them.
  std::string out = print(context, list, shown, context.gates && !context.machines);
  return left ? out + more_text(left, "") : out;
}

} // namespace isa_audit
