// Builds for CPU only or for another vendor's GPUs, told to whoever has an AMD GPU. Two signs: the files of a distribution hold
// NVIDIA's code and none for AMD, or its version says so (PyTorch's index: 2.9.0+cpu, +cu126, +xpu; PEP 440 local versions), or
// torch/version.py does (the wheels on PyPI have no local version in their metadata). Also told without any AMD GPU: packages
// of one environment of which some are for AMD's GPUs alone and others for NVIDIA's alone.
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
  const TorchVersion *torch = nullptr;
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
  for (const TorchVersion &version : inventory.torch_versions)
    if (auto at = out.find({version.origin.input, version.distribution, ""}); at != out.end() && !version.distribution.empty())
      at->second.torch = &version;
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

// What a build says it is for, and where: "version 2.9.0+cpu", "torch/version.py".
struct Said {
  std::string_view flavour;
  std::string by;
};

Said said_flavour(const Build &build) {
  if (!build.distribution) return {};
  Said out{flavour(build.distribution->version), "version " + build.distribution->version};
  // A distribution may carry torch's file as a copy; only torch's own speaks for it.
  if (!out.flavour.empty() || !build.torch || normalized_name(build.distribution->name) != "torch") return out;
  const TorchVersion &torch = *build.torch;
  out.by = build.torch->origin.path + " (" + torch.version + ")";
  if (!torch.hip.empty()) return {};
  if (!torch.cuda.empty())
    out.flavour = "CUDA";
  else if (!torch.xpu.empty())
    out.flavour = "Intel GPUs";
  else if (!torch.version.empty())
    out.flavour = flavour(torch.version).empty() ? "CPU only" : flavour(torch.version);
  return out;
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
  Said said = said_flavour(build);
  if (build.nvidia.empty() && said.flavour.empty()) return;
  Origin origin = build.nvidia.empty() ? Origin{build.distribution->input, "", "", 0} : build.origin;
  if (build.nvidia_files > 1 && build.distribution) origin = {origin.input, "", "", 0};
  Finding finding = make_finding("gpu-vendor-mismatch", origin, build.distribution ? build.distribution->name : std::string());
  finding.machine = machine;
  finding.subject = gpu;
  if (build.nvidia.empty()) {
    finding.holds = "none";
    finding.message = said.by + " is a build for " + std::string(said.flavour) + ": nothing in it runs on the GPU";
  } else {
    finding.holds = join_targets({build.nvidia.begin(), build.nvidia.end()}, 8);
    finding.message = "built for NVIDIA GPUs: " + counted(build.nvidia_files, "file") +
                      " with code for them and none for AMD (no HIP library in it); nothing in it runs on the GPU";
  }
  finding.fix = fix_for(build, gpu);
  court.count(Side::gpu, Fate::failed, origin.input, finding.distribution);
  court.add(std::move(finding));
}

bool is_for_nvidia(const Build &build) {
  return !build.amd && (!build.nvidia.empty() || said_flavour(build).flavour == "CUDA");
}

// Packages that call each other are for one vendor; torch decides for the others where it is there. NVIDIA's own libraries come
// along as dependencies and are no sign; wheels that lie in one folder are not installed together.
void judge_mixture(Court &court, const Builds &builds) {
  std::map<uint32_t, std::vector<const Build *>> environments;
  for (const auto &[key, build] : builds)
    if (build.distribution && build.distribution->path.find('!') == std::string::npos &&
        !normalized_name(build.distribution->name).starts_with("nvidia-"))
      environments[std::get<0>(key)].push_back(&build);
  for (const auto &[input, all] : environments) {
    auto amd_only = [](const Build *b) { return b->amd && b->nvidia.empty(); };
    auto torch =
        std::ranges::find(all, std::string("torch"), [](const Build *b) { return normalized_name(b->distribution->name); });
    auto other = std::ranges::find_if(all, [&](const Build *b) { return amd_only(b); });
    bool torch_is_amd = torch == all.end() ? other != all.end() : amd_only(*torch);
    if (torch != all.end() && !amd_only(*torch) && !is_for_nvidia(**torch)) continue;
    const Build *lead = torch != all.end() ? *torch : other != all.end() ? *other : nullptr;
    for (const Build *build : all) {
      if (!lead || build == lead || (torch_is_amd ? !is_for_nvidia(*build) : !amd_only(build))) continue;
      Finding finding = make_finding("gpu-vendor-mismatch", {input, "", "", 0}, build->distribution->name);
      finding.subject = torch_is_amd ? "NVIDIA" : "AMD";
      finding.holds = torch_is_amd ? join_targets({build->nvidia.begin(), build->nvidia.end()}, 8) : "code for AMD GPUs";
      finding.message = build->distribution->name + " is built for " + finding.subject + " GPUs, " + lead->distribution->name +
                        " beside it for " + (torch_is_amd ? "AMD" : "NVIDIA") +
                        " GPUs: the two cannot work on one GPU, and importing the one may fail for want of the libraries of "
                        "its vendor";
      finding.fix = "install builds of both for the GPU that is there";
      court.add(std::move(finding));
    }
  }
}

} // namespace

void judge_vendors(Court &court) {
  Builds builds = find_builds(court.inventory);
  bool any_amd = std::ranges::any_of(court.machines, [](const Machine &m) { return m.judge_gpus && !m.gpus.empty(); });
  if (!any_amd) return judge_mixture(court, builds);
  for (size_t i = 0; i < court.machines.size(); ++i) {
    const Machine &machine = court.machines[i];
    if (!machine.judge_gpus) continue;
    auto amd = std::ranges::find(machine.gpus, Vendor::amd, [](const Gpu &gpu) { return gpu.target.vendor; });
    if (amd == machine.gpus.end()) continue;
    for (const auto &[key, build] : builds) judge_build(court, static_cast<int>(i), build, amd->loader_target().processor);
  }
}

} // namespace isa_audit
