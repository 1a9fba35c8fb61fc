// The loader's rules. ROCr compares a code object with a GPU in three steps: the processor is equal, or the object is of the
// generic processor that covers the GPU's; then each of sramecc and xnack: an object that says on or off needs a GPU that is
// the same, one that says any or unsupported runs with either. HIP chooses among the entries of a bundle: the exact processor,
// then its generic, then SPIR-V.
#include "isa-audit/device/compatible.h"

#include <algorithm>

#include "isa-audit/device/processors.h"

namespace isa_audit {

namespace {

bool setting_fits(Setting object, Setting gpu) {
  return object == Setting::any || object == Setting::unsupported || object == gpu;
}

// gfx125x has both features fixed on and compilers of different age write any or on: the loader ignores them there.
bool ignores_features(const TargetId &gpu) { return gpu.processor.starts_with("gfx125"); }

} // namespace

Match compatible(const CodeObject &object, const TargetId &gpu) {
  const TargetId &target = object.target;
  if (target.vendor != gpu.vendor) return Match::none;
  if (target.kind == TargetKind::spirv) return gpu.vendor == Vendor::amd ? Match::spirv : Match::none;
  Match match = Match::exact;
  if (target.processor != gpu.processor) {
    const Processor *processor = find_processor(gpu.processor);
    if (target.kind != TargetKind::generic || !processor || processor->generic != target.processor) return Match::none;
    match = Match::generic;
  }
  if (!object.loadable) return Match::not_loadable;
  if (ignores_features(gpu)) return match;
  if (!setting_fits(target.sramecc, gpu.sramecc)) return Match::sramecc_mismatch;
  if (!setting_fits(target.xnack, gpu.xnack)) return Match::xnack_mismatch;
  return match;
}

Match best_match(const DeviceImage &image, const TargetId &gpu) {
  Match best = Match::none;
  for (const CodeObject &object : image.code_objects) best = std::max(best, compatible(object, gpu));
  return best;
}

} // namespace isa_audit
