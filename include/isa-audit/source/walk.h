// Paths → members. A directory is walked in the order of names; what cannot be read is told, never skipped in silence.
#pragma once

#include <string>
#include <vector>

#include "isa-audit/base/member.h"

namespace isa_audit {

struct WalkOptions {
  std::vector<std::string> excludes; // globs against the path relative to the input ('*' does not cross '/', '**' does)
  bool follow_symlinks = false;      // links out of the tree and to directories; a loop is met once
};

// Feeds every regular file below `path`, or `path` itself. Symbolic links given as `path` are followed; inside, a link to a
// file inside the same tree is left to its target. FIFOs, sockets and devices are never opened.
void walk(const std::string &path, uint32_t input, const WalkOptions &options, const Feed &feed);

// The member of one file of the file system (mapped when opened). `shown` is the path in reports.
llvm::Expected<Member> file_member(const std::string &path, uint32_t input, std::string shown);

} // namespace isa_audit
