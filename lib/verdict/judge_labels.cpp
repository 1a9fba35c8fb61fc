// What a code object says of itself in three places. HIP chooses an entry of a bundle by its id; ROCr then looks only at the
// ELF flags of what it was given; nobody who loads it looks at the target in its metadata. An object is mislabelled when some
// GPU that its id invites is turned away by its flags. With --deep the code itself is asked too.
#include <algorithm>
#include <map>
#include <optional>

#include "court.h"
#include "isa-audit/device/processors.h"
#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/target_order.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {
namespace {

// unknown: the id names no processor there is, while the code is for one.
enum class Label : uint8_t { right, spelling, wrong, unknown };

// Object versions 2 and 3 have no "any": an id without settings stands for both settings off there.
bool is_two_state(const CodeObject &object) { return object.object_version == 2 || object.object_version == 3; }

Label judge_label(const CodeObject &object, const TargetId &claim) {
  const TargetId &actual = object.target;
  if (actual.kind == TargetKind::spirv || !object.loadable) return Label::right;
  if (claim.kind == TargetKind::spirv) return Label::wrong;
  if (claim.processor == actual.processor) {
    if (is_two_state(object)) return Label::right;
  } else if (!find_processor(actual.processor)) {
    return Label::right; // newer than the table: nothing can be said
  } else if (!find_processor(claim.processor)) {
    return Label::unknown;
  }
  bool rejected = std::ranges::any_of(gpus_of(claim), [&](const TargetId &gpu) { return !is_served(compatible(object, gpu)); });
  return rejected ? Label::wrong : claim.text() == actual.text() ? Label::right : Label::spelling;
}

struct Disagreement {
  Label label;
  uint64_t count = 0;
};

using Disagreements = std::map<std::pair<std::string, std::string>, Disagreement>; // (claim, actual)

// Of the entry ids and of the metadata, each with the flags.
void compare_claims(const CodeObject &object, Disagreements &entries, Disagreements &metadata) {
  auto said = [&](const std::string &id) -> std::optional<TargetId> {
    auto entry = parse_entry_id(id);
    if (entry) return entry->target && entry->target->vendor == Vendor::amd ? entry->target : std::nullopt;
    llvm::consumeError(entry.takeError());
    return std::nullopt;
  };
  if (!object.claimed.empty())
    if (std::optional<TargetId> claim = said(object.claimed))
      if (Label label = judge_label(object, *claim); label != Label::right)
        ++entries.try_emplace({claim->text(), object.target.text()}, Disagreement{label}).first->second.count;
  if (object.metadata_target.empty() || object.target.kind == TargetKind::spirv) return;
  std::optional<TargetId> claim = said("hip-" + object.metadata_target);
  if (claim && claim->text() != object.target.text())
    ++metadata.try_emplace({claim->text(), object.target.text()}, Disagreement{Label::spelling}).first->second.count;
}

void tell_entries(Court &court, const Binary &binary, const Disagreements &disagreements) {
  for (const auto &[names, found] : disagreements) {
    const auto &[claim, actual] = names;
    Finding finding = make_finding("gpu-object-mislabelled", binary.origin, binary.distribution);
    finding.subject = claim;
    std::string entries = found.count == 1 ? "an entry" : std::to_string(found.count) + " entries";
    finding.holds = llvm::formatv("{0} in {1} for {2}", actual, entries, claim);
    if (found.label == Label::wrong) {
      finding.message = "the runtime chooses the entry by its id, the loader refuses the code object by its ELF flags: kernels "
                        "fail with hipErrorNoBinaryForGpu or hipErrorInvalidImage on " +
                        claim;
      finding.fix = "build the file again from clean; do not rename bundle entries";
      court.rule_on(Side::gpu, Fate::partial, std::move(finding));
    } else if (found.label == Label::unknown) {
      finding.message = "no GPU has the name that the entry id gives: the runtime never chooses the entry";
      std::string_view near = nearest_processor(claim.substr(0, claim.find(':')));
      if (!near.empty()) finding.message += " (is " + std::string(near) + " meant?)";
      finding.fix = "build the file again for " + actual;
      court.rule_on(Side::gpu, Fate::partial, std::move(finding));
    } else {
      finding.level = Level::note;
      finding.message = "the entry id and the ELF flags are spelled differently; the loader takes it all the same";
      court.add(std::move(finding));
    }
  }
}

void tell_metadata(Court &court, const Binary &binary, const Disagreements &disagreements) {
  for (const auto &[names, found] : disagreements) {
    const auto &[claim, actual] = names;
    Finding finding = make_finding("gpu-object-mislabelled", binary.origin, binary.distribution);
    finding.level = Level::note;
    finding.subject = claim;
    finding.holds = llvm::formatv("{0} in {1} whose metadata says {2}", actual, counted(found.count, "code object"), claim);
    finding.message = "the metadata names another target than the ELF flags; the loader goes by the flags, tools may not";
    court.add(std::move(finding));
  }
}

// Code that its processor cannot decode, by target.
void tell_code(Court &court, const Binary &binary, const std::map<std::string, CodeCheck> &bad) {
  for (const auto &[target, check] : bad) {
    Finding finding = make_finding("gpu-object-mislabelled", binary.origin, binary.distribution);
    finding.level = Level::warning;
    finding.subject = target;
    finding.holds = llvm::formatv("{0} of {1} that {2} cannot decode", check.bad, counted(check.functions, "function"), target);
    finding.message =
        llvm::formatv("instructions that {0} does not have, the first at {1}: code for another processor, damaged, "
                      "or newer than LLVM {2} knows",
                      target, check.first_bad, ISA_AUDIT_LLVM_VERSION)
            .str();
    finding.fix = "build the file again from clean for " + target;
    court.add(std::move(finding));
  }
}

// The JSON file beside a kernel that Triton compiled; Triton loads by it and never looks at the code.
void tell_triton(Court &court, const Binary &binary) {
  std::string processor = binary.triton->arch.substr(0, binary.triton->arch.find(':'));
  std::vector<std::string> others;
  for_each_object(*binary.device, [&](const CodeObject &object) {
    if (object.target.processor != processor) others.push_back(object.target.text());
  });
  if (others.empty()) return;
  Finding finding = make_finding("stale-build", binary.origin, binary.distribution);
  finding.subject = binary.triton->arch;
  finding.holds = join_targets(others);
  finding.message = "Triton's JSON file beside it says " + binary.triton->arch + ", the code is for " + others.front() +
                    ": compiled under another HSA_OVERRIDE_GFX_VERSION, or copied; loading it fails or faults";
  finding.fix = "delete the cached kernel: Triton compiles it again";
  court.add(std::move(finding));
}

} // namespace

void judge_labels(Court &court) {
  for (const Binary &binary : court.inventory.binaries) {
    if (!binary.device || binary.device->runtime_internal) continue;
    if (binary.triton) tell_triton(court, binary);
    Disagreements entries, metadata;
    std::map<std::string, CodeCheck> bad;
    for_each_object(*binary.device, [&](const CodeObject &object) {
      if (object.target.vendor != Vendor::amd) return;
      compare_claims(object, entries, metadata);
      if (object.code.bad == 0) return;
      CodeCheck &sum = bad[object.target.text()];
      if (sum.bad == 0) sum.first_bad = object.code.first_bad;
      sum.bad += object.code.bad;
      sum.functions += object.code.functions;
    });
    tell_entries(court, binary, entries);
    tell_metadata(court, binary, metadata);
    tell_code(court, binary, bad);
  }
}

} // namespace isa_audit
