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

Json cpu_json(const Cpu &cpu) {
  int level = highest_level(cpu.features);
  return {{"name", valid_utf8(cpu.name)},
          {"level", level ? Json("x86-64-v" + std::to_string(level)) : Json()},
          {"hypervisor", text_or_null(cpu.hypervisor)},
          {"features", strings(cpu.features.names())}};
}

Json gpu_json(const Gpu &gpu) {
  std::vector<std::string> assumed = gpu.assumed;
  std::ranges::sort(assumed);
  return {{"target", valid_utf8(gpu.target.text())},
          {"assumed", strings(assumed)},
          {"effective_target", gpu.effective ? Json(valid_utf8(gpu.effective->text())) : Json()},
          {"name", valid_utf8(gpu.name)},
          {"visible", gpu.visible},
          {"notes", strings(gpu.notes)}};
}

} // namespace

Json machine_json(const Machine &machine) {
  Json gpus = Json::array(), overrides = Json::object();
  for (const Gpu &gpu : machine.gpus) gpus.push_back(gpu_json(gpu));
  for (const auto &[name, value] : machine.overrides) overrides[valid_utf8(name)] = valid_utf8(value);
  std::vector<std::string> rocm = machine.rocm;
  std::ranges::sort(rocm);
  return {{"how", how_name(machine.how)},
          {"cpu", machine.cpu ? cpu_json(*machine.cpu) : Json()},
          {"gpus", std::move(gpus)},
          {"environment",
           {{"rocm", strings(rocm)}, {"driver", text_or_null(machine.driver)}, {"overrides", std::move(overrides)}}}};
}

} // namespace isa_audit
