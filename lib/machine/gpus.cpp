// GPUs from sysfs, in the steps the runtime itself takes: nodes of KFD; those whose device nodes this process may open; names
// that HSA_OVERRIDE_GFX_VERSION changes; one xnack mode for the process; the filters of ROCr and of HIP.
//
// A GPU that the runtime will not show stays in the list with visible = false and the reason: that is what people look for.
#include "isa-audit/machine/gpus.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "isa-audit/device/compatible.h"
#include "isa-audit/device/processors.h"
#include "isa-audit/machine/kfd.h"
#include "isa-audit/machine/runtime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

using llvm::formatv;
using llvm::StringRef;

constexpr uint32_t kAmd = 0x1002;
constexpr uint32_t kSramEcc = 1u << 26; // SRAM_EDCSupport in hsakmttypes.h; bit 19 is the old one, wrong on some parts
constexpr uint32_t kFirstRenderNode = 128, kLastRenderNode = 255;

constexpr std::string_view kVariables[] = {
    "CUDA_VISIBLE_DEVICES",       "GPU_DEVICE_ORDINAL",       "HIP_VISIBLE_DEVICES",  "HSA_ENABLE_SRAMECC",
    "HSA_MODEL_TOPOLOGY",         "HSA_OVERRIDE_GFX_VERSION", "ROCR_VISIBLE_DEVICES", "HSA_XNACK",
    "HIP_FORCE_SPIRV_CODEOBJECT", "ROCM_KPACK_DISABLE",       "ROCM_KPACK_PATH",      "ROCM_KPACK_PATH_PREFIX",
};
constexpr StringRef kOverrideOfNode = "HSA_OVERRIDE_GFX_VERSION_";

const std::string *find_value(const Environment &environment, const std::string &name) {
  auto at = environment.find(name);
  return at == environment.end() ? nullptr : &at->second;
}

std::string value_or_empty(const Environment &environment, const std::string &name) {
  const std::string *value = find_value(environment, name);
  return value ? *value : std::string();
}

// A GPU on its way through the steps.
struct Candidate {
  Gpu gpu;
  KfdNode node;
  bool opens = true;      // its device nodes can be opened: it has a number in the runtime's node list
  unsigned user_node = 0; // that number
};

void hide(Gpu &gpu, std::string reason) {
  gpu.visible = false;
  gpu.notes.push_back(std::move(reason));
}

TargetId open_target(const std::string &processor) {
  TargetId target;
  target.processor = processor;
  if (const Processor *known = find_processor(processor)) {
    target.sramecc = known->sramecc ? Setting::any : Setting::unsupported;
    target.xnack = known->xnack ? Setting::any : Setting::unsupported;
  }
  return target;
}

// None, with a note, where nothing tells the processor: such a GPU cannot be judged.
std::optional<Candidate> make_candidate(const KfdNode &node, Machine &machine) {
  Candidate candidate{{}, node, true, 0};
  Gpu &gpu = candidate.gpu;
  gpu.found = formatv("KFD node {0}", node.number).str();
  gpu.pci = formatv("{0:x-4}:{1:x-4} at {2:x-4}:{3:x-2}:{4:x-2}.{5}", node.vendor_id, node.device_id, node.domain,
                    node.location_id >> 8 & 0xff, node.location_id >> 3 & 0x1f, node.location_id & 7)
                .str();
  std::optional<PciGpu> known = find_pci_gpu(node.device_id);
  if (known) gpu.name = known->name;
  std::string processor = gfx_name(node.gfx_target_version.value_or(0));
  if (processor.empty() && known) {
    processor = known->processor;
    gpu.notes.push_back("processor known by its PCI id: this kernel does not show gfx_target_version");
  }
  if (processor.empty()) {
    machine.notes.push_back(
        formatv("{0} (1002:{1:x-4}) shows no processor version and is not in the table of PCI ids: name it with --gpu",
                gpu.found, node.device_id)
            .str());
    return std::nullopt;
  }
  if (!find_processor(processor))
    gpu.notes.push_back(processor + " is newer than this version of isa-audit: its settings are not known");
  gpu.target = open_target(processor);
  return candidate;
}

void set_sramecc(Candidate &candidate, std::string_view wish) {
  Gpu &gpu = candidate.gpu;
  if (gpu.target.sramecc == Setting::unsupported) return;
  bool on = candidate.node.capability & kSramEcc;
  // KFD before interface 1.4 reports it wrongly; ROCr then takes gfx908 as on. Such a kernel has no gfx_target_version either.
  if (!candidate.node.gfx_target_version) {
    on |= gpu.target.processor == "gfx908";
    gpu.assumed.push_back("sramecc");
  }
  if (wish == "0" || wish == "1") on = wish == "1";
  gpu.target.sramecc = on ? Setting::on : Setting::off;
}

void set_xnack(Gpu &gpu, const XnackMode &mode, int noretry, std::string_view wish) {
  if (gpu.target.xnack == Setting::unsupported) return;
  gpu.target.xnack = mode.on ? Setting::on : Setting::off;
  gpu.assumed.push_back("xnack");
  if (is_gfx9_client_apu(gpu.target.processor))
    gpu.notes.push_back(
        "xnack of this APU is not settled: ROCm of 2026-07 and later reports it as unsupported, and kernels differ "
        "in their default; code objects that pin xnack may be refused either way");
  else if (!mode.on && wish != "0" && noretry != 0 && chooses_xnack_per_process(gpu.target.processor) && mode.note.empty())
    gpu.notes.push_back("xnack is off by default and on under HSA_XNACK=1");
}

std::string access_note(const Root &root, const std::string &path, int error) {
  if (error == ENOENT)
    return formatv("{0} does not exist{1}", path,
                   path == "/dev/kfd" ? ": pass it into the container, or load amdgpu" : ": not passed into the container")
        .str();
  std::string note = formatv("no access to {0} ({1})", path, std::strerror(error)).str();
  if (std::optional<Root::Owner> owner = root.owner(path)) {
    note +=
        formatv(": it belongs to group {0} (gid {1}), mode {2}{3}{4}; add the user to that group, or run the container with "
                "--group-add {1}",
                owner->group.empty() ? "without a name here" : owner->group, owner->gid, owner->mode >> 6 & 7,
                owner->mode >> 3 & 7, owner->mode & 7)
            .str();
  }
  return note;
}

// libhsakmt: a render node that is missing or refused with EPERM hides its GPU; any other failure, and a node without render
// minor, stops the whole topology.
void judge_access(const Root &root, std::vector<Candidate> &candidates, Machine &machine) {
  if (candidates.empty()) return;
  if (!root.is_real() && !root.exists("/dev")) {
    machine.notes.push_back("no dev folder below the given root: access to the GPUs was not judged");
    return;
  }
  std::string stop;
  if (int error = root.access_error("/dev/kfd")) stop = access_note(root, "/dev/kfd", error);
  for (Candidate &candidate : candidates) {
    uint32_t minor = candidate.node.render_minor;
    std::string path = formatv("/dev/dri/renderD{0}", minor).str();
    if (minor < kFirstRenderNode || minor > kLastRenderNode) {
      candidate.opens = false;
      hide(candidate.gpu, "it has no render node");
      if (stop.empty()) stop = formatv("the runtime stops at {0}, which has no render node", candidate.gpu.found).str();
    } else if (int error = root.access_error(path)) {
      candidate.opens = false;
      hide(candidate.gpu, access_note(root, path, error));
      if (stop.empty() && error != ENOENT && error != EPERM)
        stop = formatv("the runtime stops at {0}, whose render node it may not open", candidate.gpu.found).str();
    }
  }
  if (stop.empty()) return;
  for (Candidate &candidate : candidates)
    if (candidate.gpu.visible) hide(candidate.gpu, stop);
}

// The runtime numbers CPU nodes and the GPUs it can open, in the order of sysfs.
void number_nodes(const Kfd &kfd, std::vector<Candidate> &candidates) {
  unsigned next = 0;
  for (const KfdNode &node : kfd.nodes) {
    if (node.masked) continue;
    if (!node.is_gpu()) {
      ++next;
      continue;
    }
    auto at = llvm::find_if(candidates, [&](const Candidate &c) { return c.node.number == node.number; });
    if (at == candidates.end())
      ++next; // not judged, but there
    else if (at->opens)
      at->user_node = next++;
  }
}

std::string override_note(StringRef physical, StringRef effective) {
  StringRef family = physical.drop_back(1), other = effective.drop_back(1);
  if (family == other) return formatv("runs {0} code on {1} by an override that nobody supports", effective, physical).str();
  return formatv("an override makes {0} run {1} code, another family: it may hang, fault or compute wrongly", physical,
                 effective)
      .str();
}

void apply_overrides(const Environment &environment, std::vector<Candidate> &candidates) {
  std::string stop;
  for (Candidate &candidate : candidates) {
    if (!candidate.opens) continue;
    Gpu &gpu = candidate.gpu;
    std::string name = formatv("{0}{1}", kOverrideOfNode, candidate.user_node).str();
    const std::string *value = find_value(environment, name);
    if (!value) value = find_value(environment, name = kOverrideOfNode.drop_back(1).str());
    if (!value) continue;
    std::string processor = override_processor(*value);
    if (processor.empty()) {
      stop = formatv("the runtime refuses {0}={1} and starts without any GPU: write three decimal fields, as in 11.0.0", name,
                     *value)
                 .str();
      break;
    }
    gpu.effective = open_target(processor);
    if (!find_processor(processor))
      hide(gpu, formatv("{0}={1} names no processor: the runtime leaves the GPU out", name, *value).str());
    else if (processor != gpu.target.processor)
      gpu.notes.push_back(override_note(gpu.target.processor, processor));
  }
  if (stop.empty()) return;
  for (Candidate &candidate : candidates)
    if (candidate.gpu.visible) hide(candidate.gpu, stop);
}

// ROCr takes the choice of settings from the processor of the override, their values from the hardware and the process.
void settle_effective(Candidate &candidate, const XnackMode &mode, std::string_view sramecc_wish) {
  if (!candidate.gpu.effective) return;
  TargetId &target = *candidate.gpu.effective;
  if (target.xnack != Setting::unsupported) target.xnack = mode.on ? Setting::on : Setting::off;
  bool on = sramecc_wish == "1" || (sramecc_wish != "0" && candidate.node.capability & kSramEcc);
  if (target.sramecc != Setting::unsupported) target.sramecc = on ? Setting::on : Setting::off;
}

void note_partitions(std::vector<Candidate> &candidates) {
  std::map<uint64_t, std::vector<Candidate *>> by_id;
  for (Candidate &candidate : candidates)
    if (candidate.node.unique_id) by_id[candidate.node.unique_id].push_back(&candidate);
  for (const auto &[id, parts] : by_id)
    for (size_t i = 0; parts.size() > 1 && i < parts.size(); ++i)
      parts[i]->gpu.found += formatv(", partition {0} of {1} of one GPU", i + 1, parts.size()).str();
}

// Reorders the visible ones by a filter, and hides the rest.
template <typename Select>
void filter(std::vector<Candidate> &candidates, const std::string &variable, std::string_view value, const Select &select,
            Machine &machine) {
  std::vector<size_t> shown;
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].gpu.visible) {
      shown.push_back(i);
      ids.push_back(candidates[i].node.unique_id);
    }
  Selection selection = select(value, ids);
  if (!selection.note.empty() && !shown.empty()) machine.notes.push_back(selection.note);
  std::vector<Candidate> ordered;
  std::vector<bool> taken(candidates.size());
  for (size_t choice : selection.chosen) {
    taken[shown[choice]] = true;
    ordered.push_back(std::move(candidates[shown[choice]]));
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (taken[i]) continue;
    if (candidates[i].gpu.visible) hide(candidates[i].gpu, formatv("hidden by {0}={1}", variable, value).str());
    ordered.push_back(std::move(candidates[i]));
  }
  candidates = std::move(ordered);
}

void apply_filters(const Environment &environment, std::vector<Candidate> &candidates, Machine &machine) {
  std::vector<Candidate> ordered; // the visible ones first
  for (bool visible : {true, false})
    for (Candidate &candidate : candidates)
      if (candidate.gpu.visible == visible) ordered.push_back(candidate);
  candidates = std::move(ordered);
  if (const std::string *value = find_value(environment, "ROCR_VISIBLE_DEVICES"))
    filter(candidates, "ROCR_VISIBLE_DEVICES", *value, select_rocr, machine);
  // For HIP empty means unset, and the first of the two that is not empty counts alone.
  for (const char *name : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
    std::string value = value_or_empty(environment, name);
    if (value.empty()) continue;
    filter(candidates, name, value, select_hip, machine);
    break;
  }
  if (find_value(environment, "GPU_DEVICE_ORDINAL"))
    machine.notes.push_back("GPU_DEVICE_ORDINAL is read by OpenCL only: HIP shows all GPUs");
}

int read_noretry(const Root &root) {
  int noretry;
  return StringRef(root.line("/sys/module/amdgpu/parameters/noretry")).getAsInteger(10, noretry) ? -1 : noretry;
}

std::vector<Candidate> take_gpus(const Kfd &kfd, Machine &machine) {
  std::vector<Candidate> candidates;
  size_t masked = 0;
  for (const KfdNode &node : kfd.nodes) {
    masked += node.masked;
    if (!node.is_gpu()) continue;
    if (node.vendor_id && node.vendor_id != kAmd)
      machine.notes.push_back(
          formatv("KFD node {0} belongs to another vendor ({1:x-4}): ROCm does not use it", node.number, node.vendor_id).str());
    else if (std::optional<Candidate> candidate = make_candidate(node, machine))
      candidates.push_back(std::move(*candidate));
  }
  if (masked)
    machine.notes.push_back(formatv("{0} of KFD's nodes cannot be read: a container's device rules hide {1} GPU{2}", masked,
                                    masked, masked == 1 ? "" : "s")
                                .str());
  return candidates;
}

void detect_by_kfd(const Root &root, const Environment &environment, const Kfd &kfd, Machine &machine) {
  std::vector<Candidate> candidates = take_gpus(kfd, machine);
  int noretry = read_noretry(root);
  std::string xnack_wish = value_or_empty(environment, "HSA_XNACK");
  std::string sramecc_wish = value_or_empty(environment, "HSA_ENABLE_SRAMECC");
  std::vector<std::string> processors;
  processors.reserve(candidates.size());
  for (const Candidate &candidate : candidates) processors.push_back(candidate.gpu.target.processor);
  XnackMode mode = predict_xnack(processors, noretry, xnack_wish);
  if (!mode.note.empty() && !candidates.empty()) machine.notes.push_back(mode.note);
  for (Candidate &candidate : candidates) {
    set_sramecc(candidate, sramecc_wish);
    set_xnack(candidate.gpu, mode, noretry, xnack_wish);
  }
  judge_access(root, candidates, machine);
  number_nodes(kfd, candidates);
  apply_overrides(environment, candidates);
  for (Candidate &candidate : candidates) settle_effective(candidate, mode, sramecc_wish);
  note_partitions(candidates);
  apply_filters(environment, candidates, machine);
  for (Candidate &candidate : candidates) machine.gpus.push_back(std::move(candidate.gpu));
}

} // namespace

bool is_gpu_variable(std::string_view name) {
  return llvm::is_contained(kVariables, name) || StringRef(name).starts_with(kOverrideOfNode);
}

void detect_gpus(const Root &root, const Environment &environment, Machine &machine) {
  for (const auto &[name, value] : environment)
    if (is_gpu_variable(name)) machine.overrides.emplace(name, value);
  Kfd kfd = read_kfd(root);
  detect_by_kfd(root, environment, kfd, machine);
  if (machine.gpus.empty()) detect_by_drm(root, kfd.present, machine);
  machine.rocm = find_rocm_versions(root);
  machine.driver = root.line("/sys/module/amdgpu/version");
  if (const std::string *folder = find_value(environment, "HSA_MODEL_TOPOLOGY"))
    machine.notes.push_back("HSA_MODEL_TOPOLOGY is set: the runtime reads a made-up topology from " + *folder);
}

} // namespace isa_audit
