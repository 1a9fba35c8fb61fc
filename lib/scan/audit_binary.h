// Binaries, from bytes to facts.
#pragma once

#include <span>

#include "classify.h"
#include "isa-audit/base/parallel.h"
#include "isa-audit/device/read_device.h"
#include "isa-audit/elf/elf.h"
#include "isa-audit/scan/scan.h"
#include "isa-audit/verdict/inventory.h"

namespace isa_audit {

struct AuditedBinary {
  Binary binary;
  bool audited = false; // false: not a binary after all, or unreadable
  Problems problems;
};

struct BinaryToAudit {
  const Member *member = nullptr;
  MemberKind kind = MemberKind::elf;
  AuditedBinary *result = nullptr;
};

// Audits binaries that are loaded together, each into its result: the calls of host code are followed from file to file. All
// of them are open at the same time. `x86_reach` as in ScanOptions. `progress` may be nullptr.
void audit_set(std::span<const BinaryToAudit> set, const DeviceLimits &limits, bool x86_reach, const ParallelFor &parallel,
               Progress *progress);

} // namespace isa_audit
