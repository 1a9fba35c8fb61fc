// Libraries whose device code is in kpack archives, against the GPUs of each machine and against --require. An archive that is
// not among the inputs is an error: the wheel that installs it is missing, or was not named.
#include <algorithm>
#include <set>

#include "advice.h"
#include "court.h"
#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/external_code.h"
#include "isa-audit/verdict/target_order.h"

namespace isa_audit {
namespace {

std::string join(const std::vector<std::string> &texts, std::string_view separator) {
  std::string out;
  for (const std::string &text : texts) {
    if (!out.empty()) out += separator;
    out += text;
  }
  return out;
}

// "gfx110x" and "gfx9-4" are families: what is left without the dashes and the x begins the processor's name.
bool covers(std::string_view written, std::string_view processor) {
  std::string stem;
  for (char c : written)
    if (c != '-' && c != '_') stem += c;
  while (stem.ends_with('x')) stem.pop_back();
  return stem.size() >= 5 && processor.starts_with(stem);
}

// The extra of a requirement ("amd-torch-device-gfx942; extra == 'device-gfx942'") that is for the processor; "" for none.
std::string extra_of(std::string_view requirement, std::string_view processor) {
  size_t at = requirement.find("extra");
  at = at == std::string_view::npos ? at : requirement.find_first_of("'\"", at);
  if (at == std::string_view::npos) return "";
  std::string_view extra = requirement.substr(at + 1);
  extra = extra.substr(0, extra.find_first_of("'\""));
  size_t gfx = extra.find("gfx");
  return gfx != std::string_view::npos && covers(extra.substr(gfx), processor) ? std::string(extra) : "";
}

// What to install: the longest matching extra of the distribution's own metadata is the closest one.
std::string external_advice(const Inventory &inventory, const Binary &library, const std::string &processor) {
  std::string best, package;
  for (const Distribution &d : inventory.distributions) {
    if (d.input != library.origin.input || d.name != library.distribution) continue;
    for (const std::string &requirement : d.requires_dist) {
      std::string extra = extra_of(requirement, processor);
      if (extra.size() <= best.size()) continue;
      best = extra;
      package = requirement.substr(0, requirement.find_first_of(" \t;<>=!~([@"));
    }
  }
  const std::string name = normalized_name(library.distribution);
  if (!best.empty()) return "pip install \"" + name + "[" + best + "]\", which brings " + package;
  if (name == "rocm" || name.starts_with("rocm-sdk")) return "pip install \"rocm[libraries,device-" + processor + "]\"";
  if (name == "torch" || name == "torchvision" || name == "torchaudio")
    return "pip install \"" + name + "[device-" + processor + "]\", which brings amd-" + name + "-device-" + processor;
  if (!name.empty()) return "pip install \"" + name + "[device-" + processor + "]\", or the device wheel of " + name;
  return "install the device package for " + processor;
}

std::vector<std::string> found_anywhere(const ExternalIndex &index, const Binary &library) {
  std::set<std::string, TargetOrder> out;
  for (const std::string &path : library.device->external->search_paths)
    for (std::string &target : index.found_targets(library, path)) out.insert(std::move(target));
  return {out.begin(), out.end()};
}

std::vector<std::string> paths_of(const std::set<const Binary *> &archives) {
  std::set<std::string> out; // by path, not by address
  for (const Binary *archive : archives)
    out.insert(archive->origin.path + (archive->distribution.empty() ? "" : " (of " + archive->distribution + ")"));
  return {out.begin(), out.end()};
}

void describe_loss(const ExternalIndex &index, const Binary &library, const ExternalAnswer &answer, const std::string &target,
                   Finding &finding) {
  std::vector<std::string> found = found_anywhere(index, library);
  finding.holds = found.empty() ? "none" : join_targets(found);
  if (library.device->external->search_paths.empty())
    finding.message = "the device code was split off into kpack archives, and the file does not say which";
  else if (!answer.lacking.empty())
    finding.message = join(paths_of(answer.lacking), ", ") + " is there, but lacks " +
                      std::to_string(answer.parts - answer.served) + " of " + counted(answer.parts, "device image") +
                      " of this file for " + target;
  else
    finding.message = "the device code for " + target + " is looked for in " + join(answer.looked_for, ", ") +
                      ", which is not among the inputs";
  finding.message += ": without it HIP fails with hipErrorInvalidImage (\"device kernel image is invalid\")";
}

// What the machine's variables have to do with a loss.
std::string variable_text(const KpackEnvironment &environment) {
  if (environment.disabled) return "; ROCM_KPACK_DISABLE is set: HIP loads nothing from kpack archives";
  if (!environment.override_paths.empty()) return "; ROCM_KPACK_PATH is set: HIP looks nowhere else";
  return "";
}

void judge_library(Court &court, const ExternalIndex &index, int machine, const Binary &library, const Gpu &gpu) {
  const TargetId &target = gpu.loader_target();
  KpackEnvironment environment = kpack_environment(court.machines[static_cast<size_t>(machine)].overrides);
  ExternalAnswer answer = index.find(library, target, environment);
  Finding finding = make_finding("gpu-code-external", library.origin, library.distribution);
  finding.machine = machine;
  finding.subject = target.processor;
  if (answer.complete()) {
    court.count(Side::gpu, Fate::served, library.origin.input, library.distribution);
    finding.level = Level::note;
    finding.holds = join_targets(found_anywhere(index, library));
    finding.message = "its device code for " + target.processor + " is in " + join(paths_of(answer.archives), ", ");
    if (answer.generic) finding.message += ", by a generic processor's code";
    court.add(std::move(finding));
    return;
  }
  describe_loss(index, library, answer, target.processor, finding);
  finding.message += variable_text(environment);
  finding.fix = environment.disabled                  ? "unset ROCM_KPACK_DISABLE; "
                : !environment.override_paths.empty() ? "unset ROCM_KPACK_PATH, or let it name the archive; "
                                                      : "";
  finding.fix += external_advice(court.inventory, library, target.processor) +
                 "; if it is installed already, name its wheel or folder as well";
  court.rule_on(Side::gpu, answer.served ? Fate::partial : Fate::failed, std::move(finding));
}

void judge_machine(Court &court, const ExternalIndex &index, int number, const std::vector<const Binary *> &libraries) {
  const Machine &machine = court.machines[static_cast<size_t>(number)];
  std::vector<const Gpu *> gpus;
  bool any_visible = std::ranges::any_of(machine.gpus, &Gpu::visible);
  for (const Gpu &gpu : machine.gpus) {
    bool seen = std::ranges::any_of(gpus, [&](const Gpu *g) { return g->loader_target() == gpu.loader_target(); });
    if ((gpu.visible || !any_visible) && !seen) gpus.push_back(&gpu);
  }
  for (const Binary *library : libraries) {
    if (gpus.empty()) court.count(Side::gpu, Fate::open, library->origin.input, library->distribution);
    for (const Gpu *gpu : gpus) judge_library(court, index, number, *library, *gpu);
  }
  if (gpus.size() < 2) return;
  Finding finding = make_finding("gpu-mixed-machine", {}, "");
  finding.machine = number;
  finding.subject = gpus.front()->loader_target().processor;
  finding.holds = "kpack";
  finding.message = "HIP's kpack loader took one code object for all visible GPUs, of the first target that has one, before it "
                    "chose for each kind of GPU (runtimes newer than ROCm 10.0): with different GPUs the others may be given "
                    "code that is not theirs";
  finding.fix = "leave GPUs of one kind visible with HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES";
  court.add(std::move(finding));
}

void judge_requirement(Court &court, const ExternalIndex &index, const Binary &library, const TargetId &target) {
  std::vector<TargetId> gpus = gpus_of(target);
  for (const TargetId &gpu : gpus) {
    ExternalAnswer answer = index.find(library, gpu);
    if (answer.complete()) continue;
    Finding finding = make_finding("required-target-missing", library.origin, library.distribution);
    finding.subject = target.text();
    describe_loss(index, library, answer, gpu.processor, finding);
    finding.fix = external_advice(court.inventory, library, gpu.processor) + "; name its wheel beside this one";
    court.rule_on(Side::gpu, Fate::failed, std::move(finding));
    return;
  }
  court.count(Side::gpu, Fate::served, library.origin.input, library.distribution);
}

} // namespace

void judge_external(Court &court) {
  std::vector<const Binary *> libraries;
  for (const Binary &binary : court.inventory.binaries)
    if (binary.device && binary.device->external && binary.device->images.empty()) libraries.push_back(&binary);
  if (libraries.empty()) return;
  ExternalIndex index(court.inventory);
  for (size_t i = 0; i < court.machines.size(); ++i)
    if (court.machines[i].judge_gpus) judge_machine(court, index, static_cast<int>(i), libraries);
  for (const TargetId &target : court.policy.required)
    for (const Binary *library : libraries) judge_requirement(court, index, *library, target);
}

} // namespace isa_audit
