#include <algorithm>

#include <fmt/format.h>

#include "escape.h"
#include "text_parts.h"

namespace isa_audit {
namespace {

std::string gpu_text(const Gpu &gpu, bool verbose) {
  std::string out = gpu.effective && gpu.effective->processor != gpu.target.processor
                        ? fmt::format("{} posing as {}", gpu.target.text(), gpu.effective->text())
                        : gpu.target.text();
  if (verbose && !gpu.assumed.empty()) out += fmt::format(", {} assumed", fmt::join(gpu.assumed, " and "));
  if (!gpu.visible) out += ", hidden";
  return out;
}

// "gfx1100 (2) gfx1036": equal GPUs once.
std::string gpus_text(const Machine &machine, bool verbose) {
  if (machine.gpus.empty()) return "none found";
  std::vector<std::pair<std::string, size_t>> kinds;
  for (const Gpu &gpu : machine.gpus) {
    std::string text = gpu_text(gpu, verbose);
    auto at = std::ranges::find(kinds, text, &std::pair<std::string, size_t>::first);
    if (at == kinds.end())
      kinds.emplace_back(std::move(text), 1);
    else
      ++at->second;
  }
  std::string out;
  for (const auto &[text, count] : kinds) {
    out += out.empty() ? "" : " ";
    out += escaped(text);
    if (count > 1) out += fmt::format(" ({})", count);
  }
  return out;
}

std::string cpu_line(const Cpu &cpu) {
  std::string out = escaped(cpu.name.empty() ? "unknown" : cpu.name);
  int level = highest_level(cpu.features);
  if (level && !cpu.name.starts_with("x86-64-v")) out += fmt::format(" (x86-64-v{})", level);
  if (cpu.hypervisor == "unknown")
    out += " in a virtual machine";
  else if (!cpu.hypervisor.empty())
    out += fmt::format(" under {}", escaped(cpu.hypervisor));
  return out;
}

std::string notes_text(const Machine &machine, size_t width) {
  std::string out;
  auto add = [&](const std::string &note) { out += wrapped(escaped(note), width, "  "); };
  for (const Gpu &gpu : machine.gpus)
    for (const std::string &note : gpu.notes) add(gpu.target.text() + ": " + note);
  if (machine.cpu)
    for (const std::string &note : machine.cpu->notes) add(machine.cpu->name + ": " + note);
  for (const std::string &note : machine.notes) add(note);
  return out;
}

} // namespace

std::string machines_text(const TextContext &context) {
  std::string out;
  for (size_t i = 0; i < context.report.machines.size(); ++i) {
    const Machine &machine = context.report.machines[i];
    if (!machine.judge_gpus && !machine.judge_cpu && !machine.cpu) continue;
    std::string line = context.report.machines.size() > 1 ? fmt::format("machine {}", i) : "machine";
    if (machine.judge_gpus) line += "  gpu " + gpus_text(machine, context.style.verbose);
    if (machine.cpu || machine.judge_cpu)
      line += (machine.judge_gpus ? "   cpu " : "  cpu ") + (machine.cpu ? cpu_line(*machine.cpu) : "none found");
    out += wrapped(line, context.width(), "", 9);
    for (const auto &[name, value] : machine.overrides) out += fmt::format("  {}={}\n", escaped(name), escaped(value));
    if (context.style.verbose) out += notes_text(machine, context.width());
  }
  return out;
}

} // namespace isa_audit
