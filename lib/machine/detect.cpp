// Puts a machine together from what was asked for. Each half is detected, given or left out on its own.
#include "isa-audit/machine/detect.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

#include "isa-audit/machine/cpu.h"
#include "isa-audit/machine/gpus.h"
#include "isa-audit/machine/root.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

using llvm::StringRef;

// Other tools' words for the machine at hand.
bool means_auto(StringRef word) {
  constexpr StringRef kWords[] = {"native", "local", "host", "detect", "this"};
  return std::ranges::any_of(kWords, [&](StringRef known) { return word.equals_insensitive(known); });
}

llvm::Error give_gpus(StringRef list, Machine &machine) {
  if (means_auto(list)) return make_error(llvm::formatv("'{0}': this machine's GPUs are --gpu auto", list).str());
  llvm::Expected<std::vector<TargetId>> targets = parse_target_list(list);
  if (!targets) return targets.takeError();
  for (TargetId &target : *targets) {
    if (target.kind != TargetKind::native || target.vendor != Vendor::amd)
      return make_error(
          llvm::formatv("'{0}' is not a GPU: --gpu takes processors such as gfx942 or gfx1100", target.text()).str());
    machine.gpus.push_back(assume_settings(std::move(target)));
  }
  return llvm::Error::success();
}

// The firmware's maker, by which a hypervisor that /proc/cpuinfo only flags can be named.
constexpr std::pair<StringRef, const char *> kMakers[] = {
    {"QEMU", "KVM"},    {"VMware", "VMware"},       {"innotek", "VirtualBox"}, {"Microsoft", "Hyper-V"},
    {"Xen", "Xen"},     {"Parallels", "Parallels"}, {"Amazon EC2", "KVM"},     {"Google", "KVM"},
    {"Nutanix", "KVM"}, {"Red Hat", "KVM"},
};

std::string hypervisor_by_firmware(const Root &root) {
  std::string maker = root.line("/sys/class/dmi/id/sys_vendor");
  for (const auto &[prefix, name] : kMakers)
    if (StringRef(maker).starts_with(prefix)) return name;
  return {};
}

llvm::Expected<Cpu> detect_cpu(const Root &root) {
  if (root.is_real()) {
    Cpu cpu = judge_cpu(read_cpuid());
    cpu.found = "CPUID";
    return cpu;
  }
  std::optional<std::string> text = root.read("/proc/cpuinfo", 1 << 20);
  if (!text) return make_error("no readable proc/cpuinfo below the given root");
  llvm::Expected<CpuIdentity> identity = parse_cpuinfo(*text);
  if (!identity) return identity.takeError();
  if (identity->hypervisor_flag) identity->hypervisor = hypervisor_by_firmware(root);
  Cpu cpu = judge_cpu(std::move(*identity));
  cpu.found = "/proc/cpuinfo";
  return cpu;
}

} // namespace

const char *how_name(How how) { return how == How::detected ? "detected" : how == How::given ? "given" : "profile"; }

Environment read_environment() {
  Environment environment;
  for (char **entry = environ; entry && *entry; ++entry) {
    auto [name, value] = StringRef(*entry).split('=');
    if (is_gpu_variable(name)) environment.emplace(name.str(), value.str());
  }
  return environment;
}

llvm::Expected<Machine> make_machine(const MachineRequest &request, const Environment &environment) {
  Machine machine;
  Root root(request.root);
  if (!root.is_real() && !root.exists("/")) return make_error(llvm::formatv("no folder {0}", request.root).str());
  if (request.gpu == "auto") {
    machine.how = How::detected;
    machine.judge_gpus = true;
    detect_gpus(root, environment, machine);
  } else if (request.gpu != "none") {
    machine.judge_gpus = true;
    if (llvm::Error error = give_gpus(request.gpu, machine)) return error;
  }
  machine.judge_cpu = request.cpu != "none";
  if (request.cpu == "auto") {
    machine.how = How::detected;
    llvm::Expected<Cpu> cpu = detect_cpu(root);
    // A tree without a CPU still answers for its GPUs.
    if (cpu)
      machine.cpu = std::move(*cpu);
    else
      machine.notes.push_back("CPU not found: " + llvm::toString(cpu.takeError()));
  } else if (request.cpu != "none") {
    if (means_auto(request.cpu)) return make_error(llvm::formatv("'{0}': this machine's CPU is --cpu auto", request.cpu).str());
    llvm::Expected<Cpu> cpu = parse_cpu(request.cpu);
    if (!cpu) return cpu.takeError();
    machine.cpu = std::move(*cpu);
  }
  return machine;
}

} // namespace isa_audit
