#include "audit_binary.h"

#include "isa-audit/elf/elf.h"
#include "isa-audit/host/analyse.h"
#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit {

namespace {

void audit_elf(const Bytes &bytes, const DeviceLimits &limits, const ParallelFor &parallel, AuditedBinary &out) {
  Binary &binary = out.binary;
  auto elf = Elf::read(bytes);
  if (!elf) {
    out.problems.push_back({Level::error, binary.origin, llvm::toString(elf.takeError())});
    return;
  }
  out.audited = true;
  binary.format = elf->format();
  for (const std::string &problem : elf->problems()) out.problems.push_back({Level::error, binary.origin, problem});
  for (std::string_view name : elf->needed()) binary.needed.emplace_back(name);
  if (!elf->is_64()) return;
  binary.device = read_elf_device(*elf, binary.origin, limits, parallel, out.problems);
  bool linked = elf->type() == llvm::ELF::ET_DYN || elf->type() == llvm::ELF::ET_EXEC;
  if (elf->machine() != llvm::ELF::EM_X86_64 || !linked) return;
  std::vector<std::string> problems;
  binary.host = analyse_host(*elf, parallel, problems);
  for (const std::string &problem : problems) out.problems.push_back({Level::warning, binary.origin, problem});
}

} // namespace

AuditedBinary audit_binary(const Member &member, MemberKind kind, const DeviceLimits &limits, const ParallelFor &parallel) {
  AuditedBinary out;
  out.binary.origin = member.origin;
  out.binary.size = member.size;
  auto bytes = member.open();
  if (!bytes) {
    out.problems.push_back({Level::error, member.origin, llvm::toString(bytes.takeError())});
    return out;
  }
  if (kind == MemberKind::elf) {
    audit_elf(*bytes, limits, parallel, out);
    return out;
  }
  out.audited = true;
  const char *format = device_file_format(*bytes);
  out.binary.format = format ? format : "offload-bundle";
  out.binary.device = read_device_file(*bytes, member.origin, limits, parallel, out.problems);
  return out;
}

} // namespace isa_audit
