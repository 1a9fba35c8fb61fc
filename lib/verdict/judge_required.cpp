// The gate of --require: every device image of every file must serve each target. A target that leaves a setting open must be
// served whatever the GPU's setting is: by an object that leaves it open too, or by one object for each setting.
#include <algorithm>

#include "advice.h"
#include "court.h"
#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/target_order.h"

namespace isa_audit {
namespace {

struct Requirement {
  TargetId target;
  std::string text;
  std::vector<TargetId> gpus;
};

// The GPUs among those a requirement stands for that the unit serves in full.
std::vector<std::string> served_settings(const DeviceUnit &unit, const Requirement &required, Spirv spirv) {
  std::vector<std::string> out;
  for (const TargetId &gpu : required.gpus)
    if (cover(unit, {&gpu, 1}, spirv).complete()) out.push_back(gpu.text());
  return out;
}

void judge_unit(Court &court, const DeviceUnit &unit, const Requirement &required) {
  Spirv spirv = required.target.kind == TargetKind::spirv ? Spirv::counts : Spirv::does_not_count;
  Coverage c = cover(unit, required.gpus, spirv);
  Finding finding = make_finding("required-target-missing", unit.origin, unit.distribution);
  finding.subject = required.text;
  if (c.complete()) {
    court.count(Side::gpu, Fate::served, unit.origin.input, unit.distribution);
    if (!c.generic || required.target.kind == TargetKind::generic) return;
    finding.rule = "gpu-generic-only";
    finding.level = Level::note;
    finding.holds = join_targets(unit_targets(unit));
    finding.message = required.text + " is served by a generic processor's code: needs ROCm 6.4 or newer in bundles";
    court.add(std::move(finding));
    return;
  }
  std::vector<std::string> holds = unit_targets(unit);
  std::vector<std::string> settings = served_settings(unit, required, spirv);
  finding.holds = join_targets(holds);
  if (!settings.empty()) {
    finding.message = "serves " + join_targets(settings) + " only, not every " + required.text;
    finding.fix = required.target.kind == TargetKind::generic
                      ? "build it with --offload-arch=" + required.text + ", or for every processor of the family"
                      : "build the target without settings or for both of them, or require " + settings.front();
  } else {
    if (c.served) finding.holds = required.text + " in " + std::to_string(c.served) + " of " + counted(c.parts, "device image");
    finding.message = "kernels of this file fail on " + required.text +
                      " (\"no kernel image is available for execution on the "
                      "device\" or \"invalid device function\")";
    finding.fix = build_advice(find_project(court.inventory, unit.origin, unit.distribution), required.text, holds);
  }
  court.rule_on(Side::gpu, Fate::failed, std::move(finding));
}

} // namespace

void judge_required(Court &court) {
  std::vector<DeviceUnit> units = device_units(court.inventory);
  std::erase_if(units, [](const DeviceUnit &unit) { return unit.of_libraries || unit.side_car; });
  for (const TargetId &target : court.policy.required) {
    Requirement required{target, target.text(), gpus_of(target)};
    for (const DeviceUnit &unit : units) judge_unit(court, unit, required);
  }
}

} // namespace isa_audit
