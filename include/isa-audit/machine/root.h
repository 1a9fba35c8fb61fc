// The small files of a machine (sysfs, procfs, device nodes), read below a folder that need not be this machine's root.
//
// A tree given by --root may come from anywhere: a file may be huge, a FIFO, a device, or a link that leaves the tree. So
// every file is opened without blocking, only regular files are read, at most `limit` bytes are taken, and links resolve
// inside the tree (openat2 with RESOLVE_IN_ROOT, Linux 5.6; older kernels follow them as they stand).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isa_audit {

class Root {
public:
  // `folder` empty: this machine.
  explicit Root(std::string folder) : folder_(std::move(folder)) {}

  bool is_real() const { return folder_.empty(); }

  // A file's content, cut at `limit` bytes. Empty optional: not there, not a regular file, or not readable; `error`, if
  // given, then receives the errno (0 when it was read, ENOTSUP for what is not a regular file).
  std::optional<std::string> read(std::string_view path, size_t limit = 1 << 16, int *error = nullptr) const;

  // The first line of a file without blanks at its ends; empty when there is none.
  std::string line(std::string_view path) const;

  bool exists(std::string_view path) const;

  // Names in a folder, sorted, at most `limit`; empty when it cannot be listed.
  std::vector<std::string> list(std::string_view path, size_t limit = 4096) const;

  // Whether this process may open a device node for reading and writing: 0, or the errno. Below a folder other than the
  // real root only existence can be judged.
  int access_error(std::string_view path) const;

  struct Owner {
    uint32_t uid = 0, gid = 0, mode = 0; // mode: the permission bits
    std::string group;                   // its name in etc/group, empty when the group has none
  };
  std::optional<Owner> owner(std::string_view path) const;

private:
  int open(std::string_view path, int flags) const;

  std::string folder_;
};

} // namespace isa_audit
