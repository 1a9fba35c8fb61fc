// Files are opened late and never kept open: a member knows its path. `head` reads with pread, because mapping, touching and
// unmapping a page costs several times as much for the small files that most trees are made of; `open` maps, because large
// files are read from several threads and much of them never.
//
// Opening with O_NONBLOCK and asking fstat what was opened keeps a FIFO that took the place of a file from blocking the run.

#include "file.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "fault_guard.h"
#include "isa-audit/source/walk.h"

namespace isa_audit {
namespace {

constexpr uint64_t kReadAheadWhole = uint64_t{16} << 20; // files up to this size are asked for in one go when mapped

struct FileRef {
  std::shared_ptr<const StartFolder> start;
  std::string path;
  Origin origin;
  bool is_link;
};

class Descriptor {
public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

private:
  int fd_;
};

struct OpenFile {
  Descriptor descriptor;
  uint64_t size;
};

// Opens the file for reading, if it is (still) a regular one.
llvm::Expected<OpenFile> open_regular(const FileRef &file) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (file.is_link ? 0 : O_NOFOLLOW);
  Descriptor descriptor(open_below(file.start->fd, file.path, flags));
  if (descriptor.get() < 0) return make_error("cannot open: " + reason(errno));
  struct stat status;
  if (fstat(descriptor.get(), &status) != 0) return make_error("cannot open: " + reason(errno));
  if (!S_ISREG(status.st_mode)) return make_error("not a regular file");
  return OpenFile{std::move(descriptor), static_cast<uint64_t>(status.st_size)};
}

llvm::Expected<Bytes> read_head(const FileRef &file, uint64_t limit) {
  auto opened = open_regular(file);
  if (!opened) return opened.takeError();
  const size_t wanted = std::min(limit, opened->size);
  if (wanted == 0) return Bytes();
  auto buffer = std::make_shared_for_overwrite<uint8_t[]>(wanted);
  size_t have = 0;
  while (have < wanted) {
    const ssize_t got = pread(opened->descriptor.get(), buffer.get() + have, wanted - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return make_error("cannot read: " + reason(errno));
    if (got == 0) break; // the file became shorter: what is there is its head
    have += static_cast<size_t>(got);
  }
  return Bytes({buffer.get(), have}, buffer);
}

struct Mapping {
  void *data;
  size_t size;
  WatchedRange *watch;
  Mapping(void *data, size_t size, WatchedRange *watch) : data(data), size(size), watch(watch) {}
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  ~Mapping() {
    unwatch_range(watch);
    munmap(data, size);
  }
};

llvm::Expected<Bytes> map_file(const FileRef &file) {
  auto opened = open_regular(file);
  if (!opened) return opened.takeError();
  if (opened->size == 0) return Bytes();
  void *data = mmap(nullptr, opened->size, PROT_READ, MAP_PRIVATE, opened->descriptor.get(), 0);
  if (data == MAP_FAILED) return make_error("cannot map: " + reason(errno));
  auto mapping = std::make_shared<const Mapping>(data, opened->size, watch_range(data, opened->size, file.origin));
  struct stat status;
  if (fstat(opened->descriptor.get(), &status) != 0 || static_cast<uint64_t>(status.st_size) < opened->size)
    return make_error("the file became shorter while it was opened");
  madvise(data, opened->size, opened->size <= kReadAheadWhole ? MADV_WILLNEED : MADV_SEQUENTIAL);
  return Bytes({static_cast<const uint8_t *>(data), opened->size}, std::move(mapping));
}

} // namespace

StartFolder::~StartFolder() {
  if (fd >= 0) close(fd);
}

int open_below(int folder, const std::string &path, int flags) {
  size_t start = 0;
  Descriptor current(-1);
  int base = folder;
  while (path.size() - start >= PATH_MAX) {
    const size_t cut = path.rfind('/', start + PATH_MAX - 2);
    if (cut == std::string::npos || cut <= start) {
      errno = ENAMETOOLONG;
      return -1;
    }
    current = Descriptor(openat(base, path.substr(start, cut - start).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (current.get() < 0) return -1;
    base = current.get();
    start = cut + 1;
  }
  return openat(base, path.c_str() + start, flags);
}

std::string reason(int error_number) {
  char buffer[256];
  std::string text = strerror_r(error_number, buffer, sizeof buffer);
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  // A word in capitals stays as it is.
  if (text.size() > 1 && is_upper(text[0]) && !is_upper(text[1])) text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

Member make_file_member(std::shared_ptr<const StartFolder> start, std::string path, const struct stat &status, Origin origin,
                        bool is_link) {
  Member member;
  member.origin = origin;
  member.size = static_cast<uint64_t>(status.st_size);
  member.identity = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  auto file = std::make_shared<const FileRef>(FileRef{std::move(start), std::move(path), std::move(origin), is_link});
  member.head = [file](uint64_t limit) { return read_head(*file, limit); };
  member.open = [file] { return map_file(*file); };
  member.raw = member.open;
  return member;
}

llvm::Expected<Member> file_member(const std::string &path, uint32_t input, std::string shown) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return make_error("cannot open: " + reason(errno));
  if (!S_ISREG(status.st_mode)) return make_error(S_ISDIR(status.st_mode) ? "is a directory" : "not a regular file");
  static const auto working_folder = std::make_shared<const StartFolder>(AT_FDCWD);
  return make_file_member(working_folder, path, status, Origin{input, std::move(shown), "", 0}, true);
}

} // namespace isa_audit
