// Builds for CPU only or for another vendor's GPUs, told to whoever has an AMD GPU. Two signs: the files of a distribution hold
// NVIDIA's code and none for AMD, or its version says so (PyTorch's index: 2.9.0+cpu, +cu126, +xpu; PEP 440 local versions).
#include <algorithm>
#include <map>
#include <set>

#include "advice.h"
#include "court.h"
#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/target_order.h"

namespace isa_audit {
namespace {

struct Build {
  const Distribution *distribution = nullptr;
  Origin origin; // of the first file with NVIDIA's code
  uint64_t files = 0, nvidia_files = 0;
  std::set<std::string, TargetOrder> nvidia;
  bool amd = false;
};

// What a distribution or, where nobody owns it, a file holds: (input, distribution, path).
using Builds = std::map<std::tuple<uint32_t, std::string, std::string>, Build>;

void add_file(Build &build, const Binary &binary) {
  ++build.files;
  if (!binary.device) return;
  const DeviceCode &device = *binary.device;
  bool nvidia = false;
  auto add = [&](const CodeObject &object) {
    if (object.target.vendor == Vendor::amd) {
      build.amd = true;
      return;
    }
    nvidia = true;
    build.nvidia.insert(object.target.text());
  };
  for_each_object(device, add);
  for (const DeviceImage &image : device.nvidia) std::ranges::for_each(image.code_objects, add);
  build.amd |= device.hip_host || device.external;
  if (!nvidia) return;
  if (build.nvidia_files == 0) build.origin = binary.origin;
  ++build.nvidia_files;
}

Builds find_builds(const Inventory &inventory) {
  Builds out;
  for (const Binary &binary : inventory.binaries) {
    const std::string &owner = binary.distribution;
    add_file(out[{binary.origin.input, owner, owner.empty() ? binary.origin.path : ""}], binary);
  }
  for (const Distribution &d : inventory.distributions)
    if (auto at = out.find({d.input, d.name, ""}); at != out.end()) at->second.distribution = &d;
  return out;
}

// "CPU only", "CUDA", "Intel GPUs" for a version that says so; empty otherwise.
std::string_view flavour(std::string_view version) {
  size_t plus = version.find('+');
  if (plus == std::string_view::npos) return "";
  std::string_view local = version.substr(plus + 1);
  auto is = [&](std::string_view name) {
    return local.starts_with(name) && (local.size() == name.size() || local[name.size()] == '.');
  };
  if (is("cpu")) return "CPU only";
  if (is("xpu")) return "Intel GPUs";
  if (local.size() > 2 && local.starts_with("cu") && local[2] >= '0' && local[2] <= '9') return "CUDA";
  return "";
}

std::string fix_for(const Build &build, const std::string &gpu) {
  std::string name = build.distribution ? build.distribution->name : "";
  std::string normalized = normalized_name(name);
  if (normalized == "torch" || normalized == "torchvision" || normalized == "torchaudio")
    return "install the ROCm build: pip install " + normalized +
           " --index-url https://download.pytorch.org/whl/rocm<version>, one that has " + gpu;
  return name.empty() ? "use its ROCm build, if there is one for " + gpu
                      : "install a ROCm build of " + name + ", if there is one for " + gpu;
}

void judge_build(Court &court, int machine, const Build &build, const std::string &gpu) {
  if (build.amd) return;
  std::string_view said = build.distribution ? flavour(build.distribution->version) : "";
  if (build.nvidia.empty() && said.empty()) return;
  Origin origin = build.nvidia.empty() ? Origin{build.distribution->input, "", "", 0} : build.origin;
  if (build.nvidia_files > 1 && build.distribution) origin = {origin.input, "", "", 0};
  Finding finding = make_finding("gpu-vendor-mismatch", origin, build.distribution ? build.distribution->name : std::string());
  finding.machine = machine;
  finding.subject = gpu;
  if (build.nvidia.empty()) {
    finding.holds = "none";
    finding.message =
        "version " + build.distribution->version + " is a build for " + std::string(said) + ": nothing in it runs on the GPU";
  } else {
    finding.holds = join_targets({build.nvidia.begin(), build.nvidia.end()}, 8);
    finding.message = "built for NVIDIA GPUs: " + counted(build.nvidia_files, "file") +
                      " with code for them and none for AMD; nothing in it runs on the GPU";
  }
  finding.fix = fix_for(build, gpu);
  court.add(std::move(finding));
}

} // namespace

void judge_vendors(Court &court) {
  if (std::ranges::none_of(court.machines, [](const Machine &m) { return m.judge_gpus && !m.gpus.empty(); })) return;
  Builds builds = find_builds(court.inventory);
  for (size_t i = 0; i < court.machines.size(); ++i) {
    const Machine &machine = court.machines[i];
    if (!machine.judge_gpus) continue;
    auto amd = std::ranges::find(machine.gpus, Vendor::amd, [](const Gpu &gpu) { return gpu.target.vendor; });
    if (amd == machine.gpus.end()) continue;
    for (const auto &[key, build] : builds) judge_build(court, static_cast<int>(i), build, amd->loader_target().processor);
  }
}

} // namespace isa_audit
