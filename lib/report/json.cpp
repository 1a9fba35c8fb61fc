// The JSON report, schema isa-audit/1 (lib/report/isa-audit-1.schema.json). Keys stand in the order of the contract, lists are
// sorted, and nothing tells of the time, the host or the user: the same input gives the same bytes.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "escape.h"
#include "isa-audit/report/machine_json.h"
#include "isa-audit/report/report.h"
#include "isa-audit/verdict/cpu_needs.h"
#include "isa-audit/verdict/external_code.h"
#include "isa-audit/verdict/side_cars.h"
#include "isa-audit/verdict/target_order.h"
#include "kernel_rows.h"
#include "llvm/ADT/StringExtras.h"

namespace isa_audit {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string &text) { return text.empty() ? Json() : Json(valid_utf8(text)); }

template <typename Strings> Json strings(const Strings &list) {
  Json out = Json::array();
  for (const std::string &text : list) out.push_back(valid_utf8(text));
  return out;
}

Json level_or_null(int level) { return level ? Json(fmt::format("x86-64-v{}", level)) : Json(); }

Json inputs_json(const Inventory &inventory) {
  Json out = Json::array();
  for (const Input &input : inventory.inputs) {
    Json row = {{"path", valid_utf8(input.path)}, {"kind", input.kind}, {"size", input.size}};
    if (!input.sha256.empty()) row["sha256"] = input.sha256;
    out.push_back(std::move(row));
  }
  return out;
}

Json summary_json(const Report &report) {
  std::map<Level, uint64_t> counts;
  for (const Finding &finding : report.judgement.findings) ++counts[finding.level];
  return {{"verdict", verdict_name(report.judgement.verdict)},
          {"errors", counts[Level::error]},
          {"warnings", counts[Level::warning]},
          {"notes", counts[Level::note]},
          {"binaries", report.inventory->binaries.size()},
          {"bytes", report.inventory->bytes}};
}

Json distributions_json(const Report &report) {
  auto needs = cpu_needs(*report.inventory);
  Json out = Json::array();
  const auto &list = report.inventory->distributions;
  for (size_t i = 0; i < list.size(); ++i) {
    Json min_cpu;
    if (auto at = needs.find({list[i].input, list[i].name}); at != needs.end() && at->second.guards_known)
      min_cpu = {{"import", at->second.import_cpu()},
                 {"all", at->second.all_cpu()},
                 {"exploits", strings(at->second.exploits.names())}};
    Verdict verdict = i < report.judgement.distributions.size() ? report.judgement.distributions[i] : Verdict::not_judged;
    out.push_back({{"name", valid_utf8(list[i].name)},
                   {"version", valid_utf8(list[i].version)},
                   {"input", list[i].input},
                   {"verdict", verdict_name(verdict)},
                   {"min_cpu", std::move(min_cpu)}});
  }
  return out;
}

// All code objects of one target in a file.
struct TargetSum {
  Vendor vendor = Vendor::amd;
  uint64_t images = 0, code_objects = 0, kernels = 0, bytes = 0;
  const DeviceImage *last = nullptr; // counted in `images`
  std::set<uint8_t> versions;
  std::set<std::string> carriers;
  uint8_t wavefronts = 0;

  void add(const CodeObject &object, Carrier carrier) {
    vendor = object.target.vendor;
    ++code_objects;
    kernels += object.kernels.size();
    bytes += object.size;
    if (object.object_version) versions.insert(object.object_version);
    carriers.insert(carrier_name(carrier));
    wavefronts |= object.wavefront_sizes;
  }
};

using TargetSums = std::map<std::string, TargetSum, TargetOrder>;

struct SetOrder {
  bool operator()(const std::vector<std::string> &a, const std::vector<std::string> &b) const {
    return std::ranges::lexicographical_compare(a, b, TargetOrder());
  }
};

Json targets_json(const TargetSums &sums) {
  Json out = Json::array();
  for (const auto &[target, sum] : sums) {
    Json versions = Json::array(), wavefronts = Json::array();
    for (uint8_t version : sum.versions) versions.push_back(fmt::format("v{}", version));
    if (sum.wavefronts & 1) wavefronts.push_back(32);
    if (sum.wavefronts & 2) wavefronts.push_back(64);
    out.push_back({{"target", valid_utf8(target)},
                   {"vendor", sum.vendor == Vendor::amd ? "amd" : "nvidia"},
                   {"images", sum.images},
                   {"code_objects", sum.code_objects},
                   {"kernels", sum.kernels},
                   {"bytes", sum.bytes},
                   {"object_versions", std::move(versions)},
                   {"wavefront_sizes", std::move(wavefronts)},
                   {"carriers", strings(sum.carriers)}});
  }
  return out;
}

// The archives that a library names, without the way up to them; an absolute path is not for public eyes.
std::string shown_archive(std::string path) {
  if (path.starts_with('/')) {
    size_t slash = path.rfind('/', path.rfind('/') - 1);
    return slash == std::string::npos ? path.substr(1) : path.substr(slash + 1);
  }
  while (path.starts_with("./") || path.starts_with("../")) path.erase(0, path.find('/') + 1);
  return path;
}

Json external_json(const Binary &binary, const ExternalIndex &archives) {
  Json out = Json::array();
  if (!binary.device->external) return out;
  for (const std::string &path : binary.device->external->search_paths)
    out.push_back({{"archive", valid_utf8(shown_archive(path))}, {"found", strings(archives.found_targets(binary, path))}});
  return out;
}

Json device_json(const Binary &binary, const ExternalIndex &archives) {
  const DeviceCode &device = *binary.device;
  TargetSums sums;
  std::map<std::vector<std::string>, uint64_t, SetOrder> sets;
  for (const DeviceImage &image : device.images) {
    std::set<std::string, TargetOrder> targets;
    for (const CodeObject &object : image.code_objects) {
      std::string target = object.target.text();
      TargetSum &sum = sums[target];
      sum.add(object, image.carrier);
      sum.images += sum.last != &image;
      sum.last = &image;
      targets.insert(std::move(target));
    }
    ++sets[{targets.begin(), targets.end()}];
  }
  for (const CodeObject &object : device.loose) sums[object.target.text()].add(object, object.carrier);
  // Listed beside AMD's targets, but no image set is made of them: nothing here is judged by NVIDIA's containers.
  for (const DeviceImage &image : device.nvidia)
    for (const CodeObject &object : image.code_objects) {
      TargetSum &sum = sums[object.target.text()];
      sum.add(object, image.carrier);
      sum.images += sum.last != &image;
      sum.last = &image;
    }
  Json image_sets = Json::array();
  for (const auto &[targets, images] : sets) image_sets.push_back({{"targets", strings(targets)}, {"images", images}});
  return {
      {"images", device.images.size()}, {"loose", device.loose.size()},        {"runtime_internal", device.runtime_internal},
      {"targets", targets_json(sums)},  {"image_sets", std::move(image_sets)}, {"external", external_json(binary, archives)}};
}

// A row for each kernel; a target stands twice where its code objects hold different kernels of one name.
Json kernels_json(const DeviceCode &device) {
  Json out = Json::array();
  for (const auto &[symbol, uses] : kernel_rows(device)) {
    Json targets = Json::array();
    for (const auto &[target, details] : uses) {
      if (details.empty()) targets.push_back({{"target", valid_utf8(target)}});
      for (const KernelDetails &d : details)
        targets.push_back({{"target", valid_utf8(target)},
                           {"wavefront_size", d.wavefront},
                           {"vgprs", d.vgprs},
                           {"agprs", d.agprs},
                           {"sgprs", d.sgprs},
                           {"vgpr_spills", d.vgpr_spills},
                           {"sgpr_spills", d.sgpr_spills},
                           {"lds", d.lds},
                           {"scratch", d.scratch}});
    }
    std::string name(symbol);
    out.push_back(
        {{"name", valid_utf8(name)}, {"demangled", valid_utf8(demangled_kernel(symbol))}, {"targets", std::move(targets)}});
  }
  return out;
}

Json evidence_json(const Evidence &e) {
  return {{"feature", feature_name(e.feature)},
          {"strength", strength_name(e.strength)},
          {"grade", grade_name(e.grade)},
          {"address", "0x" + llvm::utohexstr(e.address, /*LowerCase=*/true)},
          {"symbol", text_or_null(e.symbol)},
          {"bytes", e.bytes},
          {"instruction", valid_utf8(e.instruction)},
          {"path", strings(e.path)},
          {"guard", text_or_null(e.guard)}};
}

Json host_json(const HostCode &host) {
  Json calls = Json::object(), evidence = Json::array();
  for (const auto &[function, features] : host.at_call) calls[valid_utf8(function)] = strings(features.names());
  for (const Evidence &e : host.evidence) evidence.push_back(evidence_json(e));
  return {{"declared", {{"needed", level_or_null(host.needed_level)}, {"used", level_or_null(host.used_level)}}},
          {"at_load", strings(host.at_load.names())},
          {"at_import", strings(host.at_import.names())},
          {"at_call", std::move(calls)},
          {"unguarded", strings(host.unguarded.names())},
          {"guarded", strings(host.guarded.names())},
          {"evidence", std::move(evidence)}};
}

Json binaries_json(const Report &report) {
  const Inventory &inventory = *report.inventory;
  Json out = Json::array();
  const ExternalIndex archives(inventory);
  for (const Binary &binary : inventory.binaries) {
    out.push_back({{"input", binary.origin.input},
                   {"path", valid_utf8(binary.origin.path)},
                   {"distribution", text_or_null(binary.distribution)},
                   {"format", binary.format},
                   {"size", binary.size},
                   {"device", binary.device ? device_json(binary, archives) : Json()},
                   {"host", binary.host ? host_json(*binary.host) : Json()}});
    if (report.kernels && binary.device) out.back()["device"]["kernels"] = kernels_json(*binary.device);
  }
  return out;
}

Json sidecars_json(const Inventory &inventory) {
  Json out = Json::array();
  for (const SideCar &car : side_cars(inventory)) {
    Json targets = Json::array();
    for (const auto &[target, files] : car.targets) targets.push_back({{"target", valid_utf8(target)}, {"files", files}});
    out.push_back({{"input", car.origin.input},
                   {"library", side_library_name(car.library)},
                   {"path", valid_utf8(car.origin.path)},
                   {"targets", std::move(targets)}});
  }
  return out;
}

// What the file holds stands in a column of its own in the text report; here it leads the message.
std::string full_message(const Finding &finding) {
  if (finding.holds.empty()) return finding.message;
  return "holds " + finding.holds + ": " + finding.message;
}

Json findings_json(const Judgement &judgement) {
  Json out = Json::array();
  for (const Finding &f : judgement.findings) {
    bool of_machine = f.origin.path.empty() && f.machine >= 0 && f.distribution.empty();
    Json row = {{"rule", f.rule},
                {"level", level_name(f.level)},
                {"input", of_machine ? Json() : Json(f.origin.input)},
                {"path", text_or_null(f.origin.path)},
                {"distribution", text_or_null(f.distribution)},
                {"machine", f.machine < 0 ? Json() : Json(f.machine)}};
    if (!f.strength.empty()) row["strength"] = f.strength;
    row["subject"] = valid_utf8(f.subject);
    row["message"] = valid_utf8(full_message(f));
    row["fix"] = valid_utf8(f.fix);
    row["fingerprint"] = fingerprint(f);
    out.push_back(std::move(row));
  }
  return out;
}

Json problems_json(const Problems &problems) {
  Json out = Json::array();
  for (const Problem &p : problems)
    out.push_back({{"input", p.origin.input},
                   {"path", valid_utf8(p.origin.path)},
                   {"level", level_name(p.level)},
                   {"message", valid_utf8(p.origin.place.empty() ? p.message : p.origin.place + ": " + p.message)}});
  return out;
}

} // namespace

std::string write_json(const Report &report) {
  Json machines = Json::array();
  for (const Machine &machine : report.machines) machines.push_back(machine_json(machine));
  Json out = {{"schema", "isa-audit/1"},
              {"tool", {{"name", "isa-audit"}, {"version", report.version}, {"llvm", report.llvm_version}}},
              {"machines", std::move(machines)},
              {"inputs", inputs_json(*report.inventory)},
              {"summary", summary_json(report)},
              {"distributions", distributions_json(report)},
              {"binaries", binaries_json(report)},
              {"sidecars", sidecars_json(*report.inventory)},
              {"findings", findings_json(report.judgement)},
              {"problems", problems_json(report.inventory->problems)}};
  return out.dump(1) + "\n";
}

} // namespace isa_audit
