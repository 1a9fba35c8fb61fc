// One binary, from bytes to facts.
#pragma once

#include "classify.h"
#include "isa-audit/base/parallel.h"
#include "isa-audit/device/read_device.h"
#include "isa-audit/verdict/inventory.h"

namespace isa_audit {

struct AuditedBinary {
  Binary binary;
  bool audited = false; // false: not a binary after all, or unreadable
  Problems problems;
};

AuditedBinary audit_binary(const Member &member, MemberKind kind, const DeviceLimits &limits, const ParallelFor &parallel);

} // namespace isa_audit
