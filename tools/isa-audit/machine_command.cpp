// Layout of the text: a block for each GPU, the CPU, the software; in a block the first line is the identity and the others
// are "label  value" pairs, indented, with long values hanging under their start. GPUs that differ in nothing but their place
// (eight in a server, 64 partitions) share a block.
#include "machine_command.h"

#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "isa-audit/report/machine_json.h"
#include "isa-audit/report/report.h"
#include "terminal.h"

namespace isa_audit {

namespace {

constexpr size_t kWidth = 80;
constexpr size_t kIndent = 9, kLabel = 14; // columns before a label, and of a label

// Appends `value` with its words wrapped; `at` is the column it starts in, and that of its further lines.
void append_wrapped(std::string &out, std::string_view value, size_t at, size_t width) {
  size_t column = at;
  while (!value.empty()) {
    std::string_view word = value.substr(0, value.find(' '));
    value.remove_prefix(std::min(value.size(), word.size() + 1));
    if (column > at && width && column + 1 + word.size() > width) {
      out.append("\n").append(at, ' ');
      column = at;
    } else if (column > at) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  out += '\n';
}

class Block {
public:
  explicit Block(size_t width) : width_(width) {}

  void head(std::string_view kind, const std::string &text) {
    text_ += fmt::format("{:<{}}", kind, kIndent);
    append_wrapped(text_, escaped(text), kIndent, width_);
  }
  void line(std::string_view label, const std::string &value) {
    if (value.empty()) return;
    text_ += fmt::format("{:{}}{:<{}}", "", kIndent, label, kLabel);
    append_wrapped(text_, escaped(value), kIndent + kLabel, width_);
  }
  const std::string &text() const { return text_; }

private:
  size_t width_;
  std::string text_;
};

std::string join(const std::vector<std::string> &words, const char *between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

std::string gpu_lines(const Gpu &gpu, size_t width) {
  Block block(width);
  block.line("assumed", join(gpu.assumed));
  if (gpu.effective)
    block.line("override", fmt::format("physical {}, the runtime takes it for {}", gpu.target.text(), gpu.effective->text()));
  block.line("visible", gpu.visible ? "yes" : "no");
  for (const std::string &note : gpu.notes) block.line("note", note);
  return block.text();
}

std::string gpu_blocks(const Machine &machine, size_t width) {
  std::string out;
  for (size_t first = 0, end = 0; first < machine.gpus.size(); first = end) {
    const Gpu &gpu = machine.gpus[first];
    std::string lines = gpu_lines(gpu, width);
    auto same = [&](const Gpu &other) {
      return other.target == gpu.target && other.name == gpu.name && gpu_lines(other, width) == lines;
    };
    for (end = first + 1; end < machine.gpus.size() && same(machine.gpus[end]);) ++end;
    Block block(width);
    size_t count = end - first;
    std::string label = !gpu.visible ? "gpu -"
                        : count == 1 ? fmt::format("gpu {}", first)
                                     : fmt::format("gpu {}-{}", first, end - 1);
    block.head(label, fmt::format("{}{}{}{}", gpu.target.text(), gpu.name.empty() ? "" : "  ", gpu.name,
                                  count == 1 ? "" : fmt::format("  ({})", count)));
    std::string found = gpu.found;
    if (!gpu.pci.empty()) found += ", " + gpu.pci;
    if (count > 1) found += fmt::format(" to {}", machine.gpus[end - 1].found);
    block.line("found", found);
    out += block.text() + lines;
  }
  return out;
}

std::string level_name(int level) { return level ? fmt::format("x86-64-v{}", level) : "below x86-64-v1"; }

std::string cpu_block(const Cpu &cpu, size_t width) {
  Block block(width);
  block.head("cpu", cpu.model.empty() ? cpu.name : fmt::format("{}  {}", cpu.name, cpu.model));
  block.line("found", cpu.found);
  int level = highest_level(cpu.features);
  block.line("level", level_name(level));
  block.line(fmt::format("above v{}", level), join((cpu.features - psabi_level(level ? level : 1)).names()));
  if (level < 4) block.line(fmt::format("lacks for v{}", level + 1), join((psabi_level(level + 1) - cpu.features).names()));
  block.line("hypervisor", cpu.hypervisor == "unknown" ? "one that does not tell its name" : cpu.hypervisor);
  for (const std::string &note : cpu.notes) block.line("note", note);
  return block.text();
}

} // namespace

std::string machine_text(const Machine &machine, size_t width) {
  std::string out = gpu_blocks(machine, width);
  Block rest(width);
  if (machine.gpus.empty()) rest.head("gpu", machine.judge_gpus ? "none found" : "not asked for");
  out += rest.text();
  if (machine.cpu) {
    out += cpu_block(*machine.cpu, width);
  } else {
    Block none(width);
    none.head("cpu", machine.judge_cpu ? "none found" : "not asked for");
    out += none.text();
  }
  Block software(width);
  if (!machine.rocm.empty()) software.head("rocm", join(machine.rocm));
  if (!machine.driver.empty()) software.head("amdgpu", machine.driver);
  for (const auto &[name, value] : machine.overrides) software.head("set", fmt::format("{}={}", name, value));
  for (const std::string &note : machine.notes) software.head("note", note);
  return out + software.text();
}

std::string machine_profile(const Machine &machine) {
  nlohmann::ordered_json profile = {{"schema", "isa-audit-machine/1"}};
  profile.update(machine_json(machine));
  return profile.dump(2) + "\n";
}

int machine_command(const MachineRequest &request, std::string_view format) {
  llvm::Expected<Machine> machine = make_machine(request, read_environment());
  if (!machine) return complain(llvm::toString(machine.takeError()));
  std::string out = format == "json" ? machine_profile(*machine) : machine_text(*machine, ::isatty(STDOUT_FILENO) ? kWidth : 0);
  return print_out(out);
}

} // namespace isa_audit
