// What a member is, by content.
#pragma once

#include <vector>

#include "isa-audit/base/member.h"
#include "isa-audit/container/container.h"
#include "isa-audit/device/side_file.h"
#include "isa-audit/source/site_packages.h"
#include "isa-audit/source/torch_version.h"
#include "isa-audit/verdict/inventory.h"
#include "pool.h"
#include "triton.h"

namespace isa_audit {

enum class MemberKind : uint8_t {
  other, // nothing that a CPU or GPU runs
  elf,
  device_file, // a code object or bundle by itself
  pe,          // a Windows library or program
  archive,
  metadata, // of a distribution
};

struct Classified {
  MemberKind kind = MemberKind::other;
  const ArchiveFormat *archive = nullptr;
  Problems problems; // the member could not be looked at
};
Classified classify(const Member &member);

struct KnownMember {
  Member member;
  MemberKind kind = MemberKind::other;
};

// A file that the user named.
struct InputFile {
  Member member;
  Classified found;
};

struct Collected {
  std::vector<KnownMember> binaries;
  std::vector<InputFile> input_files;
  TritonKernels triton;             // of `binaries`
  std::vector<SideFile> side_files; // in the order of the walk
  std::vector<TorchVersion> torch_versions;
  DistributionIndex distributions;
  Problems problems;
  uint64_t files = 0;
};

struct CollectOptions {
  unsigned archive_depth = 3;
  const std::vector<std::string> &excludes; // held against members of archives; the walk has seen to the rest
  const std::vector<Input> &inputs;
};

// Looks at every member, opens archives inside archives down to a depth, reads dist-info.
void collect(std::vector<Member> members, const CollectOptions &options, Pool &pool, Collected &out);

} // namespace isa_audit
