#include "elsewhere.h"

#include <algorithm>
#include <set>

#include "isa-audit/device/processors.h"
#include "isa-audit/verdict/target_order.h"
#include "llvm/ADT/StringExtras.h"

namespace isa_audit {
namespace {

// "librocblas.so.4.2" → "librocblas.so": copies of one library differ in how much of the version their names have.
std::string_view library_name(std::string_view path) {
  if (size_t slash = path.rfind('/'); slash != std::string_view::npos) path.remove_prefix(slash + 1);
  size_t so = path.find(".so.");
  return so == std::string_view::npos ? path : path.substr(0, so + 3);
}

bool is_rocm_library(std::string_view name) {
  return std::ranges::any_of(std::initializer_list<std::string_view>{"libroc", "libhip", "librccl", "libMIOpen", "libmigraphx",
                                                                     "libamdhip", "libhsa", "libaotriton", "libcomposable"},
                             [&](std::string_view start) { return name.starts_with(start); });
}

// gfx1151 → "11.5"; the stepping is the last digit. Empty for generics and names of another form.
std::string isa_version(std::string_view processor) {
  if (!processor.starts_with("gfx") || processor.size() < 6 || processor.find('-') != std::string_view::npos) return "";
  char minor = processor[processor.size() - 2];
  std::string out(processor.substr(3, processor.size() - 5));
  out += ".";
  return out + (minor >= 'a' ? std::to_string(minor - 'a' + 10) : std::string(1, minor));
}

std::string major_of(const std::string &version) { return version.substr(0, version.find('.')); }

} // namespace

Elsewhere::Elsewhere(const Inventory &inventory, const std::vector<DeviceUnit> &units)
    : units_(units), cars_(side_cars(inventory)) {}

const std::vector<const DeviceUnit *> &Elsewhere::serving(const TargetId &gpu) {
  auto [at, is_new] = serving_.try_emplace(gpu);
  if (is_new)
    for (const DeviceUnit &unit : units_)
      if (!unit.set && !unit.of_libraries && cover(unit, {&gpu, 1}, Spirv::counts).complete()) at->second.push_back(&unit);
  return at->second;
}

bool Elsewhere::distribution_serves(const DeviceUnit &unit, const TargetId &gpu) {
  if (unit.distribution.empty()) return false;
  auto same = [&](const auto &other) {
    return other.origin.input == unit.origin.input && other.distribution == unit.distribution;
  };
  return std::ranges::any_of(serving(gpu), [&](const DeviceUnit *other) { return same(*other); }) ||
         std::ranges::any_of(cars_, [&](const SideCar &car) { return same(car) && !car.kernels.empty() && serves(car, gpu); });
}

std::string Elsewhere::text(const DeviceUnit &lacking, const TargetId &gpu) {
  std::string out;
  const std::string &processor = gpu.processor;
  std::string_view name = library_name(lacking.origin.path);
  std::set<std::string> others;
  for (const DeviceUnit *unit : serving(gpu)) {
    if (out.empty() && is_rocm_library(name) && library_name(unit->origin.path) == name)
      out += "; another copy, " + unit->origin.path + ", has " + processor + ": which of the two is loaded decides";
    if (!lacking.distribution.empty() && unit->origin.input == lacking.origin.input && !unit->distribution.empty() &&
        unit->distribution != lacking.distribution)
      others.insert(unit->distribution);
  }
  for (const SideCar &car : cars_) {
    bool other = !car.distribution.empty() && !lacking.distribution.empty() && car.distribution != lacking.distribution;
    if (car.origin.input != lacking.origin.input || other || !serves(car, gpu)) continue;
    out += "; the kernels of " + std::string(side_library_title(car.library)) + " beside it (" + car.origin.path +
           ") do have " + processor;
    break;
  }
  if (!others.empty()) {
    std::vector<std::string> names(others.begin(), others.end());
    // What everything else is built on first.
    std::ranges::stable_partition(names, [](const std::string &n) { return n == "torch"; });
    out += "; " + join_targets(names, 3) + (names.size() == 1 ? " has " : " have ") + processor + " in this environment, " +
           lacking.distribution + " lacks it";
  }
  return out;
}

namespace {

// Whether ISA version `a` ("9.0") is nearer to `wanted` than `b`: by the minor number, the newer one first.
bool is_nearer(const std::string &a, const std::string &b, const std::string &wanted) {
  const auto minor = [](const std::string &version) {
    int number = 0;
    llvm::to_integer(llvm::StringRef(version).split('.').second, number, 10);
    return number;
  };
  const int to_a = std::abs(minor(a) - minor(wanted)), to_b = std::abs(minor(b) - minor(wanted));
  return to_a != to_b ? to_a < to_b : minor(a) >= minor(b);
}

} // namespace

std::string nearest_text(std::string_view processor, const std::vector<std::string> &holds) {
  std::string version = isa_version(processor), best;
  bool best_same = false;
  for (const std::string &text : holds) {
    std::string held = text.substr(0, text.find(':')), other = isa_version(held);
    if (other.empty() || held == processor || major_of(other) != major_of(version)) continue;
    bool same = other == version;
    if (!best.empty() && (best_same || (!same && !is_nearer(other, isa_version(best), version)))) continue;
    best = held;
    best_same = same;
  }
  if (best.empty()) return "";
  return best_same ? "nearest is " + best + ", of the same family (" + version + ") but another processor to the loader"
                   : "nearest is " + best + ", another ISA (" + isa_version(best) + ", not " + version + ")";
}

} // namespace isa_audit
