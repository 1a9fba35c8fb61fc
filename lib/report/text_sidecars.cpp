// The kernel folders of ROCm's libraries: a row for each, a column for each target, files in the cells.
#include <set>

#include <fmt/format.h>

#include "escape.h"
#include "isa-audit/verdict/side_cars.h"
#include "text_parts.h"

namespace isa_audit {

std::string sidecars_text(const TextContext &context) {
  std::vector<SideCar> cars = side_cars(context.inventory);
  if (cars.empty()) return "";
  std::set<std::string, TargetOrder> targets;
  for (const SideCar &car : cars)
    for (const auto &[target, files] : car.targets) targets.insert(target);
  std::string out;
  constexpr size_t kLabel = 34;
  // As many columns side by side as fit, then the next ones below.
  for (auto first = targets.begin(); first != targets.end() || out.empty();) {
    std::vector<Column> heads{{out.empty() ? "kernel libraries (files)" : "", Column::Align::left, Column::Cut::path, 24}};
    auto last = first;
    for (size_t used = kLabel; last != targets.end(); ++last) {
      std::string name = escaped(*last);
      if (context.width() && last != first && used + 2 + name.size() > context.width()) break;
      used += 2 + name.size();
      heads.push_back({std::move(name), Column::Align::right});
    }
    Table table(std::move(heads));
    for (const SideCar &car : cars) {
      std::vector<std::string> cells{fmt::format("{}: {}", side_library_title(car.library), context.path(car.origin))};
      for (auto target = first; target != last; ++target) {
        auto at = car.targets.find(*target);
        cells.push_back(at == car.targets.end() ? "-" : std::to_string(at->second));
      }
      table.add(std::move(cells));
    }
    out += table.text(context.width(), context.style.color);
    first = last;
  }
  return out;
}

} // namespace isa_audit
