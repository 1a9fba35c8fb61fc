// Code that is right for a GPU may still be in a form that only some ROCm releases know. What each era makes of a unit is told
// once for all units of a distribution that it makes the same of.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "court.h"
#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/target_order.h"

namespace isa_audit {
namespace {

enum class Outcome : uint8_t { loaded, partly, refused, unknown };

constexpr std::string_view kOutcomes[] = {"loaded by", "loaded in part by", "refused by", "not known for"};

using Outcomes = std::vector<Outcome>; // by era

// What the form of an object needs of the runtime.
std::string form_of(const CodeObject &object, const TargetId &gpu) {
  if (object.target.kind == TargetKind::spirv) return "SPIR-V";
  if (object.fixed_xnack) return "xnack written as on for " + object.target.processor;
  if (is_gfx9_client_apu(gpu.processor) && (object.target.xnack == Setting::on || object.target.xnack == Setting::off))
    return "the xnack setting of " + gpu.processor;
  if (object.target.kind == TargetKind::generic) return "code for " + object.target.processor;
  if (object.ccob_version == 1 || object.ccob_version == 3)
    return "compressed bundles of version " + std::to_string(object.ccob_version);
  if (object.object_version >= 6) return "code object version " + std::to_string(object.object_version);
  return "compressed bundles";
}

// The forms on which it depends; objects that look the same to the loader are asked once.
std::set<std::string> forms(const DeviceUnit &unit, const TargetId &gpu) {
  using Look = std::tuple<TargetId, uint8_t, uint8_t, uint8_t, Carrier, bool, std::string>;
  std::set<Look> seen;
  std::set<std::string> out;
  bool apu = is_gfx9_client_apu(gpu.processor);
  for (const Binary *file : unit.files)
    for_each_object(*file->device, [&](const CodeObject &o) {
      if (!is_loadable(o)) return;
      Look look{o.target,
                o.object_version,
                o.generic_version,
                o.ccob_version,
                o.carrier,
                o.fixed_xnack,
                apu ? o.claimed : std::string()};
      if (seen.insert(std::move(look)).second && depends_on_era(o, gpu)) out.insert(form_of(o, gpu));
    });
  return out;
}

Outcomes outcomes_of(const DeviceUnit &unit, const TargetId &gpu) {
  std::vector<Coverage> covers;
  uint64_t most = 0;
  for (const EraRow &row : eras()) {
    covers.push_back(cover(unit, {&gpu, 1}, Spirv::counts, row.era));
    most = std::max(most, covers.back().served);
  }
  Outcomes out;
  for (const Coverage &c : covers)
    out.push_back(most && c.served == most ? Outcome::loaded
                  : c.unknown              ? Outcome::unknown
                  : c.served               ? Outcome::partly
                                           : Outcome::refused);
  return out;
}

// "loaded by ROCm 6.4 and newer; refused by ROCm 6.3 and older".
std::string describe(const Outcomes &outcomes) {
  std::string out;
  for (size_t kind = 0; kind < std::size(kOutcomes); ++kind) {
    std::string ranges;
    for (size_t first = 0, end = 0; first < outcomes.size(); first = end) {
      for (end = first + 1; end < outcomes.size() && outcomes[end] == outcomes[first];) ++end;
      if (outcomes[first] != static_cast<Outcome>(kind)) continue;
      ranges += (ranges.empty() ? " " : ", ") + era_range(eras()[first].era, eras()[end - 1].era);
    }
    if (!ranges.empty()) out += (out.empty() ? "" : "; ") + std::string(kOutcomes[kind]) + ranges;
  }
  return out;
}

// The newest ROCm that was found on the machine; empty for none.
std::string newest_rocm(const Machine &machine) {
  std::string best;
  for (const std::string &version : machine.rocm)
    if (era_of(version) != Era::never && (best.empty() || era_of(version) >= era_of(best))) best = version;
  return best;
}

struct Group {
  std::set<std::string> forms;
  Outcomes outcomes;
  Origin origin;
  uint64_t units = 0;
};

Finding group_finding(const Machine &machine, const std::string &distribution, const TargetId &gpu, const Group &group) {
  Origin origin = group.units == 1 ? group.origin : Origin{group.origin.input, "", "", 0};
  Finding finding = make_finding("gpu-runtime-dependent", origin, distribution);
  finding.subject = gpu.processor;
  std::string what;
  for (const std::string &form : group.forms) what += (what.empty() ? "" : ", ") + form;
  finding.holds = what;
  finding.message = "its code for " + gpu.processor + " is " + describe(group.outcomes);
  finding.fix = "use a ROCm release that loads it, or build with the older form";
  std::string rocm = newest_rocm(machine);
  if (rocm.empty()) return finding;
  Outcome here = group.outcomes[static_cast<size_t>(era_of(rocm))];
  if (here == Outcome::loaded || here == Outcome::unknown) return finding;
  finding.level = Level::warning;
  finding.message += "; ROCm " + rocm + " of this machine is too old, unless the package brings its own runtime";
  return finding;
}

} // namespace

void judge_runtimes(Court &court) {
  std::vector<DeviceUnit> units = device_units(court.inventory);
  std::erase_if(units, [](const DeviceUnit &unit) { return unit.of_libraries; });
  for (size_t i = 0; i < court.machines.size(); ++i) {
    const Machine &machine = court.machines[i];
    if (!machine.judge_gpus) continue;
    std::vector<TargetId> seen;
    bool any_visible = std::ranges::any_of(machine.gpus, &Gpu::visible);
    for (const Gpu &gpu : machine.gpus) {
      const TargetId &target = gpu.loader_target();
      if ((any_visible && !gpu.visible) || std::ranges::find(seen, target) != seen.end()) continue;
      seen.push_back(target);
      std::map<std::tuple<uint32_t, std::string, Outcomes, std::set<std::string>>, Group> groups;
      for (const DeviceUnit &unit : units) {
        std::set<std::string> needs = forms(unit, target);
        if (needs.empty()) continue;
        Outcomes outcomes = outcomes_of(unit, target);
        if (std::ranges::all_of(outcomes, [&](Outcome o) { return o == outcomes.front(); })) continue;
        Group &group = groups[{unit.origin.input, unit.distribution, outcomes, needs}];
        if (group.units++ == 0) group = {needs, outcomes, unit.origin, 1};
      }
      for (const auto &[key, group] : groups) {
        Finding finding = group_finding(machine, std::get<1>(key), target, group);
        finding.machine = static_cast<int>(i);
        court.add(std::move(finding));
      }
    }
  }
}

} // namespace isa_audit
