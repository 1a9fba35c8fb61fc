// Device units against the GPUs of each machine. A GPU is judged by what the runtime believes it is (the override), and
// equal GPUs are judged once. Hidden GPUs count only when none is visible: then they are what the user means.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "advice.h"
#include "court.h"
#include "elsewhere.h"
#include "isa-audit/device/processors.h"
#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/target_order.h"
#include "kernel_name.h"

namespace isa_audit {
namespace {

using Gpus = std::vector<const Gpu *>;

Gpus visible_gpus(const Machine &machine) {
  Gpus out;
  for (const Gpu &gpu : machine.gpus)
    if (gpu.visible) out.push_back(&gpu);
  if (out.empty())
    for (const Gpu &gpu : machine.gpus) out.push_back(&gpu);
  return out;
}

Gpus distinct(const Gpus &gpus) {
  Gpus out;
  for (const Gpu *gpu : gpus)
    if (std::ranges::none_of(out, [&](const Gpu *seen) { return seen->loader_target() == gpu->loader_target(); }))
      out.push_back(gpu);
  return out;
}

// Before lazy loading HIP registered all code at once and gave up on the process at the first image without a match.
bool is_old(const Machine &machine) {
  return !machine.rocm.empty() &&
         std::ranges::all_of(machine.rocm, [](const std::string &v) { return v.size() > 1 && v[0] < '5' && v[1] == '.'; });
}

const char *part_name(const DeviceUnit &unit) {
  const DeviceCode &device = *unit.files.front()->device;
  return device.images.empty() ? "code object" : "device image";
}

// "gfx90a in 235 of 237 device images".
std::string how_many(const DeviceUnit &unit, const std::string &target, const Coverage &c) {
  return target + " in " + std::to_string(c.served) + " of " + counted(c.parts, part_name(unit));
}

Finding missing(const Project &project, const DeviceUnit &unit, const Gpu &gpu, Elsewhere &elsewhere, bool aborts_at_load,
                Finding finding) {
  const std::string &processor = gpu.loader_target().processor;
  const std::vector<std::string> holds = unit_targets(unit);
  if (unit.set)
    finding.message = "no file of this folder is for " + processor +
                      ": a library that loads its kernels from here fails at "
                      "the first call that needs one";
  else
    finding.message = "no code for " + processor +
                      ": the first kernel launched from it fails with hipErrorNoBinaryForGpu (\"no "
                      "kernel image is available for execution on the device\") or \"invalid device function\"";
  if (aborts_at_load) finding.message += "; ROCm before 5 aborts already when the file is loaded (imported)";
  if (std::string nearest = nearest_text(processor, holds); !nearest.empty()) finding.message += "; " + nearest;
  finding.message += elsewhere.text(unit, gpu.loader_target());
  finding.holds = join_targets(holds);
  finding.fix = gpu_advice(project, gpu, holds);
  // Packages load such files for the processor they find; those that have others for it may do without these.
  if (unit.set && elsewhere.distribution_serves(unit, gpu.loader_target())) finding.level = Level::warning;
  return finding;
}

// The kernels of images that do not serve the GPU, without those that another image has for it; sorted.
std::vector<std::string_view> missing_kernels(const DeviceCode &device, const TargetId &gpu) {
  std::unordered_set<std::string_view> provided;
  std::vector<std::string_view> out;
  for (const DeviceImage &image : device.images) {
    if (!is_judged(image) || !is_served(best_match(image, gpu))) continue;
    for (const CodeObject &object : image.code_objects)
      if (is_served(compatible(object, gpu)))
        for (uint32_t kernel : object.kernels)
          if (kernel < image.kernel_names.size()) provided.insert(image.kernel_names[kernel]);
  }
  for (const DeviceImage &image : device.images) {
    if (!is_judged(image) || is_served(best_match(image, gpu))) continue;
    for (const std::string &name : image.kernel_names)
      if (!provided.contains(name)) out.push_back(name);
  }
  std::ranges::sort(out);
  auto [first, last] = std::ranges::unique(out);
  out.erase(first, last);
  return out;
}

Finding partial(const Project &project, const DeviceUnit &unit, const Gpu &gpu, const Coverage &c, Finding finding) {
  const DeviceCode &device = *unit.files.front()->device;
  const std::string &processor = gpu.loader_target().processor;
  finding.rule = "gpu-target-partial";
  finding.level = find_rule(finding.rule)->level;
  finding.holds = how_many(unit, processor, c);
  std::vector<std::string_view> kernels = missing_kernels(device, gpu.loader_target());
  if (!kernels.empty())
    finding.message = counted(kernels.size(), "kernel") + " without code for " + processor + ": " + name_a_few(kernels) +
                      "; launching one fails with hipErrorInvalidDeviceFunction (\"invalid device function\"), the rest works";
  else if (c.loose_missing && c.served + 1 == c.parts)
    finding.message =
        "no code object outside of the device images is for " + processor + "; what loads them fails, the rest works";
  else
    finding.message = "every kernel of the other device images is there for " + processor +
                      " elsewhere in the file, or they "
                      "hold none: most likely harmless";
  finding.fix = gpu_advice(project, gpu, unit_targets(unit));
  return finding;
}

// The targets of the unit that are for the GPU's processor but with another setting.
std::vector<std::string> mismatching_targets(const DeviceUnit &unit, const TargetId &gpu) {
  std::vector<std::string> out;
  for (const Binary *file : unit.files)
    for_each_object(*file->device, [&](const CodeObject &object) {
      Match match = compatible(object, gpu);
      if (match == Match::xnack_mismatch || match == Match::sramecc_mismatch) out.push_back(object.target.text());
    });
  std::ranges::sort(out, TargetOrder());
  auto [first, last] = std::ranges::unique(out);
  out.erase(first, last);
  return out;
}

Finding mismatch(const Project &project, const DeviceUnit &unit, const Gpu &gpu, const Coverage &c, Finding finding) {
  const TargetId &target = gpu.loader_target();
  std::vector<std::string> others = mismatching_targets(unit, target);
  finding.rule = "gpu-feature-mismatch";
  finding.level = c.served ? Level::warning : Level::error;
  finding.subject = target.text();
  finding.holds = join_targets(others);
  if (c.served) finding.holds += ", " + how_many(unit, target.text(), c);
  finding.message = "the code is for " + target.processor + " but not for its settings (" + target.text() +
                    "): the loader refuses it, kernels fail with hipErrorNoBinaryForGpu";
  if (!gpu.assumed.empty()) finding.message += "; the settings of this GPU are assumed, not read";
  bool wants_xnack = std::ranges::any_of(others, [](const std::string &t) { return t.ends_with(":xnack+"); });
  if (wants_xnack && target.xnack == Setting::off) finding.fix = "run with HSA_XNACK=1 if the GPU supports it, or ";
  finding.fix += build_advice(project, target.processor, {}, "build the target without settings: ");
  return finding;
}

void note_how_served(Court &court, const DeviceUnit &unit, const Coverage &c, Finding finding) {
  finding.level = Level::note;
  if (c.generic) {
    finding.rule = "gpu-generic-only";
    finding.message = "runs by a generic processor's code in " + std::to_string(c.generic) + " of " +
                      counted(c.parts, part_name(unit)) +
                      ": needs ROCm 6.4 or newer in bundles, and is slower where native code would differ";
    court.add(finding);
  }
  if (c.spirv) {
    finding.rule = "gpu-runtime-compiled";
    finding.message = "compiled from SPIR-V at first use in " + std::to_string(c.spirv) + " of " +
                      counted(c.parts, part_name(unit)) +
                      ": slow at first, and needs ROCm 6.4 or newer with its device libraries";
    court.add(std::move(finding));
  }
}

void judge_unit(Court &court, int machine, const DeviceUnit &unit, const Gpu &gpu, Elsewhere &elsewhere) {
  const TargetId &target = gpu.loader_target();
  Coverage c = cover(unit, {&target, 1}, Spirv::counts);
  Finding finding = make_finding("gpu-target-missing", unit.origin, unit.distribution);
  finding.machine = machine;
  finding.subject = target.processor;
  finding.holds = join_targets(unit_targets(unit));
  if (c.complete()) {
    court.count(Side::gpu, Fate::served, unit.origin.input, unit.distribution);
    note_how_served(court, unit, c, std::move(finding));
    return;
  }
  if (unit.triton) {
    court.count(Side::gpu, Fate::served, unit.origin.input, unit.distribution);
    finding.level = Level::note;
    finding.message =
        "kernels that Triton compiled for other processors: for " + target.processor + " it compiles its own at first use";
    court.add(std::move(finding));
    return;
  }
  Fate fate = c.served ? Fate::partial : Fate::failed;
  Project project = find_project(court.inventory, unit.origin, unit.distribution);
  if (c.mismatched == c.parts - c.served)
    court.rule_on(Side::gpu, fate, mismatch(project, unit, gpu, c, std::move(finding)));
  else if (c.served)
    court.rule_on(Side::gpu, fate, partial(project, unit, gpu, c, std::move(finding)));
  else {
    bool old = is_old(court.machines[static_cast<size_t>(machine)]);
    Finding lost = missing(project, unit, gpu, elsewhere, old, std::move(finding));
    court.rule_on(Side::gpu, lost.level == Level::error ? fate : Fate::partial, std::move(lost));
  }
}

// Images that a GPU would have but for one before it.
struct Loss {
  const Gpu *blocker = nullptr; // of the first image that suffers
  uint64_t images = 0;
  Gpus losers;
};

// HIP goes through the GPUs in order and stops at the first without code; at the very first, all lose the image.
Loss find_losses(const DeviceCode &device, const Gpus &gpus) {
  Loss loss;
  for (const DeviceImage &image : device.images) {
    if (!is_judged(image)) continue;
    auto serves = [&](const Gpu *gpu) { return is_served(best_match(image, gpu->loader_target())); };
    auto blocker = std::ranges::find_if_not(gpus, serves);
    if (blocker == gpus.end()) continue;
    bool hurts = false;
    for (auto gpu = blocker + 1; gpu != gpus.end(); ++gpu) {
      if (!serves(*gpu)) continue;
      hurts = true;
      if (std::ranges::find(loss.losers, *gpu) == loss.losers.end()) loss.losers.push_back(*gpu);
    }
    if (!hurts) continue;
    ++loss.images;
    if (!loss.blocker) loss.blocker = *blocker;
  }
  return loss;
}

void judge_mixed(Court &court, int machine, const DeviceUnit &unit, const Gpus &gpus) {
  if (unit.set) return; // libraries open these by name, one for each GPU
  const DeviceCode &device = *unit.files.front()->device;
  Loss loss = find_losses(device, gpus);
  if (!loss.blocker) return;
  Finding finding = make_finding("gpu-mixed-machine", unit.origin, unit.distribution);
  finding.machine = machine;
  finding.subject = loss.blocker->loader_target().processor;
  finding.holds = join_targets(unit_targets(unit));
  std::vector<std::string> losers;
  for (const Gpu *gpu : distinct(loss.losers)) losers.push_back(gpu->loader_target().processor);
  finding.message = "HIP stops at " + finding.subject + ", which " + counted(loss.images, "device image") + " of the file " +
                    (loss.images == 1 ? "lacks" : "lack") + ": " + join_targets(losers) + " behind it " +
                    (loss.losers.size() == 1 ? "loses" : "lose") +
                    " the code too (hipErrorInvalidImage or \"invalid device function\") up to ROCm 7.14; newer runtimes pass "
                    "over it";
  finding.fix = "hide " + finding.subject + " with HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES";
  court.rule_on(Side::gpu, Fate::partial, std::move(finding));
}

// "; 1 of 3 files with device code serves gfx1103 itself, 3 as gfx1100".
std::string both_ways(const std::vector<DeviceUnit> &units, const Gpu &gpu) {
  if (units.empty()) return "";
  auto count = [&](const TargetId &target) {
    return std::ranges::count_if(units, [&](const DeviceUnit &u) { return cover(u, {&target, 1}, Spirv::counts).complete(); });
  };
  return "; of " + counted(units.size(), "file") + " with device code " + std::to_string(count(gpu.target)) + " would serve " +
         gpu.target.processor + " itself, " + std::to_string(count(*gpu.effective)) + " serve it as " +
         gpu.effective->processor;
}

// What makes code for `effective` impossible on `physical`; empty for processors of one generation.
std::string family_gap(const std::string &physical, const std::string &effective) {
  const Processor *real = find_processor(physical), *posed = find_processor(effective);
  auto generation = [](const std::string &name) { return name.substr(0, name.size() - 2); };
  if (!real || !posed || generation(physical) == generation(effective)) return "";
  if (real->wavefront == posed->wavefront) return "another family, with another instruction set";
  return "another family, whose wavefronts have " + std::to_string(posed->wavefront) + " lanes and not " +
         std::to_string(real->wavefront);
}

void tell_overrides(Court &court, int index, const Machine &machine, const Gpus &gpus, const std::vector<DeviceUnit> &units) {
  for (const Gpu *gpu : gpus) {
    if (!gpu->effective || gpu->effective->processor == gpu->target.processor) continue;
    Finding finding = make_finding("gpu-override-active", {}, "");
    finding.machine = index;
    finding.subject = gpu->target.processor;
    finding.holds = gpu->effective->processor;
    auto value = machine.overrides.find("HSA_OVERRIDE_GFX_VERSION");
    finding.message = "the GPU is " + gpu->target.processor + " but poses as " + gpu->effective->processor +
                      " (HSA_OVERRIDE_GFX_VERSION" + (value == machine.overrides.end() ? "" : "=" + value->second) + "): ";
    if (std::string gap = family_gap(gpu->target.processor, gpu->effective->processor); !gap.empty()) {
      finding.message += gap + ": memory access faults and wrong results are certain";
      finding.fix = "unset HSA_OVERRIDE_GFX_VERSION";
    } else {
      finding.message += "code for the other processor may fault, hang or compute wrong results";
      finding.fix = "unset HSA_OVERRIDE_GFX_VERSION when there is code for " + gpu->target.processor;
    }
    finding.message += both_ways(units, *gpu);
    court.add(std::move(finding));
  }
}

// HIP_FORCE_SPIRV_CODEOBJECT: HIP passes over native and generic entries (hipamd/src/hip_fatbin.cpp).
void tell_forced_spirv(Court &court, int index, const Machine &machine, const std::vector<DeviceUnit> &units) {
  auto value = machine.overrides.find("HIP_FORCE_SPIRV_CODEOBJECT");
  if (value == machine.overrides.end() || value->second.empty() || value->second == "0") return;
  uint64_t images = 0, without = 0;
  for (const DeviceUnit &unit : units)
    for (const Binary *file : unit.files)
      for (const DeviceImage &image : file->device->images) {
        if (!is_judged(image)) continue;
        ++images;
        without += std::ranges::none_of(image.code_objects,
                                        [](const CodeObject &object) { return object.target.kind == TargetKind::spirv; });
      }
  if (images == 0) return;
  Finding finding = make_finding("gpu-override-active", {}, "");
  finding.machine = index;
  finding.subject = "amdgcnspirv";
  finding.holds = "SPIR-V in " + std::to_string(images - without) + " of " + counted(images, "device image");
  finding.message = "HIP_FORCE_SPIRV_CODEOBJECT is set: HIP passes over native code and compiles SPIR-V; device images without "
                    "any fail with hipErrorInvalidImage";
  finding.fix = "unset HIP_FORCE_SPIRV_CODEOBJECT";
  court.add(std::move(finding));
}

void tell_no_gpu(Court &court, int machine) {
  Finding finding = make_finding("no-local-gpu", {}, "");
  finding.machine = machine;
  finding.message = "no GPU was found on this machine: GPU code was not judged";
  finding.fix = "name the GPU to judge for, for example --gpu gfx942; --gpu none if none is meant";
  if (court.inventory.binaries.empty())
    court.add(std::move(finding)); // no GPU would change anything
  else
    court.rule_on(Side::gpu, Fate::open, std::move(finding));
}

} // namespace

void judge_gpus(Court &court) {
  std::vector<DeviceUnit> units = device_units(court.inventory);
  std::erase_if(units, [](const DeviceUnit &unit) { return unit.of_libraries || unit.side_car; });
  Elsewhere elsewhere(court.inventory, units);
  for (size_t i = 0; i < court.machines.size(); ++i) {
    const Machine &machine = court.machines[i];
    int index = static_cast<int>(i);
    if (!machine.judge_gpus) continue;
    Gpus visible = visible_gpus(machine), gpus = distinct(visible);
    if (gpus.empty()) {
      tell_no_gpu(court, index);
      for (const DeviceUnit &unit : units) court.count(Side::gpu, Fate::open, unit.origin.input, unit.distribution);
      continue;
    }
    tell_overrides(court, index, machine, gpus, units);
    tell_forced_spirv(court, index, machine, units);
    for (const DeviceUnit &unit : units) {
      for (const Gpu *gpu : gpus) judge_unit(court, index, unit, *gpu, elsewhere);
      if (gpus.size() > 1) judge_mixed(court, index, unit, visible);
    }
  }
}

} // namespace isa_audit
