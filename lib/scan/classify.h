// What a member is, by content.
#pragma once

#include <vector>

#include "isa-audit/base/member.h"
#include "isa-audit/container/container.h"
#include "isa-audit/source/site_packages.h"
#include "pool.h"

namespace isa_audit {

enum class MemberKind : uint8_t {
  other, // nothing that a CPU or GPU runs
  elf,
  device_file, // a code object or bundle by itself
  archive,
  metadata, // of a distribution
};

struct Classified {
  MemberKind kind = MemberKind::other;
  const ArchiveFormat *archive = nullptr;
  Problems problems; // the member could not be looked at
};
Classified classify(const Member &member);

struct Collected {
  std::vector<Member> binaries;
  std::vector<MemberKind> kinds; // of `binaries`
  DistributionIndex distributions;
  Problems problems;
  uint64_t files = 0;
};

// Looks at every member, opens archives down to `depth` levels, reads dist-info. Results are in the order of origins.
void collect(std::vector<Member> members, unsigned depth, Pool &pool, Collected &out);

} // namespace isa_audit
