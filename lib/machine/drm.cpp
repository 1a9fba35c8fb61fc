// What is left when KFD shows no GPU: /sys/class/drm/card*/device/{vendor,device} ("0x1002"), the driver's ip_discovery, and
// the traces of Windows' WSL. Such a GPU can be named but not used, so it is listed as hidden with the reason.
#include <algorithm>
#include <set>

#include "isa-audit/device/processors.h"
#include "isa-audit/machine/gpus.h"
#include "isa-audit/machine/kfd.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

using llvm::formatv;
using llvm::StringRef;

constexpr uint32_t kAmd = 0x1002;

uint32_t number(const Root &root, const std::string &path, unsigned base) {
  uint32_t value = 0;
  if (StringRef(root.line(path)).getAsInteger(base, value)) return 0;
  return value;
}

std::string processor_by_ip_discovery(const Root &root, const std::string &device) {
  std::string core = device + "/ip_discovery/die/0/GC/0/";
  if (!root.exists(core + "major")) return {};
  return std::string(processor_by_core(number(root, core + "major", 10), number(root, core + "minor", 10),
                                       number(root, core + "revision", 10)));
}

void add_gpu(const Root &root, const std::string &card, uint32_t id, const std::string &reason, Machine &machine) {
  std::string device = "/sys/class/drm/" + card + "/device";
  std::optional<PciGpu> known = find_pci_gpu(id);
  llvm::Expected<TargetId> target =
      parse_target_id(known ? std::string(known->processor) : processor_by_ip_discovery(root, device));
  if (!target) {
    llvm::consumeError(target.takeError());
    machine.notes.push_back(
        formatv("DRM {0} (1002:{1:x-4}) is not in the table of PCI ids: name it with --gpu; {2}", card, id, reason).str());
    return;
  }
  Gpu gpu = assume_settings(std::move(*target));
  gpu.found = "DRM " + card;
  gpu.pci = formatv("1002:{0:x-4}", id).str();
  if (known) gpu.name = known->name;
  gpu.visible = false;
  gpu.notes.push_back(reason);
  machine.gpus.push_back(std::move(gpu));
}

bool is_card(StringRef name) { return name.consume_front("card") && !name.empty() && llvm::all_of(name, llvm::isDigit); }

std::string reason_without_kfd(const Root &root, bool kfd_present) {
  if (kfd_present) return "KFD does not show it: not supported by this kernel's amdkfd, or masked in this container";
  if (root.exists("/sys/module/amdgpu"))
    return "KFD is not usable: amdgpu is loaded without it (kernel without HSA_AMD, or secure boot lockdown)";
  return "KFD is not usable: amdgpu is not loaded (another driver, blacklisted, or passed through to a virtual machine)";
}

} // namespace

void detect_by_drm(const Root &root, bool kfd_present, Machine &machine) {
  if (!kfd_present)
    machine.notes.push_back("no /sys/class/kfd: amdgpu is not loaded, or its KFD is not built");
  else if (machine.notes.empty())
    machine.notes.push_back("KFD shows no GPU");
  std::string reason = reason_without_kfd(root, kfd_present);
  std::set<uint32_t> others;
  for (const std::string &card : root.list("/sys/class/drm")) {
    if (!is_card(card)) continue;
    std::string device = "/sys/class/drm/" + card + "/device";
    uint32_t vendor = number(root, device + "/vendor", 0), id = number(root, device + "/device", 0);
    if (vendor == kAmd)
      add_gpu(root, card, id, reason, machine);
    else if (vendor)
      others.insert(vendor);
  }
  for (uint32_t vendor : others) {
    const char *name = vendor == 0x10de ? "an NVIDIA" : vendor == 0x8086 ? "an Intel" : nullptr;
    machine.notes.push_back(name ? formatv("{0} GPU is present: ROCm code does not run on it", name).str()
                                 : formatv("a display adapter of vendor {0:x-4} is present", vendor).str());
  }
  if (root.exists("/dev/dxg"))
    machine.notes.push_back("WSL (/dev/dxg): the GPU cannot be identified from sysfs; name it with --gpu");
}

std::vector<std::string> find_rocm_versions(const Root &root) {
  std::set<std::string> versions;
  std::vector<std::string> places;
  for (const std::string &name : root.list("/opt")) {
    if (!StringRef(name).starts_with("rocm")) continue;
    std::string place = "/opt/" + name;
    for (const std::string &inner : root.list(place))
      if (StringRef(inner).starts_with("core")) places.push_back(formatv("{0}/{1}", place, inner).str());
    places.push_back(std::move(place));
  }
  for (const std::string &place : places) {
    // "7.0.2-56": the build's number is no part of the version.
    std::string version = StringRef(root.line(place + "/.info/version")).split('-').first.str();
    bool plain = !version.empty() && version.size() < 32 && llvm::isDigit(version[0]) &&
                 llvm::all_of(version, [](char c) { return llvm::isAlnum(c) || c == '.' || c == '+' || c == '~'; });
    if (plain) versions.insert(version);
  }
  return {versions.begin(), versions.end()};
}

} // namespace isa_audit
