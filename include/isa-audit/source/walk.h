// Paths → members. A directory is walked in the order of names; what cannot be read is told, never skipped in silence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/base/member.h"

namespace isa_audit {

struct WalkOptions {
  // Globs against the path relative to the input (`glob_match`); a glob without '/' is held against the last component, so
  // that "*.a" works at any depth. An excluded folder is not entered.
  std::vector<std::string> excludes;
  bool follow_symlinks = false; // links out of the tree; a folder or a loop is met once
};

// Feeds every regular file below `path`, or `path` itself, whose member then has the base name as path. Members come in the
// byte order of their paths, from the calling thread; `head` and `open` of a member may be called on any thread, and one
// file descriptor a walk stays open while a member of it lives.
//
// A symbolic link given as `path` is followed. Inside, a link to something in the same tree is left to its target; links out
// of the tree are counted and told once (a warning when there are more of them than files, a note otherwise) unless
// `follow_symlinks`; links to nothing are a note. FIFOs, sockets and devices are never opened. Folders and files that
// cannot be read are error-level problems with the reason in words; what vanishes during the walk is a warning.
void walk(const std::string &path, uint32_t input, const WalkOptions &options, const Feed &feed);

// The member of one file of the file system (mapped when opened). `shown` is the path in reports. Error: not there, not
// permitted, not a regular file.
llvm::Expected<Member> file_member(const std::string &path, uint32_t input, std::string shown);

// Whether `glob` matches the whole of `path`. '*' any bytes but '/', '?' one byte but '/', '**' any bytes, '**/' also no
// folder at all, '[a-z]' and '[!a-z]' sets, '\' takes the next byte as it stands. Every other byte stands for itself.
bool glob_match(std::string_view glob, std::string_view path);

// What is wrong with a glob that a user wrote: it is empty, a set is not closed, nothing stands behind a last '\'. Empty for
// none. (glob_match takes any text.)
std::string glob_fault(std::string_view glob);

// Whether one of `globs` excludes `path` or a folder (or archive) that it lies in, by the rule at WalkOptions::excludes. For
// the members of an archive hand over the whole chain.
bool is_excluded(const std::vector<std::string> &globs, std::string_view path);

// Files that became shorter or unreadable while they were mapped (their missing pages were read as zeros): call when the
// last member has been looked at. Error-level, in order; every call tells all files of the process so far.
Problems lost_files();

} // namespace isa_audit
