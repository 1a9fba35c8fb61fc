#include "audit_binary.h"

#include "isa-audit/base/discard.h"
#include "isa-audit/host/analyse.h"
#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit {

namespace {

struct OpenElf {
  Bytes bytes;
  std::optional<Elf> elf; // 64 bits
  bool host = false;      // with host code that can be analysed
};

// Headers only.
std::optional<Elf> read_elf(const Bytes &bytes, AuditedBinary &out) {
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

// The device code of a file whose headers are good.
void audit_elf_device(const BinaryToAudit &one, const OpenElf &open, const DeviceLimits &limits, const ParallelFor &parallel) {
  AuditedBinary &out = *one.result;
  if (open.elf) out.binary.device = read_elf_device(*open.elf, out.binary.origin, limits, parallel, out.problems);
  if (one.member->anonymous && out.binary.device) discard_bundles(open.bytes, *out.binary.device);
  // Static libraries hold thousands of objects that are host code alone: nothing runs them before they are linked.
  const bool object = open.bytes.size() > 18 && read_le<uint16_t>(open.bytes.data() + 16) == llvm::ELF::ET_REL;
  const std::optional<DeviceCode> &device = out.binary.device;
  const bool bare = !device || (device->empty() && device->nvidia.empty() && !device->external);
  if (object && bare && !one.member->is_input && one.member->origin.path.find(".a!") != std::string::npos) out.audited = false;
}

// Opens a file; reads it all if it is no ELF file.
OpenElf open_one(const BinaryToAudit &one, const DeviceLimits &limits, const ParallelFor &parallel) {
  AuditedBinary &out = *one.result;
  out.binary.origin = one.member->origin;
  out.binary.size = one.member->size;
  auto bytes = one.member->open();
  if (!bytes) {
    out.problems.push_back({Level::error, one.member->origin, llvm::toString(bytes.takeError())});
    return {};
  }
  if (one.kind == MemberKind::elf) {
    OpenElf open{*bytes, read_elf(*bytes, out), false};
    if (!open.elf) return open;
    const bool linked = open.elf->type() == llvm::ELF::ET_DYN || open.elf->type() == llvm::ELF::ET_EXEC;
    open.host = linked && open.elf->machine() == llvm::ELF::EM_X86_64;
    return open;
  }
  if (one.kind == MemberKind::pe) {
    audit_pe(*bytes, one.member->is_input, limits, parallel, out);
    return {};
  }
  out.audited = true;
  const char *format = device_file_format(*bytes);
  out.binary.format = format ? format : "offload-bundle";
  out.binary.device = read_device_file(*bytes, one.member->origin, limits, parallel, out.problems);
  return {};
}

// The host code of the files of a set, as far as they have any.
void audit_host(std::span<const BinaryToAudit> set, std::span<const OpenElf> open, bool x86_reach, const ParallelFor &parallel,
                std::vector<std::vector<std::string>> &problems) {
  std::vector<HostInput> inputs;
  std::vector<size_t> of;
  for (size_t i = 0; i < set.size(); ++i) {
    if (!open[i].host) continue;
    inputs.push_back({&*open[i].elf, set[i].member->origin.path});
    of.push_back(i);
  }
  if (inputs.empty()) return;
  if (!x86_reach) {
    parallel(of.size(), [&](size_t k) { set[of[k]].result->binary.host = list_host(*inputs[k].elf, parallel); });
    problems.resize(of.size());
    return;
  }
  std::vector<HostCode> hosts = analyse_host_set(inputs, parallel, &problems);
  for (size_t k = 0; k < of.size(); ++k) set[of[k]].result->binary.host = std::move(hosts[k]);
}

} // namespace

void audit_set(std::span<const BinaryToAudit> set, const DeviceLimits &limits, bool x86_reach, const ParallelFor &parallel,
               Progress *progress) {
  std::vector<OpenElf> open(set.size());
  parallel(set.size(), [&](size_t i) {
    if (progress) progress->enter(set[i].member->origin.path);
    open[i] = open_one(set[i], limits, parallel);
  });
  // Host code is mostly one thread's work, so it starts first; device code is that of any number.
  std::vector<std::vector<std::string>> problems;
  const auto device = [&] {
    parallel(set.size(), [&](size_t i) {
      audit_elf_device(set[i], open[i], limits, parallel);
      // What is left of a file with host code is about as much work as its device code.
      if (progress) progress->bytes += open[i].host ? set[i].member->size / 2 : set[i].member->size;
    });
  };
  parallel(2, [&](size_t half) { half == 0 ? audit_host(set, open, x86_reach, parallel, problems) : device(); });
  for (size_t i = 0, k = 0; i < set.size(); ++i) {
    if (progress) ++progress->binaries;
    if (!open[i].host) continue;
    if (progress) progress->bytes += set[i].member->size - set[i].member->size / 2;
    for (const std::string &problem : problems[k++])
      set[i].result->problems.push_back({Level::warning, set[i].member->origin, problem});
  }
}

} // namespace isa_audit
