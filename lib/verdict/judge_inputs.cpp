// What is said of whole inputs: that something could not be read, and that there is no GPU code in them.
#include <map>
#include <set>

#include "court.h"
#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/side_cars.h"
#include "isa-audit/verdict/target_order.h"

namespace isa_audit {
namespace {

struct Reading {
  uint64_t errors = 0;
  uint64_t binaries = 0, distributions = 0, side_files = 0;
  bool external = false, hip_host = false, amd_code = false;
};

std::vector<Reading> read_inputs(const Inventory &inventory, const std::vector<DeviceUnit> &units) {
  std::vector<Reading> out(inventory.inputs.size());
  for (const Problem &problem : inventory.problems)
    if (problem.level == Level::error && problem.origin.input < out.size()) ++out[problem.origin.input].errors;
  for (const Binary &binary : inventory.binaries) {
    if (binary.origin.input >= out.size()) continue;
    Reading &reading = out[binary.origin.input];
    ++reading.binaries;
    reading.external |= binary.device && binary.device->external;
    reading.hip_host |= binary.device && binary.device->hip_host;
  }
  for (const Distribution &d : inventory.distributions)
    if (d.input < out.size()) ++out[d.input].distributions;
  for (const SideFile &file : inventory.side_files)
    if (file.origin.input < out.size()) ++out[file.origin.input].side_files;
  for (const DeviceUnit &unit : units)
    if (unit.origin.input < out.size()) out[unit.origin.input].amd_code = true;
  // Kernel files may come with device wheels.
  for (const SideCar &car : side_cars(inventory))
    if (car.origin.input < out.size()) out[car.origin.input].amd_code |= !car.kernels.empty();
  return out;
}

// Problems belong to the distribution that owns the file, or to the only one of the input.
void mark_unread(Court &court) {
  std::map<std::pair<uint32_t, std::string_view>, const std::string *> owners;
  for (const Binary &binary : court.inventory.binaries)
    owners.emplace(std::pair(binary.origin.input, std::string_view(binary.origin.path)), &binary.distribution);
  std::map<uint32_t, std::vector<const std::string *>> of_input;
  for (const Distribution &d : court.inventory.distributions) of_input[d.input].push_back(&d.name);
  for (const Problem &problem : court.inventory.problems) {
    if (problem.level != Level::error) continue;
    static const std::string kNone;
    const std::string *owner = &kNone;
    if (auto at = owners.find({problem.origin.input, problem.origin.path}); at != owners.end())
      owner = at->second;
    else if (auto only = of_input.find(problem.origin.input); only != of_input.end() && only->second.size() == 1)
      owner = only->second.front();
    court.mark_incomplete(problem.origin.input, *owner);
  }
}

void tell_incomplete(Court &court, uint32_t input, const Reading &reading) {
  Finding finding = make_finding("input-incomplete", {input, "", "", 0}, "");
  if (reading.binaries + reading.side_files == 0) {
    finding.level = Level::error;
    finding.message = "nothing of this input could be audited";
  } else {
    finding.message = counted(reading.errors, "part") + " of this input could not be read and may change the verdict";
  }
  finding.fix = "see the problems";
  court.add(std::move(finding));
}

std::string only_distribution(const Inventory &inventory, uint32_t input) {
  std::string name;
  for (const Distribution &d : inventory.distributions) {
    if (d.input != input) continue;
    if (!name.empty()) return "";
    name = d.name;
  }
  return name;
}

void tell_no_device_code(Court &court, uint32_t input, const Reading &reading) {
  const bool gate = !court.policy.required.empty();
  Finding finding = make_finding("no-device-code", {input, "", "", 0}, only_distribution(court.inventory, input));
  finding.holds = "none";
  finding.message = "no code for an AMD GPU in this input";
  if (reading.hip_host)
    finding.message += ", although it calls the HIP runtime: its kernels come from elsewhere, or the device code was removed";
  if (!gate) {
    court.add(std::move(finding));
    return;
  }
  finding.level = Level::error;
  std::vector<std::string> required;
  required.reserve(court.policy.required.size());
  for (const TargetId &target : court.policy.required) required.push_back(target.text());
  finding.subject = join_targets(required);
  finding.fix = "--allow no-device-code if this input needs none";
  // To allow it is to say that an input may come without.
  court.count(Side::gpu, court.is_allowed(finding.rule) ? Fate::served : Fate::failed, input, finding.distribution);
  court.add(std::move(finding));
}

// Distributions without a binary; of one that was named and did not tell all its files nothing is known.
void mark_plain(Court &court, const std::vector<Reading> &readings) {
  const Inventory &inventory = court.inventory;
  std::set<std::pair<uint32_t, std::string_view>> native;
  for (const Binary &binary : inventory.binaries) native.emplace(binary.origin.input, binary.distribution);
  std::set<uint32_t> doubtful;
  for (const Problem &problem : inventory.problems)
    if (problem.origin.input < inventory.inputs.size() && inventory.inputs[problem.origin.input].kind == "distribution")
      doubtful.insert(problem.origin.input);
  for (const Distribution &d : inventory.distributions)
    if (d.input < readings.size() && !readings[d.input].errors && !doubtful.contains(d.input) &&
        !native.contains({d.input, d.name}))
      court.mark_plain(d.input, d.name);
}

} // namespace

void judge_inputs(Court &court) {
  mark_unread(court);
  std::vector<Reading> readings = read_inputs(court.inventory, device_units(court.inventory));
  bool gpus_judged = !court.policy.required.empty();
  for (const Machine &machine : court.machines) gpus_judged |= machine.judge_gpus && !machine.gpus.empty();
  for (uint32_t input = 0; input < readings.size(); ++input) {
    const Reading &reading = readings[input];
    if (reading.errors) tell_incomplete(court, input, reading);
    // Code in kpack archives is judged where they are.
    if (reading.amd_code || reading.external) continue;
    // What an input holds that could not be read whole, or in which nothing was known, nobody can say.
    bool known = !reading.errors && reading.binaries + reading.distributions + reading.side_files > 0;
    if ((!court.policy.required.empty() || court.policy.max_cpu) && !known) court.mark_unanswered();
    if (gpus_judged && known) tell_no_device_code(court, input, reading);
  }
  mark_plain(court, readings);
}

} // namespace isa_audit
