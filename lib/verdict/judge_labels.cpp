// HIP chooses an entry of a bundle by its id; ROCr then looks only at the ELF flags of what it was given. An object is
// mislabelled when some GPU that its id invites is turned away by its flags.
#include <algorithm>
#include <map>
#include <set>

#include "court.h"
#include "isa-audit/device/processors.h"
#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/target_order.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {
namespace {

enum class Label : uint8_t { right, spelling, wrong };

// Object versions 2 and 3 have no "any": an id without settings stands for both settings off there.
bool is_two_state(const CodeObject &object) { return object.object_version == 2 || object.object_version == 3; }

Label judge_label(const CodeObject &object, const TargetId &claim) {
  const TargetId &actual = object.target;
  if (claim.kind == TargetKind::spirv || actual.kind == TargetKind::spirv || !object.loadable) return Label::right;
  if (claim.processor == actual.processor) {
    if (is_two_state(object)) return Label::right;
  } else if (!find_processor(claim.processor) || !find_processor(actual.processor)) {
    return Label::right; // newer than the table: nothing can be said
  }
  bool rejected = std::ranges::any_of(gpus_of(claim), [&](const TargetId &gpu) { return !is_served(compatible(object, gpu)); });
  return rejected ? Label::wrong : claim.text() == actual.text() ? Label::right : Label::spelling;
}

struct Disagreement {
  Label label;
  uint64_t count = 0;
};

} // namespace

void judge_labels(Court &court) {
  for (const Binary &binary : court.inventory.binaries) {
    if (!binary.device || binary.device->runtime_internal) continue;
    std::map<std::pair<std::string, std::string>, Disagreement> disagreements; // (claim, actual)
    for_each_object(*binary.device, [&](const CodeObject &object) {
      if (object.claimed.empty() || object.target.vendor != Vendor::amd) return;
      auto entry = parse_entry_id(object.claimed);
      if (!entry) {
        llvm::consumeError(entry.takeError());
        return;
      }
      if (!entry->target || entry->target->vendor != Vendor::amd) return;
      Label label = judge_label(object, *entry->target);
      if (label == Label::right) return;
      auto at = disagreements.try_emplace({entry->target->text(), object.target.text()}, Disagreement{label}).first;
      ++at->second.count;
    });
    for (const auto &[names, found] : disagreements) {
      const auto &[claim, actual] = names;
      Finding finding = make_finding("gpu-object-mislabelled", binary.origin, binary.distribution);
      finding.subject = claim;
      std::string entries = found.count == 1 ? "an entry" : std::to_string(found.count) + " entries";
      finding.holds = llvm::formatv("{0} in {1} for {2}", actual, entries, claim);
      if (found.label == Label::wrong) {
        finding.message =
            "the runtime chooses the entry by its id, the loader refuses the code object by its ELF flags: kernels "
            "fail with hipErrorNoBinaryForGpu or hipErrorInvalidImage on " +
            claim;
        finding.fix = "build the file again from clean; do not rename bundle entries";
        court.rule_on(Side::gpu, Fate::partial, std::move(finding));
      } else {
        finding.level = Level::note;
        finding.message = "the entry id and the ELF flags are spelled differently; the loader takes it all the same";
        court.add(std::move(finding));
      }
    }
  }
}

} // namespace isa_audit
