// The pipeline, in passes. Every pass works on what the one before it left; between them stands what holds from there on.
#include "isa-audit/scan/scan.h"

#include <algorithm>

#include "audit_binary.h"
#include "classify.h"
#include "inputs.h"
#include "isa-audit/source/walk.h"
#include "load_sets.h"
#include "pool.h"
#include "threads.h"
#include "twins.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

namespace isa_audit {

namespace {

// Members open at once beyond the largest one.
constexpr uint64_t kDefaultSlack = uint64_t{128} << 20;

uint64_t memory_budget(const ScanOptions &options, const std::vector<KnownMember> &members) {
  uint64_t largest = 0;
  for (const KnownMember &known : members) largest = std::max(largest, known.member.anonymous);
  return options.memory ? options.memory : largest + kDefaultSlack;
}

// Audits each content once, the largest sets first.
std::vector<AuditedBinary> audit_all(const Collected &collected, const std::vector<size_t> &first, const ScanOptions &options,
                                     Pool &pool) {
  const std::vector<KnownMember> &members = collected.binaries;
  std::vector<AuditedBinary> audited(members.size());
  DeviceLimits limits;
  limits.verify_all = limits.decode = options.deep;
  limits.kernel_details = options.kernel_details;
  limits.sink = options.sink;
  uint64_t memory = memory_budget(options, members);
  std::vector<Job> jobs;
  for (LoadSet &set : load_sets(collected, first, memory)) {
    if (options.progress) {
      options.progress->total_bytes += set.size;
      options.progress->total_binaries += set.members.size();
    }
    jobs.push_back({set.anonymous, [&, set = std::move(set)] {
                      std::vector<BinaryToAudit> binaries;
                      binaries.reserve(set.members.size());
                      for (size_t i : set.members) binaries.push_back({&members[i].member, members[i].kind, &audited[i]});
                      audit_set(binaries, limits, options.x86_reach, pool.parallel_for(), options.progress);
                    }});
  }
  pool.run(std::move(jobs), memory);
  return audited;
}

// The same facts and problems under another path.
AuditedBinary twin_of(const AuditedBinary &original, const Member &member) {
  AuditedBinary out = original;
  out.binary.origin = member.origin;
  out.binary.same_as = original.binary.origin.path;
  for (Problem &problem : out.problems) {
    problem.origin.input = member.origin.input;
    problem.origin.path = member.origin.path;
  }
  return out;
}

// A distribution that was named owns what was found for it, also where it has no RECORD (an egg, an editable installation).
void attribute(Inventory &inventory, const DistributionIndex &index, const std::vector<Distribution> &named) {
  inventory.distributions = index.distributions();
  for (const Distribution &one : named)
    if (std::ranges::none_of(inventory.distributions, [&](const Distribution &d) { return d.input == one.input; }))
      inventory.distributions.push_back(one);
  std::ranges::stable_sort(inventory.distributions);
  std::ranges::stable_sort(inventory.distributions, {}, &Distribution::input);
  auto owner_of = [&](const Origin &origin) -> std::string {
    if (auto owner = index.owner(origin.input, origin.path)) return index.distributions()[*owner].name;
    auto name = std::ranges::find(named, origin.input, &Distribution::input);
    return name == named.end() ? "" : name->name;
  };
  for (Binary &binary : inventory.binaries) binary.distribution = owner_of(binary.origin);
  for (SideFile &file : inventory.side_files) file.distribution = owner_of(file.origin);
  for (TorchVersion &version : inventory.torch_versions) version.distribution = owner_of(version.origin);
}

// An input file is what was found in it.
void name_input(Inventory &inventory, const InputFile &file) {
  const auto &[member, found] = file;
  Input &input = inventory.inputs[member.origin.input];
  bool has_distribution =
      std::ranges::any_of(inventory.distributions, [&](const Distribution &d) { return d.input == member.origin.input; });
  if (found.kind == MemberKind::elf)
    input.kind = "elf";
  else if (found.kind == MemberKind::device_file)
    input.kind = "code-object";
  else if (found.kind == MemberKind::pe)
    input.kind = "pe";
  else if (found.kind == MemberKind::archive)
    input.kind = has_distribution ? "wheel" : std::string(found.archive->name);
  else if (found.problems.empty())
    inventory.problems.push_back(
        {Level::error, member.origin, "neither an ELF file, a code object nor an archive: nothing to audit"});
}

// A file that is nothing was told of by its kind; a folder or an archive may also hold nothing.
void tell_empty(Inventory &inventory) {
  std::vector<bool> known(inventory.inputs.size());
  for (const Binary &binary : inventory.binaries) known[binary.origin.input] = true;
  for (const Distribution &distribution : inventory.distributions) known[distribution.input] = true;
  for (const SideFile &file : inventory.side_files) known[file.origin.input] = true;
  for (const Problem &problem : inventory.problems)
    if (problem.level > Level::note) known[problem.origin.input] = true; // says more
  for (uint32_t i = 0; i < known.size(); ++i)
    if (!known[i])
      inventory.problems.push_back(
          {Level::warning, {i, "", "", 0}, "holds no ELF file, code object or distribution: nothing to audit"});
}

void hash_input(Inventory &inventory, const Member &member) {
  auto bytes = member.open();
  if (!bytes) return llvm::consumeError(bytes.takeError()); // told where it was audited
  auto digest = llvm::SHA256::hash(llvm::ArrayRef<uint8_t>(bytes->data(), bytes->size()));
  inventory.inputs[member.origin.input].sha256 = llvm::toHex(digest, true);
}

} // namespace

Inventory scan(const ScanOptions &options) {
  Pool pool(options.jobs ? options.jobs : default_threads());
  Inventory inventory;

  Intake intake = take_in(options);
  inventory.inputs = std::move(intake.inputs);
  inventory.problems = std::move(intake.problems);
  // Every input is numbered; every file that was named or lies below a named folder is a member.

  Collected collected;
  collected.distributions = std::move(intake.distributions);
  collect(std::move(intake.members), {options.archive_depth, options.excludes, inventory.inputs}, pool, collected);
  inventory.problems.insert(inventory.problems.end(), collected.problems.begin(), collected.problems.end());
  inventory.files = collected.files;
  // Archives are open; what is left are binaries, recognised by content, and the dist-info of all inputs.

  collected.distributions.finish();
  std::ranges::stable_sort(collected.binaries, {},
                           [](const KnownMember &known) -> const Origin & { return known.member.origin; });
  std::vector<size_t> first = find_twins(collected.binaries, pool);
  // Binaries are in the order of the report; each content has one that stands for it.

  std::vector<AuditedBinary> audited = audit_all(collected, first, options, pool);
  for (size_t i = 0; i < audited.size(); ++i)
    if (first[i] != i) audited[i] = twin_of(audited[first[i]], collected.binaries[i].member);
  for (AuditedBinary &one : audited) {
    inventory.problems.insert(inventory.problems.end(), one.problems.begin(), one.problems.end());
    if (!one.audited) continue;
    inventory.bytes += one.binary.size;
    if (auto at = collected.triton.find({one.binary.origin.input, one.binary.origin.path}); at != collected.triton.end())
      one.binary.triton = at->second;
    inventory.binaries.push_back(std::move(one.binary));
  }
  inventory.side_files = std::move(collected.side_files);
  inventory.torch_versions = std::move(collected.torch_versions);
  std::ranges::sort(inventory.side_files, {}, &SideFile::origin);
  std::ranges::sort(inventory.torch_versions, {}, &TorchVersion::origin);
  // Every fact is in the inventory.

  attribute(inventory, collected.distributions, intake.named);
  for (const InputFile &file : collected.input_files) {
    name_input(inventory, file);
    if (options.hash) hash_input(inventory, file.member);
  }
  for (const Problem &problem : lost_files()) inventory.problems.push_back(problem);
  tell_empty(inventory);
  std::ranges::sort(inventory.problems, [](const Problem &a, const Problem &b) {
    return std::tie(a.origin, a.level, a.message) < std::tie(b.origin, b.level, b.message);
  });
  return inventory;
}

} // namespace isa_audit
