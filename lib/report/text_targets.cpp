// The matrix of gfx targets: a row for each file or kernel folder while they are few, else for each distribution; a column for
// each target that is there or asked for. A cell counts device images of a file, or files of a distribution.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "isa-audit/verdict/target_order.h"
#include "kernel_rows.h"
#include "text_parts.h"

namespace isa_audit {
namespace {

constexpr size_t kUnitRows = 10;
constexpr size_t kDistributionRows = 20;

struct Count {
  uint64_t have = 0, of = 0;
  bool bare = false; // the files of a set: how many there are of others says nothing
};

// A target as a column: held under this very name, or, if nobody holds it, served by whatever is held.
struct TargetColumn {
  std::string name;
  std::optional<TargetId> gpu;
};

bool holds(const std::vector<CodeObject> &objects, const std::string &target) {
  return std::ranges::any_of(objects, [&](const CodeObject &o) { return is_loadable(o) && o.target.text() == target; });
}

Count count_file(const DeviceCode &device, const TargetColumn &column) {
  Count out;
  for (const DeviceImage &image : device.images) {
    if (!is_judged(image)) continue;
    ++out.of;
    out.have += column.gpu ? is_served(best_match(image, *column.gpu)) : holds(image.code_objects, column.name);
  }
  if (!std::ranges::any_of(device.loose, is_loadable)) return out;
  ++out.of;
  auto serves = [&](const CodeObject &o) { return is_served(compatible(o, *column.gpu)); };
  out.have += column.gpu ? std::ranges::any_of(device.loose, serves) : holds(device.loose, column.name);
  return out;
}

// Of a set: the files that have the target, out of all.
Count count_unit(const DeviceUnit &unit, const TargetColumn &column) {
  if (!unit.set) return count_file(*unit.files.front()->device, column);
  Count out{0, unit.files.size(), true};
  for (const Binary *file : unit.files) {
    Count c = count_file(*file->device, column);
    out.have += c.have == c.of;
  }
  return out;
}

bool is_whole(const DeviceUnit &unit, const Count &count) { return unit.set ? count.have > 0 : count.have == count.of; }

std::vector<TargetColumn> make_columns(const TextContext &context) {
  std::map<std::string, std::optional<TargetId>, TargetOrder> columns;
  for (const DeviceUnit &unit : context.units)
    if (!unit.side_car)
      for (std::string &target : unit_targets(unit)) columns[std::move(target)];
  for (const Machine &machine : context.report.machines)
    for (const Gpu &gpu : machine.gpus)
      if (machine.judge_gpus) columns.try_emplace(gpu.loader_target().processor, gpu.loader_target());
  for (const TargetId &target : context.report.policy.required) columns.try_emplace(target.text(), gpus_of(target).front());
  std::vector<TargetColumn> out;
  out.reserve(columns.size());
  for (auto &[name, gpu] : columns) out.push_back({name, gpu});
  return out;
}

struct Matrix {
  std::vector<std::string> labels;
  std::vector<std::vector<Count>> cells; // row, column
  void add(std::string label, std::vector<Count> row) {
    labels.push_back(std::move(label));
    cells.push_back(std::move(row));
  }
};

std::string cell_text(const Count &c) {
  std::string have = c.have ? std::to_string(c.have) : "-";
  return c.bare ? have : fmt::format("{}/{}", have, c.of);
}

// As many columns side by side as fit, then the next ones below.
std::string print(const TextContext &context, const Matrix &matrix, const std::vector<TargetColumn> &columns) {
  std::string out;
  constexpr size_t kLabel = 30;
  for (size_t first = 0; first < columns.size();) {
    std::vector<Column> heads{{first ? "" : "gfx targets", Column::Align::left, Column::Cut::path, 16}};
    size_t used = kLabel, last = first;
    for (; last < columns.size(); ++last) {
      std::string name = escaped(columns[last].name);
      size_t width = name.size();
      for (const auto &row : matrix.cells) width = std::max(width, cell_text(row[last]).size());
      if (context.width() && last > first && used + 2 + width > context.width()) break;
      used += 2 + width;
      heads.push_back({std::move(name), Column::Align::right});
    }
    Table table(std::move(heads));
    for (size_t row = 0; row < matrix.labels.size(); ++row) {
      std::vector<std::string> cells{matrix.labels[row]};
      for (size_t c = first; c < last; ++c) cells.push_back(cell_text(matrix.cells[row][c]));
      table.add(std::move(cells));
    }
    out += table.text(context.width(), context.style.color);
    first = last;
  }
  return out;
}

// Code that the matrix leaves out.
std::string others_text(const TextContext &context) {
  std::set<std::string, TargetOrder> foreign;
  size_t foreign_files = 0, internal = 0, relocatable = 0, external = 0;
  for (const Binary &binary : context.inventory.binaries) {
    if (!binary.device) continue;
    internal += binary.device->runtime_internal && !binary.device->empty();
    external += binary.device->external.has_value();
    bool any_foreign = false, any_amd = false, any_loadable = false;
    for_each_object(*binary.device, [&](const CodeObject &o) {
      if (o.target.vendor != Vendor::amd) foreign.insert(o.target.text());
      any_foreign |= o.target.vendor != Vendor::amd;
      any_amd |= o.target.vendor == Vendor::amd;
      any_loadable |= is_loadable(o);
    });
    for (const DeviceImage &image : binary.device->nvidia)
      for (const CodeObject &o : image.code_objects) {
        foreign.insert(o.target.text());
        any_foreign = true;
      }
    foreign_files += any_foreign;
    relocatable += any_amd && !any_loadable;
  }
  std::string out;
  auto tell = [&](const std::string &text) { out += wrapped(text, context.width(), ""); };
  if (foreign_files)
    tell(fmt::format("for NVIDIA GPUs: {} in {}", escaped(join_targets({foreign.begin(), foreign.end()}, 20)),
                     counted_text(foreign_files, "file")));
  if (internal)
    tell(fmt::format("the ROCm runtime's own device code, which serves no package: {}", counted_text(internal, "file")));
  if (relocatable)
    tell(fmt::format("relocatable device code or bitcode, which nothing loads before it is linked: {}",
                     counted_text(relocatable, "file")));
  if (external) tell(fmt::format("device code kept in kpack archives: {}", counted_text(external, "file")));
  return out;
}

// What the cells count.
std::string legend(const TextContext &context, bool by_unit) {
  const bool sets = std::ranges::any_of(context.units, &DeviceUnit::set);
  const bool files = std::ranges::any_of(context.units, [](const DeviceUnit &unit) { return !unit.set; });
  std::string out;
  if (by_unit && files) out = "1/2: of the file's two device images, one has code for the target";
  if (by_unit && sets) out += std::string(out.empty() ? "" : "; ") + "(files): kernel files for it";
  if (!by_unit) out = "1/2: of two files with device code, one has the target in all of its device images";
  return wrapped(out, context.width(), "");
}

std::string unit_label(const TextContext &context, const DeviceUnit &unit) {
  return context.path(unit.origin) + (unit.set ? " (files)" : "");
}

} // namespace

std::string targets_text(const TextContext &context) {
  if (std::ranges::all_of(context.units, &DeviceUnit::side_car)) return others_text(context);
  std::vector<TargetColumn> columns = make_columns(context);
  std::map<std::pair<uint32_t, std::string>, std::vector<Count>> groups;
  auto rows = static_cast<uint64_t>(std::ranges::count(context.units, false, &DeviceUnit::side_car));
  std::vector<Count> all(columns.size(), Count{0, rows, false});
  Matrix units, distributions;
  for (const DeviceUnit &unit : context.units) {
    if (unit.side_car) continue; // told with their libraries
    std::vector<Count> row;
    std::vector<Count> &group = groups[{unit.origin.input, unit.distribution}];
    group.resize(columns.size());
    for (size_t c = 0; c < columns.size(); ++c) {
      row.push_back(count_unit(unit, columns[c]));
      ++group[c].of;
      group[c].have += is_whole(unit, row[c]);
      all[c].have += is_whole(unit, row[c]);
    }
    units.add(unit_label(context, unit), std::move(row));
  }
  for (const auto &[key, row] : groups)
    distributions.add(key.second.empty() ? context.input(key.first) : escaped(key.second), row);
  bool by_unit = rows <= kUnitRows || context.style.all;
  Matrix &shown = by_unit ? units : distributions;
  size_t left = 0;
  if (!context.style.all && shown.labels.size() > kDistributionRows) {
    left = shown.labels.size() - kDistributionRows;
    shown.labels.resize(kDistributionRows);
    shown.cells.resize(kDistributionRows);
  }
  if (rows > 1 && (by_unit || groups.size() > 1)) shown.add("files (all images)", all);
  std::string out = print(context, shown, columns);
  if (left) out += more_text(left, "");
  return out + legend(context, by_unit) + others_text(context);
}

namespace {

// Unknown where a code object has no metadata: its kernels are known by their symbols.
void add_rows(Table &table, const std::string &name, const KernelUses &uses) {
  for (const auto &[target, details] : uses) {
    if (details.empty()) table.add({escaped(target), "-", "-", "-", "-", "-", "-", "-", name});
    for (const KernelDetails &d : details)
      table.add({escaped(target), std::to_string(d.wavefront), std::to_string(d.vgprs), std::to_string(d.agprs),
                 std::to_string(d.sgprs), std::to_string(d.lds), std::to_string(d.scratch),
                 std::to_string(uint64_t{d.vgpr_spills} + d.sgpr_spills), name});
  }
}

} // namespace

std::string kernels_text(const TextContext &context) {
  std::string out;
  for (const Binary &binary : context.inventory.binaries) {
    if (!binary.device || binary.device->empty()) continue;
    KernelRows kernels = kernel_rows(*binary.device);
    out += fmt::format("{}: {}\n", context.path(binary.origin), counted_text(kernels.size(), "kernel"));
    std::vector<Column> columns;
    columns.push_back({"target"});
    for (const char *number : {"wave", "vgprs", "agprs", "sgprs", "lds", "scratch", "spills"})
      columns.push_back({number, Column::Align::right});
    columns.push_back({"kernel", Column::Align::left, Column::Cut::end});
    Table table(std::move(columns));
    for (const auto &[symbol, uses] : kernels) add_rows(table, escaped(demangled_kernel(symbol)), uses);
    if (table.rows()) out += table.text(context.width(), context.style.color);
  }
  return out;
}

} // namespace isa_audit
