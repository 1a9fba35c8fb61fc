#include "isa-audit/verdict/device_units.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "isa-audit/device/processors.h"
#include "isa-audit/verdict/external_code.h"
#include "isa-audit/verdict/side_cars.h"
#include "isa-audit/verdict/target_order.h"

namespace isa_audit {
namespace {

bool holds_gfx_name(std::string_view name) {
  for (size_t at = name.find("gfx"); at != std::string_view::npos; at = name.find("gfx", at + 1))
    if (at + 3 < name.size() && name[at + 3] >= '0' && name[at + 3] <= '9') return true;
  return false;
}

// The folders before the first one that holds a gfx name; the file's own name is never part.
std::string set_path(std::string_view path) {
  size_t end = 0;
  for (size_t begin = 0;;) {
    size_t slash = path.find('/', begin);
    if (slash == std::string_view::npos || holds_gfx_name(path.substr(begin, slash - begin))) break;
    end = slash;
    begin = slash + 1;
  }
  return end == 0 ? "." : std::string(path.substr(0, end));
}

// "cache" of "cache/<hash>/kernel.hsaco".
std::string triton_path(std::string_view path) {
  for (int level = 0; level < 2; ++level) {
    size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return ".";
    path = path.substr(0, slash);
  }
  return std::string(path);
}

std::string parent_of(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Folders side by side with a kernel for the same targets each (Triton's ahead-of-time kernels have one folder a shape) are one
// set at the folder above.
void merge_siblings(std::vector<DeviceUnit> &units) {
  constexpr size_t kFew = 3;
  std::map<std::tuple<uint32_t, std::string, std::vector<std::string>>, std::vector<size_t>> groups;
  for (size_t i = 0; i < units.size(); ++i)
    if (units[i].set && !units[i].side_car && !units[i].triton)
      groups[{units[i].origin.input, parent_of(units[i].origin.path), unit_targets(units[i])}].push_back(i);
  for (const auto &[key, members] : groups) {
    if (members.size() < kFew) continue;
    DeviceUnit &first = units[members.front()];
    first.origin.path = std::get<1>(key);
    for (size_t i = 1; i < members.size(); ++i) {
      DeviceUnit &other = units[members[i]];
      first.files.insert(first.files.end(), other.files.begin(), other.files.end());
      other.files.clear();
    }
  }
  std::erase_if(units, [](const DeviceUnit &unit) { return unit.files.empty(); });
}

bool is_the_input(const Inventory &inventory, const Binary &binary) {
  if (binary.origin.input >= inventory.inputs.size()) return false;
  const Input &input = inventory.inputs[binary.origin.input];
  std::string_view name = input.path;
  if (size_t slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  return input.kind != "directory" && input.kind != "distribution" && binary.origin.path == name;
}

bool holds_loadable(const DeviceCode &device) {
  return std::ranges::any_of(device.images, is_judged) || std::ranges::any_of(device.loose, is_loadable);
}

Match with_spirv(Match match, Spirv spirv) {
  return match == Match::spirv && spirv == Spirv::does_not_count ? Match::none : match;
}

void count(Coverage &out, Match match) {
  ++out.parts;
  out.served += is_served(match);
  out.generic += match == Match::generic;
  out.spirv += match == Match::spirv;
  out.mismatched += match == Match::xnack_mismatch || match == Match::sramecc_mismatch;
  out.unknown += match == Match::runtime_unknown;
}

Match match_object(const CodeObject &object, const TargetId &gpu, std::optional<Era> era) {
  return era ? compatible(object, gpu, *era) : compatible(object, gpu);
}

// The loose code objects of a file are alternatives: the worst GPU's best object counts.
Match match_loose(const DeviceCode &device, std::span<const TargetId> gpus, std::optional<Era> era) {
  Match worst = Match::exact;
  for (const TargetId &gpu : gpus) {
    Match best = Match::none;
    for (const CodeObject &object : device.loose)
      if (is_loadable(object)) best = std::max(best, match_object(object, gpu, era));
    worst = std::min(worst, best);
  }
  return worst;
}

Coverage cover_file(const DeviceCode &device, std::span<const TargetId> gpus, Spirv spirv, std::optional<Era> era) {
  Coverage out;
  for (const DeviceImage &image : device.images)
    if (is_judged(image)) count(out, with_spirv(match_all(image, gpus, era), spirv));
  if (std::ranges::any_of(device.loose, is_loadable)) {
    Match match = with_spirv(match_loose(device, gpus, era), spirv);
    count(out, match);
    out.loose_missing = !is_served(match);
  }
  return out;
}

// What a file does for a GPU as one of many alternatives.
Match match_file(const DeviceCode &device, const TargetId &gpu, Spirv spirv, std::optional<Era> era) {
  Coverage c = cover_file(device, {&gpu, 1}, spirv, era);
  if (!c.complete()) return c.unknown ? Match::runtime_unknown : c.mismatched ? Match::xnack_mismatch : Match::none;
  return c.spirv ? Match::spirv : c.generic ? Match::generic : Match::exact;
}

} // namespace

bool is_loadable(const CodeObject &object) {
  return object.target.vendor == Vendor::amd && (object.loadable || object.target.kind == TargetKind::spirv);
}

bool is_judged(const DeviceImage &image) { return std::ranges::any_of(image.code_objects, is_loadable); }

std::vector<DeviceUnit> device_units(const Inventory &inventory) {
  std::vector<DeviceUnit> out;
  std::map<std::tuple<uint32_t, std::string, bool>, size_t> sets;
  for (const Binary &binary : inventory.binaries) {
    if (!binary.device || binary.device->runtime_internal || !holds_loadable(*binary.device)) continue;
    if (!binary.device->standalone || is_the_input(inventory, binary)) {
      out.push_back({binary.origin, binary.distribution, false, false, false, false, {&binary}});
      continue;
    }
    auto side = side_file_of(inventory, binary);
    bool triton = !side && binary.triton;
    std::string path = side ? side->folder : triton ? triton_path(binary.origin.path) : set_path(binary.origin.path);
    auto [at, is_new] = sets.try_emplace({binary.origin.input, path, triton}, out.size());
    if (is_new)
      out.push_back({{binary.origin.input, path, "", 0}, binary.distribution, true, false, triton, side.has_value(), {}});
    out[at->second].files.push_back(&binary);
  }
  merge_siblings(out);
  auto external = [](const Binary &b) { return b.device && b.device->external; };
  if (std::ranges::any_of(inventory.binaries, external))
    for (DeviceUnit &unit : out)
      unit.of_libraries = std::ranges::all_of(unit.files, [](const Binary *file) { return is_kpack_file(*file); });
  std::ranges::sort(
      out, [](const DeviceUnit &a, const DeviceUnit &b) { return a.origin != b.origin ? a.origin < b.origin : a.set < b.set; });
  return out;
}

Match match_all(const DeviceImage &image, std::span<const TargetId> gpus, std::optional<Era> era) {
  Match worst = Match::exact;
  for (const TargetId &gpu : gpus) worst = std::min(worst, era ? best_match(image, gpu, *era) : best_match(image, gpu));
  return worst;
}

Coverage cover(const DeviceUnit &unit, std::span<const TargetId> gpus, Spirv spirv, std::optional<Era> era) {
  if (!unit.set) return cover_file(*unit.files.front()->device, gpus, spirv, era);
  Match worst = Match::exact;
  for (const TargetId &gpu : gpus) {
    Match best = Match::none;
    for (const Binary *file : unit.files) {
      best = std::max(best, match_file(*file->device, gpu, spirv, era));
      if (best == Match::exact) break;
    }
    worst = std::min(worst, best);
  }
  Coverage out;
  count(out, worst);
  return out;
}

std::vector<std::string> unit_targets(const DeviceUnit &unit) {
  std::set<std::string, TargetOrder> targets;
  for (const Binary *file : unit.files)
    for_each_object(*file->device, [&](const CodeObject &object) {
      if (is_loadable(object)) targets.insert(object.target.text());
    });
  return {targets.begin(), targets.end()};
}

std::vector<TargetId> gpus_of(const TargetId &target) {
  std::vector<TargetId> out;
  auto add = [&](TargetId gpu) {
    auto choices = [](Setting s) { return s == Setting::any ? std::vector{Setting::off, Setting::on} : std::vector{s}; };
    std::vector<Setting> sramecc = choices(gpu.sramecc), xnack = choices(gpu.xnack);
    for (Setting s : sramecc)
      for (Setting x : xnack) {
        gpu.sramecc = s;
        gpu.xnack = x;
        out.push_back(gpu);
      }
  };
  if (target.kind != TargetKind::generic) {
    add(target);
    return out;
  }
  // A generic says nothing of a setting that only some of its processors have (sramecc of gfx906).
  auto setting = [](Setting wanted, bool has) {
    return !has ? Setting::unsupported : wanted == Setting::unsupported ? Setting::any : wanted;
  };
  for (const Processor &p : processors())
    if (p.generic == target.processor)
      add({std::string(p.name), setting(target.sramecc, p.sramecc), setting(target.xnack, p.xnack), TargetKind::native,
           target.vendor});
  return out;
}

} // namespace isa_audit
