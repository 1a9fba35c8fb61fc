#include "audit_binary.h"

#include "isa-audit/base/discard.h"
#include "isa-audit/host/analyse.h"
#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit {

namespace {

// Everything but the host code; returns the ELF file if it has host code that can be analysed.
std::optional<Elf> audit_elf(const Bytes &bytes, const DeviceLimits &limits, const ParallelFor &parallel, AuditedBinary &out) {
  Binary &binary = out.binary;
  auto elf = Elf::read(bytes);
  if (!elf) {
    out.problems.push_back({Level::error, binary.origin, llvm::toString(elf.takeError())});
    return std::nullopt;
  }
  out.audited = true;
  binary.format = elf->format();
  for (const std::string &problem : elf->problems()) out.problems.push_back({Level::error, binary.origin, problem});
  for (std::string_view name : elf->needed()) binary.needed.emplace_back(name);
  if (!elf->is_64()) return std::nullopt;
  binary.device = read_elf_device(*elf, binary.origin, limits, parallel, out.problems);
  bool linked = elf->type() == llvm::ELF::ET_DYN || elf->type() == llvm::ELF::ET_EXEC;
  if (elf->machine() != llvm::ELF::EM_X86_64 || !linked) return std::nullopt;
  return std::move(*elf);
}

// Python packages carry small Windows programs for their scripts: a PE file counts only for its device code.
void audit_pe(const Bytes &bytes, bool is_input, const DeviceLimits &limits, const ParallelFor &parallel, AuditedBinary &out) {
  if (const char *format = pe_format(bytes)) out.binary.format = format;
  DeviceCode code = read_pe_device(bytes, out.binary.origin, limits, parallel, out.problems);
  out.audited = is_input || !code.empty() || !code.nvidia.empty() || !out.problems.empty();
  out.binary.device = std::move(code);
}

// Plain bundles are most of a large HIP library, and have been read: an inflated member needs less memory from here on.
void discard_bundles(const Bytes &bytes, const DeviceCode &device) {
  for (const DeviceImage &image : device.images) {
    if (image.carrier != Carrier::bundle) continue;
    uint64_t size = 0;
    for (const CodeObject &object : image.code_objects) size = std::max(size, object.offset + object.size);
    discard(bytes, image.pos, size);
  }
}

std::optional<Elf> audit_one(const BinaryToAudit &one, const DeviceLimits &limits, const ParallelFor &parallel) {
  AuditedBinary &out = *one.result;
  out.binary.origin = one.member->origin;
  out.binary.size = one.member->size;
  auto bytes = one.member->open();
  if (!bytes) {
    out.problems.push_back({Level::error, one.member->origin, llvm::toString(bytes.takeError())});
    return std::nullopt;
  }
  if (one.kind == MemberKind::elf) {
    std::optional<Elf> elf = audit_elf(*bytes, limits, parallel, out);
    if (one.member->anonymous && out.binary.device) discard_bundles(*bytes, *out.binary.device);
    // Static libraries hold thousands of objects that are host code alone: nothing runs them before they are linked.
    bool object = bytes->size() > 18 && read_le<uint16_t>(bytes->data() + 16) == llvm::ELF::ET_REL;
    const std::optional<DeviceCode> &device = out.binary.device;
    bool bare = !device || (device->empty() && device->nvidia.empty() && !device->external);
    if (object && bare && !one.member->is_input && one.member->origin.path.find(".a!") != std::string::npos)
      out.audited = false;
    return elf;
  }
  if (one.kind == MemberKind::pe) {
    audit_pe(*bytes, one.member->is_input, limits, parallel, out);
    return std::nullopt;
  }
  out.audited = true;
  const char *format = device_file_format(*bytes);
  out.binary.format = format ? format : "offload-bundle";
  out.binary.device = read_device_file(*bytes, one.member->origin, limits, parallel, out.problems);
  return std::nullopt;
}

} // namespace

void audit_set(std::span<const BinaryToAudit> set, const DeviceLimits &limits, const ParallelFor &parallel,
               Progress *progress) {
  std::vector<std::optional<Elf>> elfs(set.size());
  parallel(set.size(), [&](size_t i) {
    if (progress) progress->enter(set[i].member->origin.path);
    elfs[i] = audit_one(set[i], limits, parallel);
    if (!progress) return;
    // What is left of a file with host code is about as much work as its device code.
    progress->bytes += elfs[i] ? set[i].member->size / 2 : set[i].member->size;
    if (!elfs[i]) ++progress->binaries;
  });
  std::vector<HostInput> inputs;
  std::vector<AuditedBinary *> results;
  uint64_t host_bytes = 0;
  for (size_t i = 0; i < set.size(); ++i) {
    if (!elfs[i]) continue;
    host_bytes += set[i].member->size - set[i].member->size / 2;
    inputs.push_back({&*elfs[i], set[i].member->origin.path});
    results.push_back(set[i].result);
  }
  if (inputs.empty()) return;
  std::vector<std::vector<std::string>> problems;
  std::vector<HostCode> hosts = analyse_host_set(inputs, parallel, &problems);
  for (size_t i = 0; i < inputs.size(); ++i) {
    results[i]->binary.host = std::move(hosts[i]);
    for (const std::string &problem : problems[i])
      results[i]->problems.push_back({Level::warning, results[i]->binary.origin, problem});
  }
  if (!progress) return;
  progress->bytes += host_bytes;
  progress->binaries += inputs.size();
}

} // namespace isa_audit
