// Content decides what a member is: ELF libraries have any name (`libfoo.so.2.1`, `python`, `module.abi3.so`), and wheels are
// zip files. Only the first bytes are read, so that 50,000 Python files cost little.
#include "classify.h"

#include <algorithm>

#include "isa-audit/device/read_device.h"
#include "isa-audit/elf/elf.h"
#include "isa-audit/source/walk.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

// A bundle cut out of a library may have a page of padding before it.
constexpr uint64_t kHead = 8192;

Problem problem_of(const Member &member, llvm::Error error) {
  return {Level::error, member.origin, llvm::toString(std::move(error))};
}

// Before the members move on.
void read_triton(const std::vector<Member> &members, const std::vector<Classified> &kinds, Collected &out) {
  std::vector<const Member *> code_files;
  std::map<std::string, const Member *> json_files;
  for (size_t i = 0; i < members.size(); ++i)
    if (kinds[i].kind == MemberKind::device_file && !triton_json_path(members[i].origin.path).empty())
      code_files.push_back(&members[i]);
  if (code_files.empty()) return;
  for (const Member &member : members)
    if (member.origin.path.ends_with(".json")) json_files.emplace(member.origin.path, &member);
  find_triton_kernels(code_files, json_files, out.triton);
}

// Databases of kernels may be larger than memory; those that lie mapped cost nothing.
constexpr uint64_t kMaxSideContent = uint64_t{1} << 30;

// Whatever opens decides: a file that cannot be read still tells by its name what it is for.
void add_side_file(const Member &member, MemberKind kind, const std::string &above, Collected &out) {
  auto file = recognise_side_file(member.origin.path, above);
  if (!file) return;
  bool opened_elsewhere = kind == MemberKind::elf || kind == MemberKind::device_file || kind == MemberKind::archive;
  if (file->part == SidePart::kernels && opened_elsewhere) return;
  file->origin = member.origin;
  if (file->part == SidePart::kernels)
    out.problems.push_back({Level::warning, member.origin, "has the name of a kernel file but holds no code object"});
  if (wants_content(*file) && member.anonymous <= kMaxSideContent) {
    auto content = member.open();
    if (content)
      read_side_file(*content, *file, out.problems);
    else
      out.problems.push_back(problem_of(member, content.takeError()));
  }
  out.side_files.push_back(std::move(*file));
}

void add_torch_version(const Member &member, Collected &out) {
  auto content = member.open();
  if (!content) {
    out.problems.push_back(problem_of(member, content.takeError()));
    return;
  }
  TorchVersion version = parse_torch_version(content->text());
  version.origin = member.origin;
  out.torch_versions.push_back(std::move(version));
}

} // namespace

Classified classify(const Member &member) {
  Classified out;
  if (DistributionIndex::wants(member.origin.path)) out.kind = MemberKind::metadata;
  if (member.size == 0 || out.kind == MemberKind::metadata) return out;
  auto head = member.head(std::min(kHead, member.size));
  if (!head) {
    out.problems.push_back(problem_of(member, head.takeError()));
    return out;
  }
  if (is_device_file(*head))
    out.kind = MemberKind::device_file;
  else if (is_elf(head->text()))
    out.kind = MemberKind::elf;
  else if (pe_format(*head))
    out.kind = MemberKind::pe;
  else
    out.archive = find_archive_format(*head, member.origin.path);
  if (out.archive) out.kind = MemberKind::archive;
  return out;
}

void collect(std::vector<Member> members, const CollectOptions &options, Pool &pool, Collected &out) {
  std::vector<Classified> kinds(members.size());
  pool.for_each(members.size(), [&](size_t i) { kinds[i] = classify(members[i]); });
  out.files += members.size();
  read_triton(members, kinds, out);
  // Archives are opened one after the other, the members inside are looked at in parallel.
  for (size_t i = 0; i < members.size(); ++i) {
    Member &member = members[i];
    if (member.is_input) out.input_files.push_back({member, kinds[i]});
    out.problems.insert(out.problems.end(), kinds[i].problems.begin(), kinds[i].problems.end());
    const uint32_t input = member.origin.input;
    add_side_file(member, kinds[i].kind, input < options.inputs.size() ? options.inputs[input].above : "", out);
    if (is_torch_version_file(member.origin.path)) add_torch_version(member, out);
    if (kinds[i].kind == MemberKind::other) continue;
    if (kinds[i].kind == MemberKind::elf || kinds[i].kind == MemberKind::device_file || kinds[i].kind == MemberKind::pe) {
      out.binaries.push_back({std::move(member), kinds[i].kind});
      continue;
    }
    if (kinds[i].kind == MemberKind::archive && options.archive_depth == 0) {
      out.problems.push_back({Level::warning, member.origin, "archive nested deeper than --archive-depth: not looked into"});
      continue;
    }
    auto content = member.open();
    if (!content) {
      out.problems.push_back(problem_of(member, content.takeError()));
      continue;
    }
    if (kinds[i].kind == MemberKind::metadata) {
      out.distributions.add(member.origin.input, member.origin.path, *content, out.problems);
      continue;
    }
    std::vector<Member> inner;
    Feed feed{[&](Member m) {
                if (!is_excluded(options.excludes, m.origin.path)) inner.push_back(std::move(m));
              },
              [&](Problem p) { out.problems.push_back(std::move(p)); }};
    bool is_input = member.is_input;
    kinds[i].archive->read(*content, member.origin.input, is_input ? "" : member.origin.path + "!", feed);
    collect(std::move(inner), {options.archive_depth - 1, options.excludes, options.inputs}, pool, out);
  }
}

} // namespace isa_audit
