// Kernels that a file has for other targets but not for a GPU it serves: the code object is there and holds less than its
// alternatives do. Where an image has nothing at all for the GPU, gpu-target-partial has told it; such kernels are counted here
// too, and make a note when there are no others. The same is asked of the kernel
// files of a folder together (one processor a file): the library that opens them may do without by design, so that is a note.
#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "court.h"
#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/target_order.h"
#include "kernel_name.h"

namespace isa_audit {
namespace {

using Names = std::unordered_set<std::string_view>;

struct Kernels {
  Names provided;                       // for the GPU
  std::vector<std::string_view> other;  // for other targets, in images that serve the GPU; perhaps more than once
  std::vector<std::string_view> absent; // the same in images that do not
};

// Adds a set of alternatives: the objects of an image, or the loose ones of a file.
void add_alternatives(const std::vector<CodeObject> &objects, const std::vector<std::string> &names, const TargetId &gpu,
                      Kernels &out) {
  bool known = std::ranges::all_of(objects, [](const CodeObject &o) { return !is_loadable(o) || o.kernels_known; });
  bool serves = std::ranges::any_of(objects, [&](const CodeObject &o) { return is_served(compatible(o, gpu)); });
  if (!known) return;
  std::unordered_map<std::string_view, size_t> others;
  size_t targets = 0, most_mine = 0, most_other = 0;
  for (const CodeObject &object : objects) {
    // SPIR-V has no metadata: what it holds is not known.
    if (!is_loadable(object) || object.target.kind == TargetKind::spirv) continue;
    bool mine = is_served(compatible(object, gpu));
    targets += !mine;
    size_t &most = mine ? most_mine : most_other;
    most = std::max(most, object.kernels.size());
    for (uint32_t kernel : object.kernels) {
      if (kernel >= names.size()) continue;
      if (mine)
        out.provided.insert(names[kernel]);
      else
        ++others[names[kernel]];
    }
  }
  // Libraries name kernels by their target (rocPRIM), and write some for few targets by design: only where the GPU has fewer
  // than another target, and of those only what most other targets have, is a kernel missed.
  if (most_other <= most_mine) return;
  for (auto &[name, count] : others)
    if (count * 2 > targets) (serves ? out.other : out.absent).push_back(name);
}

// Of a set of kernel files: what each target has in all of them together.
Kernels set_kernels(const DeviceUnit &unit, const TargetId &gpu) {
  Kernels out;
  std::map<std::string, Names> others;
  auto add = [&](const std::vector<CodeObject> &objects, const std::vector<std::string> &names) {
    for (const CodeObject &object : objects) {
      if (!is_loadable(object) || object.target.kind == TargetKind::spirv || !object.kernels_known) continue;
      Names &into = is_served(compatible(object, gpu)) ? out.provided : others[object.target.processor];
      for (uint32_t kernel : object.kernels)
        if (kernel < names.size()) into.insert(names[kernel]);
    }
  };
  for (const Binary *file : unit.files) {
    for (const DeviceImage &image : file->device->images) add(image.code_objects, image.kernel_names);
    add(file->device->loose, file->device->loose_kernel_names);
  }
  std::unordered_map<std::string_view, size_t> counts;
  bool any_larger = false;
  for (const auto &[target, names] : others) {
    any_larger |= names.size() > out.provided.size();
    for (std::string_view name : names) ++counts[name];
  }
  if (!any_larger) return out;
  for (auto &[name, count] : counts)
    if (count * 2 > others.size()) out.other.push_back(name);
  return out;
}

Kernels file_kernels(const DeviceUnit &unit, const TargetId &gpu) {
  const DeviceCode &device = *unit.files.front()->device;
  Kernels kernels;
  for (const DeviceImage &image : device.images) add_alternatives(image.code_objects, image.kernel_names, gpu, kernels);
  add_alternatives(device.loose, device.loose_kernel_names, gpu, kernels);
  return kernels;
}

void judge_unit(Court &court, int machine, const DeviceUnit &unit, const TargetId &gpu) {
  Kernels kernels = unit.set ? set_kernels(unit, gpu) : file_kernels(unit, gpu);
  // An object without any kernel says that its source has none for this target, or that it is compiled from SPIR-V.
  if (kernels.provided.empty()) return;
  auto lacks = [&](std::string_view name) { return !kernels.provided.contains(name); };
  bool any_beside = std::ranges::any_of(kernels.other, lacks);
  std::vector<std::string_view> missing;
  std::ranges::copy_if(kernels.other, std::back_inserter(missing), lacks);
  std::ranges::copy_if(kernels.absent, std::back_inserter(missing), lacks);
  std::ranges::sort(missing);
  auto [first, last] = std::ranges::unique(missing);
  missing.erase(first, last);
  if (missing.empty()) return;
  Finding finding = make_finding("gpu-kernels-missing", unit.origin, unit.distribution);
  if (unit.set || !any_beside) finding.level = Level::note;
  finding.machine = machine;
  finding.subject = gpu.processor;
  uint64_t have = kernels.provided.size();
  finding.holds = gpu.processor + " has " + std::to_string(have) + " of " + counted(have + missing.size(), "kernel");
  finding.message = std::string("other targets of the ") + (unit.set ? "folder have " : "file have ") +
                    counted(missing.size(), "kernel") + " that " + gpu.processor + " lacks: " + name_a_few(missing) +
                    "; launching one fails with hipErrorInvalidDeviceFunction (\"invalid device function\")";
  finding.fix = "harmless where the library never launches them on " + gpu.processor +
                "; if it does, use a version that was built whole for it";
  court.add(std::move(finding));
}

} // namespace

void judge_kernels(Court &court) {
  std::vector<DeviceUnit> units = device_units(court.inventory);
  std::erase_if(units, [](const DeviceUnit &unit) { return unit.of_libraries || unit.triton; });
  for (size_t i = 0; i < court.machines.size(); ++i) {
    const Machine &machine = court.machines[i];
    if (!machine.judge_gpus) continue;
    bool any_visible = std::ranges::any_of(machine.gpus, &Gpu::visible);
    std::vector<TargetId> seen;
    for (const Gpu &gpu : machine.gpus) {
      const TargetId &target = gpu.loader_target();
      if ((any_visible && !gpu.visible) || std::ranges::find(seen, target) != seen.end()) continue;
      seen.push_back(target);
      for (const DeviceUnit &unit : units) judge_unit(court, static_cast<int>(i), unit, target);
    }
  }
}

} // namespace isa_audit
