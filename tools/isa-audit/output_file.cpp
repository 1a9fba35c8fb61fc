#include "output_file.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "terminal.h"

namespace isa_audit {

namespace {

std::string folder_of(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string reason() { return std::strerror(errno); }

bool holds_binary_data(const std::string &path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  std::array<char, 4096> head;
  ssize_t got = read(descriptor, head.data(), head.size());
  close(descriptor);
  return got > 0 && std::memchr(head.data(), 0, static_cast<size_t>(got));
}

std::string check_existing(const std::string &path, const struct stat &file, std::span<const std::string> inputs) {
  if (S_ISDIR(file.st_mode)) return "is a folder";
  for (const std::string &input : inputs) {
    struct stat status;
    if (stat(input.c_str(), &status) == 0 && status.st_dev == file.st_dev && status.st_ino == file.st_ino) return "is an input";
  }
  if (S_ISREG(file.st_mode) && holds_binary_data(path)) return "exists and holds binary data, so it is no report";
  return access(path.c_str(), W_OK) == 0 ? "" : reason();
}

std::string write_to(int descriptor, std::string_view bytes) {
  bool written = write_all(descriptor, bytes);
  std::string wrong = written ? "" : reason();
  if (close(descriptor) != 0 && wrong.empty()) wrong = reason();
  return wrong;
}

std::string write_in_place(const std::string &path, std::string_view bytes) {
  int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return descriptor < 0 ? reason() : write_to(descriptor, bytes);
}

// The permissions that open() would give a new file.
mode_t new_file_mode() {
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

} // namespace

std::string check_output(const std::string &path, std::span<const std::string> inputs) {
  struct stat file;
  if (stat(path.c_str(), &file) == 0) return check_existing(path, file, inputs);
  if (errno != ENOENT) return reason();
  std::string folder = folder_of(path);
  if (path.ends_with('/') || stat(folder.c_str(), &file) != 0 || !S_ISDIR(file.st_mode)) return "no such folder";
  return access(folder.c_str(), W_OK | X_OK) == 0 ? "" : reason();
}

std::string write_output(const std::string &path, std::string_view bytes) {
  struct stat file;
  bool exists = stat(path.c_str(), &file) == 0;
  if (exists && !S_ISREG(file.st_mode)) return write_in_place(path, bytes);
  // A symbolic link stays one.
  std::string target = path;
  if (char *real = exists ? realpath(path.c_str(), nullptr) : nullptr) {
    target = real;
    std::free(real);
  }
  std::string temporary = folder_of(target) + "/.isa-audit-XXXXXX";
  int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return write_in_place(path, bytes);
  fchmod(descriptor, exists ? file.st_mode & 07777 : new_file_mode());
  std::string wrong = write_to(descriptor, bytes);
  if (wrong.empty() && rename(temporary.c_str(), target.c_str()) != 0) wrong = reason();
  if (!wrong.empty()) unlink(temporary.c_str());
  return wrong;
}

} // namespace isa_audit
