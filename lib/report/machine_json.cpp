#include "isa-audit/report/machine_json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "escape.h"

namespace isa_audit {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string &text) { return text.empty() ? Json() : Json(valid_utf8(text)); }

Json strings(const std::vector<std::string> &list) {
  Json out = Json::array();
  for (const std::string &text : list) out.push_back(valid_utf8(text));
  return out;
}

// "@/home/u/cpuinfo.txt" names a file of the user's.
std::string found_text(const std::string &found) {
  size_t at = found.find('@');
  if (at == std::string::npos) return found;
  return found.substr(0, at + 1) + last_two_parts(found.substr(at + 1));
}

Json cpu_json(const Cpu &cpu) {
  int level = highest_level(cpu.features);
  return {{"name", valid_utf8(cpu.name)},
          {"model", text_or_null(cpu.model)},
          {"level", level ? Json("x86-64-v" + std::to_string(level)) : Json()},
          {"hypervisor", text_or_null(cpu.hypervisor)},
          {"features", strings(cpu.features.names())},
          {"found", text_or_null(found_text(cpu.found))},
          {"notes", strings(cpu.notes)}};
}

Json gpu_json(const Gpu &gpu) {
  std::vector<std::string> assumed = gpu.assumed;
  std::ranges::sort(assumed);
  return {{"target", valid_utf8(gpu.target.text())},
          {"assumed", strings(assumed)},
          {"effective_target", gpu.effective ? Json(valid_utf8(gpu.effective->text())) : Json()},
          {"name", valid_utf8(gpu.name)},
          {"visible", gpu.visible},
          {"found", text_or_null(gpu.found)},
          {"notes", strings(gpu.notes)}};
}

// Paths, one or several between colons, without what may tell of a user: their last two parts.
std::string public_value(std::string_view value) {
  if (value.find('/') == value.npos) return std::string(value);
  std::string out;
  while (!value.empty()) {
    std::string_view path = value.substr(0, value.find(':'));
    value.remove_prefix(std::min(value.size(), path.size() + 1));
    size_t slash = path.rfind('/');
    if (slash != path.npos && slash > 0) slash = path.rfind('/', slash - 1);
    if (!out.empty()) out += ':';
    out += slash == path.npos ? path : path.substr(slash + 1);
  }
  return out;
}

} // namespace

Json machine_json(const Machine &machine) {
  Json gpus = Json::array(), overrides = Json::object();
  for (const Gpu &gpu : machine.gpus) gpus.push_back(gpu_json(gpu));
  for (const auto &[name, value] : machine.overrides) overrides[valid_utf8(name)] = valid_utf8(public_value(value));
  std::vector<std::string> rocm = machine.rocm;
  std::ranges::sort(rocm);
  return {
      {"how", how_name(machine.how)},
      {"cpu", machine.cpu ? cpu_json(*machine.cpu) : Json()},
      {"gpus", std::move(gpus)},
      {"environment", {{"rocm", strings(rocm)}, {"driver", text_or_null(machine.driver)}, {"overrides", std::move(overrides)}}},
      {"notes", strings(machine.notes)}};
}

} // namespace isa_audit
