// Findings with the same meaning (rule, message, fix) stand together: their rows, then once what follows from them.
#include <algorithm>

#include <fmt/format.h>

#include "text_parts.h"

namespace isa_audit {
namespace {

constexpr size_t kRowsOfOne = 8; // rows of one bucket
constexpr size_t kBuckets = 20;

struct Bucket {
  std::vector<const Finding *> findings;
  std::vector<size_t> rows; // of the table
};

std::vector<Bucket> buckets(const TextContext &context) {
  std::vector<Bucket> out;
  bool notes = context.style.verbose;
  for (const Finding &f : context.report.judgement.findings) {
    if (f.level == Level::note && !notes) continue;
    auto same = [&](const Bucket &b) {
      const Finding &o = *b.findings.front();
      return o.level == f.level && o.rule == f.rule && o.message == f.message && o.fix == f.fix;
    };
    // Findings are sorted by level and rule: only the buckets of this rule, at the end, can match.
    auto at =
        std::find_if(out.rbegin(), out.rend(), [&](const Bucket &b) { return same(b) || b.findings.front()->rule != f.rule; });
    if (at != out.rend() && same(*at))
      at->findings.push_back(&f);
    else
      out.push_back({{&f}, {}});
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

std::string holds_cell(const Finding &f, bool gate_rows) {
  return gate_rows && f.rule == "required-target-missing" ? fmt::format("holds {}", escaped(f.holds)) : escaped(f.holds);
}

std::string meaning(const TextContext &context, const Finding &f, std::string_view lead) {
  std::string out = wrapped(escaped(f.message), context.width(), lead);
  if (f.fix.empty()) return out;
  std::string fix = wrapped(escaped(f.fix), context.width(), "  fix  ");
  return fmt::format("{}  {}{}", out, painted("fix", Colour::green, context.style.color), fix.substr(5));
}

} // namespace

std::string findings_text(const TextContext &context) {
  // Gates alone: a log is searched for rows, so they come without anything between them.
  const bool gate_rows = context.gates && !context.machines;
  std::vector<Bucket> list = buckets(context);
  if (list.empty()) return "";
  auto head = [&](const char *text) { return gate_rows ? "" : text; };
  using enum Column::Cut;
  Table table({{head("LEVEL"), Column::Align::left, never},
               {head("RULE"), Column::Align::left, never},
               {head("FILE"), Column::Align::left, start, 20},
               {head("MACHINE"), Column::Align::left, never},
               {head("FILE HOLDS"), Column::Align::left, end, 14}});
  size_t shown = context.style.all ? list.size() : std::min(list.size(), kBuckets);
  for (size_t i = 0; i < shown; ++i) {
    size_t rows = context.style.all ? list[i].findings.size() : std::min(list[i].findings.size(), kRowsOfOne);
    for (size_t k = 0; k < rows; ++k) {
      const Finding &f = *list[i].findings[k];
      list[i].rows.push_back(table.rows());
      table.add({level_name(f.level), f.rule, f.origin.path.empty() && f.machine >= 0 ? "" : context.path(f.origin),
                 machine_cell(context, f), holds_cell(f, gate_rows)},
                level_colour(f.level));
    }
  }
  std::string out = table.header(context.width(), context.style.color), meanings;
  std::vector<std::string> lines = table.lines(context.width(), context.style.color);
  for (size_t i = 0; i < shown; ++i) {
    const Bucket &bucket = list[i];
    for (size_t row : bucket.rows) out += lines[row];
    if (bucket.rows.size() < bucket.findings.size()) out += more_text(bucket.findings.size() - bucket.rows.size(), "  ");
    const Finding &f = *bucket.findings.front();
    if (gate_rows)
      meanings += fmt::format("\n{}", meaning(context, f, f.rule + ": "));
    else
      out += meaning(context, f, "  ");
  }
  if (shown < list.size()) {
    size_t left = 0;
    for (size_t i = shown; i < list.size(); ++i) left += list[i].findings.size();
    out += more_text(left, "");
  }
  return out + meanings;
}

} // namespace isa_audit
