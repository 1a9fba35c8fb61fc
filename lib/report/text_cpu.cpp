// x86-64 extensions beyond the baseline: in how many files, whether the CPU has them, how the first use that matters most is
// reached, and where it is. Extensions that the CPU has are only counted, unless all is asked for.
#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "escape.h"
#include "text_parts.h"

namespace isa_audit {
namespace {

// 2 … 4, or 5 for an extension that no level holds; 0 for the baseline.
int level_of(Feature feature) {
  for (int level = 1; level <= 4; ++level)
    if (psabi_level(level).contains(feature)) return level == 1 ? 0 : level;
  return 5;
}

constexpr size_t kLongestName = 80; // columns of a function: C++ has names longer than any line

struct Use {
  uint64_t files = 0;
  const Binary *first = nullptr;
  const Evidence *evidence = nullptr;
};

std::vector<Use> collect(const TextContext &context, uint64_t &files, bool &guards_known) {
  std::vector<Use> uses(kFeatureCount);
  for (const Binary &binary : context.inventory.binaries) {
    if (!binary.host) continue;
    ++files;
    guards_known &= binary.host->guards_analysed;
    for (Feature feature : binary.host->used.list()) ++uses[static_cast<size_t>(feature)].files;
    for (const Evidence &e : binary.host->evidence) {
      Use &use = uses[static_cast<size_t>(e.feature)];
      if (!use.evidence || e.strength < use.evidence->strength) {
        use.first = &binary;
        use.evidence = &e;
      }
    }
  }
  return uses;
}

const Cpu *only_cpu(const TextContext &context) {
  const auto &machines = context.report.machines;
  return machines.size() == 1 && machines[0].cpu ? &*machines[0].cpu : nullptr;
}

// Some CPU that is judged lacks it.
bool is_lacking(const TextContext &context, Feature feature) {
  return std::ranges::any_of(context.report.machines,
                             [&](const Machine &m) { return m.cpu && !m.cpu->features.contains(feature); });
}

std::vector<Feature> ordered(const IsaSet &set) {
  std::vector<Feature> out = set.list();
  std::ranges::sort(out, {}, [](Feature f) { return std::pair(level_of(f), feature_name(f)); });
  return out;
}

// Without an analysis of guards nothing is known of how code is reached.
std::string reached_text(const HostCode &host, const Evidence &evidence) {
  return host.guards_analysed || evidence.strength < Strength::unguarded ? strength_name(evidence.strength) : "?";
}

struct CpuRow {
  Feature feature;
  Use use;
};

std::string function_name(const Evidence &evidence) {
  std::string name = escaped(evidence.symbol);
  if (columns(name) <= kLongestName) return name;
  size_t at = kLongestName - 1;
  while ((static_cast<unsigned char>(name[at]) & 0xc0) == 0x80) --at;
  return name.substr(0, at) + "…";
}

// Files in the order of their first row.
void group_by_file(std::vector<CpuRow> &rows) {
  std::map<const Binary *, size_t> order;
  for (const CpuRow &row : rows) order.try_emplace(row.use.first, order.size());
  std::ranges::stable_sort(rows, {}, [&](const CpuRow &row) { return order.at(row.use.first); });
}

// `paths`: the file of the first use in a column; otherwise it stands on a line of its own where it changes.
std::string print(const TextContext &context, std::vector<CpuRow> rows, uint64_t files, const Cpu *cpu, bool paths) {
  if (!paths) group_by_file(rows);
  using enum Column::Cut;
  std::vector<Column> columns{{"x86-64"}, {"LEVEL"}, {"FILES", Column::Align::right}};
  if (cpu) columns.push_back({escaped(cpu->name.empty() ? "CPU" : cpu->name)});
  columns.push_back({"REACHED"});
  columns.push_back({"ADDRESS"});
  columns.push_back({"INSTRUCTION", Column::Align::left, end, 12});
  if (paths) columns.push_back({"FIRST IN"});
  columns.push_back({"FUNCTION", Column::Align::left, end, 8}); // may be longer than all the others
  Table table(std::move(columns));
  for (const CpuRow &row : rows) {
    int level = level_of(row.feature);
    bool lacking = cpu && !cpu->features.contains(row.feature);
    std::vector<std::string> cells{std::string(feature_name(row.feature)), level == 5 ? "-" : fmt::format("v{}", level),
                                   fmt::format("{}/{}", row.use.files, files)};
    if (cpu) cells.emplace_back(lacking ? "NO" : "yes");
    const Evidence *e = row.use.evidence;
    cells.push_back(e ? reached_text(*row.use.first->host, *e) : "");
    cells.push_back(e ? fmt::format("{:#x}", e->address) : "");
    cells.push_back(e ? escaped(e->instruction) : "");
    if (paths) cells.push_back(e ? context.path(row.use.first->origin) : "");
    cells.push_back(e ? function_name(*e) : "");
    table.add(std::move(cells), lacking ? Colour::yellow : Colour::none);
  }
  if (paths && !table.fits(context.width())) return print(context, rows, files, cpu, false);
  if (paths) return table.text(context.width(), context.style.color);
  std::string out = table.header(context.width(), context.style.color);
  std::vector<std::string> lines = table.lines(context.width(), context.style.color);
  const Binary *last = nullptr;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].use.first && rows[i].use.first != last)
      out += fmt::format("first in {}:\n", context.path(rows[i].use.first->origin));
    last = rows[i].use.first;
    out += lines[i];
  }
  return out;
}

// What the words of the column mean, as far as they occur.
std::string legend(const TextContext &context, const std::vector<CpuRow> &rows) {
  constexpr std::pair<const char *, const char *> kMeanings[] = {
      {"load", "run when the file is loaded"}, {"import", "run when the module is imported"},
      {"call", "run by a Python function"},    {"unguarded", "no run-time check was found"},
      {"guarded", "behind a run-time check"},  {"unreached", "no way to it was found"},
      {"?", "may be guarded or not"},
  };
  std::string out;
  for (const auto &[word, meaning] : kMeanings)
    if (std::ranges::any_of(rows, [&, word = word](const CpuRow &row) {
          return row.use.evidence && reached_text(*row.use.first->host, *row.use.evidence) == word;
        }))
      out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", word, meaning);
  return out.empty() ? "" : wrapped(out, context.width(), "");
}

// What of the rows is shown: everything on request and where nothing is judged, else what a CPU lacks and may run into.
bool is_shown(const TextContext &context, const CpuRow &row) {
  if (context.style.verbose || context.style.all || !(context.machines || context.gates)) return true;
  bool harmless = row.use.evidence && row.use.evidence->strength >= Strength::guarded && row.use.first->host->guards_analysed;
  return is_lacking(context, row.feature) && !harmless;
}

} // namespace

std::string cpu_text(const TextContext &context) {
  uint64_t files = 0;
  bool guards_known = true;
  std::vector<Use> uses = collect(context, files, guards_known);
  IsaSet used;
  for (size_t i = 0; i < uses.size(); ++i)
    if (uses[i].files) used.insert(static_cast<Feature>(i));
  std::vector<CpuRow> rows, shown;
  for (Feature feature : ordered(used))
    if (level_of(feature) != 0) rows.push_back({feature, uses[static_cast<size_t>(feature)]});
  if (rows.empty()) return files ? fmt::format("{} with nothing beyond x86-64-v1\n", counted_text(files, "x86-64 file")) : "";
  std::ranges::copy_if(rows, std::back_inserter(shown), [&](const CpuRow &row) { return is_shown(context, row); });
  if (shown.empty()) {
    std::string text =
        fmt::format("{} with code up to {}, guarded or not", counted_text(files, "x86-64 file"), short_isa_text(used));
    return wrapped(text + " (-v lists the extensions)", context.width(), "");
  }
  std::string out = print(context, shown, files, only_cpu(context), true) + legend(context, shown);
  if (shown.size() < rows.size()) {
    const size_t left = rows.size() - shown.size();
    out += wrapped(fmt::format("not shown without -v: {} that the CPU has or that {} behind a run-time check",
                               counted_text(left, "extension"), left == 1 ? "is" : "are"),
                   context.width(), "");
  }
  if (!guards_known)
    out +=
        wrapped("Code behind a run-time check of the CPU is not told apart: what is listed here may be guarded and never run "
                "on a CPU that lacks it.",
                context.width());
  return out;
}

} // namespace isa_audit
