// Lists of gfx targets as people give them: to --gpu, to --require, and pasted from build variables, which separate by ','
// (TF_ROCM_AMDGPU_TARGETS), by ';' (PYTORCH_ROCM_ARCH, GPU_TARGETS) or by blanks, often with empty parts.
#include <algorithm>

#include "isa-audit/device/processors.h"
#include "isa-audit/machine/detect.h"
#include "isa-audit/machine/kfd.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

llvm::Expected<std::vector<TargetId>> parse_target_list(std::string_view text) {
  std::vector<TargetId> targets;
  llvm::StringRef rest(text);
  while (!rest.empty()) {
    size_t end = rest.find_first_of(",; \t\r\n");
    llvm::StringRef part = rest.take_front(std::min(end, rest.size()));
    rest = rest.drop_front(std::min(end == llvm::StringRef::npos ? end : end + 1, rest.size()));
    if (part.empty()) continue;
    llvm::Expected<TargetId> target = parse_target_id(part.lower());
    // A marketing name may hold blanks.
    for (llvm::StringRef name : {llvm::StringRef(text), part}) {
      if (target) break;
      std::string processors;
      for (std::string_view processor : processors_by_name(name))
        processors.append(processors.empty() ? "" : " or ").append(processor);
      if (processors.empty()) continue;
      llvm::consumeError(target.takeError());
      return make_error(llvm::formatv("'{0}' is not a gfx processor; a GPU of that name is {1}", name, processors).str());
    }
    if (!target) return target.takeError();
    if (std::find(targets.begin(), targets.end(), *target) == targets.end()) targets.push_back(std::move(*target));
  }
  if (targets.empty()) return make_error("the list names no gfx target");
  return targets;
}

Gpu assume_settings(TargetId target) {
  Gpu gpu;
  gpu.target = std::move(target);
  // Every processor with the choice is sold with ECC on; KFD reports it on even for the Radeon VII (capability bit 26).
  if (gpu.target.sramecc == Setting::any) {
    gpu.target.sramecc = Setting::on;
    gpu.assumed.push_back("sramecc");
  }
  // amdgpu_gmc_noretry_set defaults to no retry on every part that is sold for compute.
  if (gpu.target.xnack == Setting::any) {
    gpu.target.xnack = Setting::off;
    gpu.assumed.push_back("xnack");
  }
  gpu.found = "--gpu";
  return gpu;
}

} // namespace isa_audit
