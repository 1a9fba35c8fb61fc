#include "isa-audit/host/analyse.h"

#include <algorithm>
#include <optional>

#include "names.h"
#include "notes.h"
#include "print.h"
#include "program.h"
#include "llvm/ADT/StringExtras.h"

namespace isa_audit {

namespace {

using namespace host;

// The first instruction of `f` that faults, or silently differs, without `feature`.
struct Found {
  uint64_t address;
  std::span<const uint8_t> bytes;
};
std::optional<Found> find_use(const Program &program, const Function &f, Feature feature) {
  const std::span<const uint8_t> code = program.bytes(f);
  for (size_t at = 0; at < code.size();) {
    Insn insn;
    if (!decode(code.subspan(at), insn)) {
      ++at;
      continue;
    }
    const InsnClass &klass = insn_class(insn.klass);
    if (klass.features.contains(feature) || klass.silent.contains(feature))
      return Found{f.start + at, code.subspan(at, insn.length)};
    at += insn.length;
  }
  return std::nullopt;
}

} // namespace

HostCode analyse_host(const Elf &elf, const ParallelFor &parallel, std::vector<std::string> &) {
  HostCode host;
  const IsaNotes notes = read_isa_notes(elf);
  host.needed_level = notes.needed;
  host.used_level = notes.used;
  if (notes.needed) host.declared_needed = psabi_level(notes.needed);
  if (notes.used) host.declared_used = psabi_level(notes.used);

  const Image image(elf);
  for (const CodeRange &r : image.code()) host.code_bytes += r.end - r.start;
  const Program program(image, parallel);
  std::vector<std::pair<Feature, Found>> found;
  for (const Function &f : program.functions()) {
    host.decoded_bytes += f.decoded;
    const IsaSet faults = faulting(f.classes), differs = silent(f.classes);
    for (const Feature feature : ((faults | differs) - host.used).list())
      if (const std::optional<Found> use = find_use(program, f, feature)) found.emplace_back(feature, *use);
    host.used |= faults | differs;
    host.unguarded |= faults;
    host.silently_different |= differs;
  }
  if (found.empty()) return host;

  std::ranges::sort(found, {}, [](const auto &x) { return feature_name(x.first); });
  std::vector<uint64_t> addresses;
  for (const auto &[feature, use] : found) addresses.push_back(use.address);
  const std::map<uint64_t, std::string> names = function_names(image, addresses);
  Printer printer;
  for (const auto &[feature, use] : found) {
    Evidence e;
    e.feature = feature;
    e.strength = Strength::unguarded;
    e.grade = Grade::possible;
    e.address = use.address;
    if (const auto name = names.find(use.address); name != names.end()) e.symbol = name->second;
    e.bytes = llvm::toHex(llvm::ArrayRef<uint8_t>(use.bytes.data(), use.bytes.size()), true);
    e.instruction = printer.print(use.bytes, use.address);
    host.evidence.push_back(std::move(e));
  }
  return host;
}

} // namespace isa_audit
