// Reading small files of a machine that may not be this one. See root.h for what such a tree may hold. procfs and sysfs
// files have size 0 in stat(2), so content is read up to the limit instead of by size. /etc/group is read here and not by
// getgrgid(3), which needs shared objects of the C library at run time and would ask the wrong machine.
#include "isa-audit/machine/root.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringRef.h"

namespace isa_audit {

int Root::open(std::string_view path, int flags) const {
  // openat2 refuses O_PATH together with flags that have no meaning for it.
  flags |= flags & O_PATH ? O_CLOEXEC : O_CLOEXEC | O_NOCTTY;
  size_t start = std::min(path.find_first_not_of('/'), path.size());
  std::string relative(start == path.size() ? "." : path.substr(start));
  if (is_real()) return ::open(("/" + relative).c_str(), flags);
  int base = ::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (base < 0) return -1;
  llvm::scope_exit close_base([base] { ::close(base); });
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  long fd = ::syscall(SYS_openat2, base, relative.c_str(), &how, sizeof how);
  // Containers' filters answer EPERM to system calls that they do not know.
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) fd = ::openat(base, relative.c_str(), flags);
  return static_cast<int>(fd);
}

std::optional<std::string> Root::read(std::string_view path, size_t limit, int *error) const {
  int code = 0;
  llvm::scope_exit report([&] {
    if (error) *error = code;
  });
  int fd = open(path, O_RDONLY | O_NONBLOCK);
  if (fd < 0) {
    code = errno;
    return std::nullopt;
  }
  llvm::scope_exit close_fd([fd] { ::close(fd); });
  struct stat status;
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    code = ENOTSUP;
    return std::nullopt;
  }
  std::string text;
  char buffer[4096];
  while (text.size() < limit) {
    ssize_t got = ::read(fd, buffer, std::min(sizeof buffer, limit - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      code = errno;
      return std::nullopt;
    }
    if (got == 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

std::string Root::line(std::string_view path) const {
  std::optional<std::string> text = read(path, 4096);
  if (!text) return {};
  return llvm::StringRef(*text).split('\n').first.trim().str();
}

bool Root::exists(std::string_view path) const {
  int fd = open(path, O_PATH);
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

std::vector<std::string> Root::list(std::string_view path, size_t limit) const {
  std::vector<std::string> names;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (fd < 0) return names;
  DIR *folder = ::fdopendir(fd);
  if (!folder) {
    ::close(fd);
    return names;
  }
  while (const dirent *entry = ::readdir(folder)) {
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == limit) break;
    names.emplace_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

int Root::access_error(std::string_view path) const {
  if (!is_real()) return exists(path) ? 0 : ENOENT;
  return ::access(std::string(path).c_str(), R_OK | W_OK) == 0 ? 0 : errno;
}

std::optional<Root::Owner> Root::owner(std::string_view path) const {
  int fd = open(path, O_PATH);
  if (fd < 0) return std::nullopt;
  struct stat status;
  bool known = ::fstat(fd, &status) == 0;
  ::close(fd);
  if (!known) return std::nullopt;
  Owner owner{status.st_uid, status.st_gid, static_cast<uint32_t>(status.st_mode & 07777), {}};
  // group:password:gid:members
  std::optional<std::string> groups = read("/etc/group", 1 << 20);
  llvm::StringRef rest = groups ? llvm::StringRef(*groups) : llvm::StringRef();
  while (!rest.empty()) {
    llvm::StringRef row;
    std::tie(row, rest) = rest.split('\n');
    auto [group, tail] = row.split(':');
    uint32_t gid;
    if (!tail.split(':').second.split(':').first.getAsInteger(10, gid) && gid == owner.gid) {
      owner.group = group.str();
      break;
    }
  }
  return owner;
}

} // namespace isa_audit
