// The loader's rules. ROCr compares a code object with a GPU in three steps: the processor is equal, or the object is of the
// generic processor that covers the GPU's and has a generic version; then each of sramecc and xnack: an object that says on or
// off needs a GPU that is the same, one that says any or unsupported runs with either. HIP chooses among the entries of a
// bundle by their ids, under the same rules (comgr, isCompatibleIsaName): the exact processor, then its generic, then SPIR-V;
// it does not try another when ROCr refuses its choice.
#include "isa-audit/device/compatible.h"

#include <algorithm>

#include "isa-audit/device/processors.h"

namespace isa_audit {

namespace {

bool setting_fits(Setting object, Setting gpu) {
  return object == Setting::any || object == Setting::unsupported || object == gpu;
}

// gfx125x has both features fixed on and compilers of different age write any or on: neither can be chosen.
bool has_fixed_features(std::string_view processor) { return processor.starts_with("gfx125"); }

bool is_in_bundle(const CodeObject &object) { return object.carrier == Carrier::bundle || object.carrier == Carrier::ccob; }

// The setting that the bundle entry's id pins, which HIP goes by.
bool claims_xnack(const CodeObject &object) {
  auto id = parse_entry_id(object.claimed);
  if (id) return id->target && (id->target->xnack == Setting::on || id->target->xnack == Setting::off);
  llvm::consumeError(id.takeError());
  return false;
}

// A client APU whose xnack setting the runtime hides: its name in HIP's look-up is bare, which no entry with a setting matches;
// of ROCr's names those that end in xnack- are kept for it, but not those of the generic processor.
Match match_hidden_xnack(const CodeObject &object, const TargetId &gpu, Match match) {
  if (match == Match::xnack_mismatch) match = object.target.processor == gpu.processor ? Match::exact : Match::generic;
  if (!is_served(match) || match == Match::spirv) return match;
  if (is_in_bundle(object) && claims_xnack(object)) return Match::xnack_mismatch;
  if (object.target.xnack == Setting::on) return Match::xnack_mismatch;
  if (object.target.xnack == Setting::off && match == Match::generic) return Match::xnack_mismatch;
  return match;
}

// Of the entry's id, where it names another target than the code.
Match match_claim(const CodeObject &object, const TargetId &gpu) {
  CodeObject as_claimed;
  auto id = parse_entry_id(object.claimed);
  if (!id) {
    llvm::consumeError(id.takeError());
    return Match::exact;
  }
  if (!id->target) return Match::exact;
  if (id->target->kind == TargetKind::spirv) return Match::none; // compiled as what it is not
  as_claimed.target = *id->target;
  return compatible(as_claimed, gpu);
}

Answer knows_format(const CodeObject &object, Era era) {
  Answer out = Answer::yes;
  auto needs = [&](Answer answer) { out = std::min(out, answer); };
  if (object.ccob_version) needs(reads_ccob(era, object.ccob_version));
  if (object.target.kind == TargetKind::spirv) {
    needs(compiles_spirv(era));
    return out;
  }
  if (object.object_version) needs(loads_object_version(era, object.object_version));
  if (object.target.kind == TargetKind::generic) needs(knows_generic(era, object.target.processor, is_in_bundle(object)));
  if (object.fixed_xnack) needs(takes_fixed_xnack(era));
  return out;
}

} // namespace

bool is_gfx9_client_apu(std::string_view processor) {
  return processor == "gfx902" || processor == "gfx909" || processor == "gfx90c";
}

Match compatible(const CodeObject &object, const TargetId &gpu) {
  const TargetId &target = object.target;
  if (object.claim_differs)
    if (Match claim = match_claim(object, gpu); !is_served(claim)) return claim;
  if (target.vendor != gpu.vendor) return Match::none;
  if (target.kind == TargetKind::spirv) return gpu.vendor == Vendor::amd ? Match::spirv : Match::none;
  Match match = Match::exact;
  if (target.processor != gpu.processor) {
    const Processor *processor = find_processor(gpu.processor);
    if (target.kind != TargetKind::generic || !processor || processor->generic != target.processor) return Match::none;
    match = Match::generic;
  }
  if (!object.loadable) return Match::not_loadable;
  // Version 0: the object was not looked into (compressed code of a kpack archive).
  if (match == Match::generic && object.object_version && object.generic_version == 0) return Match::generic_version;
  if (has_fixed_features(gpu.processor)) return match;
  if (!setting_fits(target.sramecc, gpu.sramecc)) return Match::sramecc_mismatch;
  if (!setting_fits(target.xnack, gpu.xnack)) return Match::xnack_mismatch;
  return match;
}

Match compatible(const CodeObject &object, const TargetId &gpu, Era era) {
  Match match = compatible(object, gpu);
  if (is_gfx9_client_apu(gpu.processor)) {
    Answer hidden = hides_client_xnack(era);
    Match other = match_hidden_xnack(object, gpu, match);
    if (hidden == Answer::yes) match = other;
    if (hidden == Answer::unknown && is_served(match) != is_served(other)) return Match::runtime_unknown;
  }
  if (!is_served(match)) return match;
  switch (knows_format(object, era)) {
  case Answer::no: return Match::runtime_too_old;
  case Answer::unknown: return Match::runtime_unknown;
  case Answer::yes: break;
  }
  return match;
}

bool depends_on_era(const CodeObject &object, const TargetId &gpu) {
  Match newest = compatible(object, gpu, Era::newest);
  return std::ranges::any_of(eras(), [&](const EraRow &row) { return compatible(object, gpu, row.era) != newest; });
}

Match best_match(const DeviceImage &image, const TargetId &gpu) {
  Match best = Match::none;
  for (const CodeObject &object : image.code_objects) best = std::max(best, compatible(object, gpu));
  return best;
}

Match best_match(const DeviceImage &image, const TargetId &gpu, Era era) {
  Match best = Match::none;
  for (const CodeObject &object : image.code_objects) best = std::max(best, compatible(object, gpu, era));
  return best;
}

} // namespace isa_audit
