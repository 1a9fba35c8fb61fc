// One file of the file system as a member.
#pragma once

#include <memory>
#include <string>
#include <sys/stat.h>

#include "isa-audit/base/member.h"

namespace isa_audit {

// The folder that paths start from: a file descriptor that members share, so that a walk takes one descriptor however many
// members live.
struct StartFolder {
  int fd;
  explicit StartFolder(int fd) : fd(fd) {}
  StartFolder(const StartFolder &) = delete;
  StartFolder &operator=(const StartFolder &) = delete;
  ~StartFolder();
};

// openat() that also takes a path longer than PATH_MAX. Returns -1 with errno set.
int open_below(int folder, const std::string &path, int flags);

// The text for an errno value: "permission denied".
std::string reason(int error_number);

// The member for the regular file at `path` below `start`, of which `status` was taken. `is_link`: the last component is a
// symbolic link that shall be followed.
Member make_file_member(std::shared_ptr<const StartFolder> start, std::string path, const struct stat &status, Origin origin,
                        bool is_link);

} // namespace isa_audit
