// Code objects count by their flags, never by their names (hipengine keeps eight processors below a folder named gfx1100);
// indices, databases and bitcode by what they say they are for.
#include "isa-audit/verdict/side_cars.h"

#include <algorithm>
#include <set>

#include "isa-audit/device/compatible.h"
#include "isa-audit/device/processors.h"
#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/external_code.h"

namespace isa_audit {
namespace {

std::string_view folder_of(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Without the suffix of a Tensile library's file.
std::string_view stem_of(std::string_view name) {
  for (std::string_view suffix : {".dat.zlib", ".dat", ".yaml"})
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  return name;
}

bool is_for(const SideFile &file, std::string_view processor) {
  return std::ranges::any_of(file.targets, [&](const std::string &t) { return names_processor(t, processor); });
}

Match best_object(const Binary &file, const TargetId &gpu) {
  Match best = Match::none;
  for_each_object(*file.device, [&](const CodeObject &object) {
    if (is_loadable(object)) best = std::max(best, compatible(object, gpu));
  });
  return best;
}

template <typename Body> void for_each_path(const SideCar &car, Body body) {
  for (const SideFile *file : car.files) body(std::string_view(file->origin.path));
  for (const Binary *file : car.kernels) body(std::string_view(file->origin.path));
}

// "x_fallback_gfx942.hsaco" → "x_fallback_*.hsaco"; empty for a file that is no fallback kernel of the processor.
std::string fallback_pattern(std::string_view name, std::string_view processor) {
  if (name.find("_fallback_") == std::string_view::npos || !name.ends_with(".hsaco")) return "";
  size_t at = name.rfind(processor);
  if (at == std::string_view::npos) return "";
  std::string_view behind = name.substr(at + processor.size());
  if (!behind.starts_with('.') && !behind.starts_with('-')) return "";
  std::string out(name.substr(0, at));
  out += "*.hsaco";
  return out;
}

std::string replaced(std::string pattern, const std::string &processor) {
  return pattern.replace(pattern.find('*'), 1, processor);
}

void sort_unique(std::vector<std::string> &list) {
  std::ranges::sort(list);
  auto [first, last] = std::ranges::unique(list);
  list.erase(first, last);
}

bool is_in_archive(const Inventory &inventory, const Origin &origin) {
  if (origin.path.find('!') != std::string::npos) return true;
  return origin.input < inventory.inputs.size() && inventory.inputs[origin.input].kind == "wheel";
}

// Device wheels bring the files of one processor into the folder of the wheel that they complete: their files count there, and
// what is left of them is no side-car of its own.
void lay_over(const Inventory &inventory, std::vector<SideCar> &cars) {
  auto is_overlay = [](const SideCar &car) { return normalized_name(car.distribution).find("-device-") != std::string::npos; };
  std::map<std::pair<std::string, SideLibrary>, std::vector<size_t>> places;
  for (size_t i = 0; i < cars.size(); ++i)
    if (is_in_archive(inventory, cars[i].origin)) places[{installed_path(cars[i].origin.path), cars[i].library}].push_back(i);
  std::set<size_t> spent;
  for (const auto &[place, members] : places)
    for (size_t base : members) {
      if (is_overlay(cars[base])) continue;
      for (size_t over : members) {
        if (!is_overlay(cars[over])) continue;
        spent.insert(over);
        SideCar &to = cars[base];
        const SideCar &from = cars[over];
        to.files.insert(to.files.end(), from.files.begin(), from.files.end());
        to.kernels.insert(to.kernels.end(), from.kernels.begin(), from.kernels.end());
        for (const auto &[target, files] : from.targets) to.targets[target] += files;
      }
    }
  size_t i = 0;
  std::erase_if(cars, [&](const SideCar &) { return spent.contains(i++); });
}

} // namespace

std::optional<SideFile> side_file_of(const Inventory &inventory, const Binary &binary) {
  if (!binary.device || !binary.device->standalone || binary.origin.input >= inventory.inputs.size()) return std::nullopt;
  auto file = recognise_side_file(binary.origin.path, inventory.inputs[binary.origin.input].above);
  return file && file->part == SidePart::kernels ? file : std::nullopt;
}

bool has_index(SideLibrary library) {
  return library == SideLibrary::rocblas || library == SideLibrary::hipblaslt || library == SideLibrary::hipsparselt;
}

std::vector<SideCar> side_cars(const Inventory &inventory) {
  std::map<std::tuple<uint32_t, std::string, SideLibrary>, SideCar> cars;
  auto car_of = [&](const SideFile &file, const Origin &origin, const std::string &distribution) -> SideCar & {
    auto [at, is_new] = cars.try_emplace({origin.input, file.folder, file.library});
    if (is_new) at->second = {file.library, {origin.input, file.folder, "", 0}, distribution, {}, {}, {}};
    return at->second;
  };
  for (const SideFile &file : inventory.side_files) {
    SideCar &car = car_of(file, file.origin, file.distribution);
    car.files.push_back(&file);
    for (const std::string &target : file.targets) ++car.targets[target];
  }
  for (const Binary &binary : inventory.binaries) {
    auto file = side_file_of(inventory, binary);
    if (!file) continue;
    SideCar &car = car_of(*file, binary.origin, binary.distribution);
    car.kernels.push_back(&binary);
    std::set<std::string> targets;
    for_each_object(*binary.device, [&](const CodeObject &object) {
      if (object.target.vendor == Vendor::amd) targets.insert(object.target.text());
    });
    for (const std::string &target : targets) ++car.targets[target];
  }
  std::vector<SideCar> out;
  for (auto &[key, car] : cars)
    // Folders such as amdgcn/bitcode come with compilers that have no version for each processor.
    if (!car.targets.empty() || !car.kernels.empty() || has_index(car.library)) out.push_back(std::move(car));
  lay_over(inventory, out);
  return out;
}

SideState side_state(const SideCar &car, const TargetId &gpu) {
  SideState out;
  for (const SideFile *file : car.files) {
    bool named = is_for(*file, gpu.processor);
    if (file->part == SidePart::index && (named || file->targets.empty())) {
      // Its own index comes before the one for all.
      if (!out.index || named) out.index = file;
    } else if (named && file->part == SidePart::kernels) {
      ++out.kernels;
    } else if (named && file->part != SidePart::table && file->part != SidePart::signature) {
      ++out.named;
    }
  }
  for (const Binary *file : car.kernels) {
    Match match = best_object(*file, gpu);
    out.kernels += is_served(match);
    out.other_settings += match == Match::xnack_mismatch || match == Match::sramecc_mismatch;
  }
  return out;
}

bool serves(const SideCar &car, const TargetId &gpu) {
  SideState state = side_state(car, gpu);
  if (has_index(car.library)) return state.index && state.kernels > 0;
  if (car.library == SideLibrary::aotriton || car.library == SideLibrary::aiter) return state.kernels > 0;
  return state.named > 0;
}

std::vector<std::string> missing_names(const SideCar &car, const TargetId &gpu) {
  std::set<std::string, std::less<>> stems;      // with their folders
  std::set<std::string_view, std::less<>> names; // of any folder: tables of one layout count from its own, of others from above
  for_each_path(car, [&](std::string_view path) {
    stems.insert(installed_path(stem_of(path)));
    names.insert(name_of(path));
  });
  std::vector<std::string> out;
  const SideFile *index = side_state(car, gpu).index;
  if (index) {
    std::string folder(folder_of(installed_path(index->origin.path)));
    if (!folder.empty()) folder += "/";
    std::string_view suffix = name_of(index->origin.path).substr(stem_of(name_of(index->origin.path)).size());
    for (const std::string &name : index->names)
      if (!stems.contains(folder + name)) out.push_back(name + std::string(suffix));
  }
  if (!has_index(car.library))
    for (const SideFile *file : car.files)
      if (file->part == SidePart::table && is_for(*file, gpu.processor))
        for (const std::string &name : file->names)
          if (!names.contains(name_of(name))) out.push_back(name);
  sort_unique(out);
  return out;
}

std::vector<std::string> missing_fallbacks(const SideCar &car, const TargetId &gpu) {
  std::set<std::string> own, all;
  for (const Binary *file : car.kernels)
    for_each_object(*file->device, [&](const CodeObject &object) {
      std::string pattern = fallback_pattern(name_of(file->origin.path), object.target.processor);
      if (pattern.empty()) return;
      if (object.target.processor == gpu.processor) own.insert(pattern);
      all.insert(std::move(pattern));
    });
  std::vector<std::string> out;
  for (const std::string &pattern : all)
    if (!own.contains(pattern)) out.push_back(replaced(pattern, gpu.processor));
  return out;
}

std::pair<std::string, uint64_t> fullest_sibling(const SideCar &car, const TargetId &gpu) {
  const Processor *row = find_processor(gpu.processor);
  std::map<std::string, uint64_t> counts;
  for (const Binary *file : car.kernels) {
    std::set<std::string> targets;
    for_each_object(*file->device, [&](const CodeObject &object) { targets.insert(object.target.processor); });
    for (const std::string &target : targets) ++counts[target];
  }
  std::pair<std::string, uint64_t> out;
  for (const auto &[name, count] : counts) {
    const Processor *other = find_processor(name);
    bool siblings = row && other && name != gpu.processor && !row->generic.empty() && row->generic == other->generic;
    if (siblings && count > out.second) out = {name, count};
  }
  return out;
}

std::vector<std::string> startable_targets(const SideCar &car) {
  std::vector<std::string> out;
  for (const auto &[target, files] : car.targets) {
    auto id = parse_target_id(target);
    if (!id) {
      llvm::consumeError(id.takeError()); // a family
      out.push_back(target);
      continue;
    }
    for (const TargetId &gpu : gpus_of(*id))
      if (serves(car, gpu)) {
        out.push_back(target);
        break;
      }
  }
  return out;
}

} // namespace isa_audit
