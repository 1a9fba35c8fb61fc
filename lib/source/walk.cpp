// The walk lists one folder at a time and closes it before it goes deeper, so that neither the depth of a tree nor the number
// of its members costs file descriptors or stack. A folder's name is ordered as if it ended with '/': then members come in
// the byte order of their whole paths ("a.so" before "a/b").
//
// Which symbolic links are followed: a link into a tree that is walked anyway never is, since its target is met by its own
// path, the one RECORD files know. With `follow_symlinks` a link out of the tree opens a further tree, and a folder is
// entered once, known by device and inode; the input's own folder counts as entered from the start, so that a link to a
// parent of the input does not walk it twice.

#include "isa-audit/source/walk.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <set>
#include <unistd.h>
#include <utility>

#include "file.h"
#include "folder.h"

namespace isa_audit {
namespace {

struct Entry {
  std::string name; // a folder's ends with '/'
  struct stat status;
  bool is_link;
};

bool lies_in(const std::string &path, const std::string &tree) {
  return path.starts_with(tree) && (path.size() == tree.size() || tree.back() == '/' || path[tree.size()] == '/');
}

std::string base_name(const std::string &path) {
  const size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return "/";
  const size_t slash = path.rfind('/', end);
  return path.substr(slash == std::string::npos ? 0 : slash + 1, end - (slash == std::string::npos ? size_t(-1) : slash));
}

class Walker {
public:
  Walker(std::shared_ptr<const StartFolder> start, const std::string &path, const struct stat &status, uint32_t input,
         const WalkOptions &options, const Feed &feed)
      : start_(std::move(start)), input_(input), options_(options), feed_(feed) {
    trees_.push_back(real_path(path));
    entered_.insert({status.st_dev, status.st_ino});
  }

  void run() {
    struct Level {
      std::string prefix;
      std::vector<Entry> entries;
      size_t next = 0;
    };
    std::vector<Level> levels;
    levels.push_back({"", list("", false), 0});
    while (!levels.empty()) {
      Level &level = levels.back();
      if (level.next == level.entries.size()) {
        levels.pop_back();
        continue;
      }
      Entry &entry = level.entries[level.next++];
      std::string path = level.prefix + entry.name;
      if (S_ISDIR(entry.status.st_mode)) {
        std::vector<Entry> entries = list(path, entry.is_link);
        levels.push_back({std::move(path), std::move(entries), 0});
      } else {
        ++files_;
        feed_.member(make_file_member(start_, path, entry.status, Origin{input_, path, "", 0}, entry.is_link));
      }
    }
    tell_links();
  }

private:
  void tell(Level level, std::string path, std::string message) {
    feed_.problem({level, Origin{input_, std::move(path), "", 0}, std::move(message)});
  }

  // The wanted entries of the folder `prefix` ("" or ending with '/'), in order; every problem told.
  std::vector<Entry> list(const std::string &prefix, bool is_link) {
    const std::string shown = prefix.empty() ? "." : prefix.substr(0, prefix.size() - 1);
    const int fd =
        open_below(start_->fd, shown, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_link || prefix.empty() ? 0 : O_NOFOLLOW));
    DIR *folder = fd < 0 ? nullptr : fdopendir(fd);
    if (!folder) {
      tell(errno == ENOENT ? Level::warning : Level::error, shown, "cannot open the folder: " + reason(errno));
      if (fd >= 0) close(fd);
      return {};
    }
    std::vector<Entry> entries;
    while (true) {
      errno = 0;
      const dirent *item = readdir(folder);
      if (!item) {
        if (errno != 0) tell(Level::error, shown, "cannot read the whole folder: " + reason(errno));
        break;
      }
      const std::string_view name = item->d_name;
      if (name != "." && name != ".." && !is_excluded(options_.excludes, prefix + item->d_name))
        add(fd, prefix, item->d_name, entries);
    }
    closedir(folder);
    std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) { return a.name < b.name; });
    return entries;
  }

  void add(int folder, const std::string &prefix, const char *name, std::vector<Entry> &entries) {
    Entry entry{name, {}, false};
    if (fstatat(folder, name, &entry.status, AT_SYMLINK_NOFOLLOW) != 0) {
      const bool gone = errno == ENOENT;
      tell(gone ? Level::warning : Level::error, prefix + name,
           gone ? "vanished while the folder was read" : "cannot look at the file: " + reason(errno));
      return;
    }
    if (S_ISLNK(entry.status.st_mode) && !follow(folder, prefix, entry)) return;
    if (S_ISDIR(entry.status.st_mode)) {
      if (options_.follow_symlinks && !entered_.insert({entry.status.st_dev, entry.status.st_ino}).second) return;
      entry.name += '/';
    } else if (!S_ISREG(entry.status.st_mode)) {
      return; // FIFO, socket, device: no content of its own
    }
    entries.push_back(std::move(entry));
  }

  // Puts the target's status into the entry of a symbolic link; false if the link is left alone.
  bool follow(int folder, const std::string &prefix, Entry &entry) {
    struct stat target;
    if (fstatat(folder, entry.name.c_str(), &target, 0) != 0) {
      if (errno == EACCES) {
        tell(Level::error, prefix + entry.name, "cannot follow the symbolic link: " + reason(errno));
      } else if (dangling_++ == 0) {
        first_dangling_ = prefix + entry.name;
      }
      return false;
    }
    const std::string real = real_path("/proc/self/fd/" + std::to_string(folder) + "/" + entry.name);
    for (const std::string &tree : trees_)
      if (!real.empty() && !tree.empty() && lies_in(real, tree)) return false;
    if (!S_ISDIR(target.st_mode) && !S_ISREG(target.st_mode)) return false;
    if (!options_.follow_symlinks) {
      if (outside_++ == 0) first_outside_ = prefix + entry.name;
      return false;
    }
    if (S_ISDIR(target.st_mode)) trees_.push_back(real);
    entry.status = target;
    entry.is_link = true;
    return true;
  }

  void tell_links() {
    const auto links = [](uint64_t count) {
      return count == 1 ? std::string("a symbolic link that leads")
                        : std::to_string(count) + " symbolic links (this is the first) that lead";
    };
    if (outside_ > 0)
      tell(outside_ > files_ ? Level::warning : Level::note, first_outside_,
           links(outside_) + " out of the tree: not followed without --follow-symlinks");
    if (dangling_ > 0) tell(Level::note, first_dangling_, links(dangling_) + " nowhere");
  }

  std::shared_ptr<const StartFolder> start_;
  uint32_t input_;
  const WalkOptions &options_;
  const Feed &feed_;
  std::vector<std::string> trees_;            // real paths of the folders that are walked
  std::set<std::pair<dev_t, ino_t>> entered_; // folders, with follow_symlinks
  uint64_t files_ = 0, outside_ = 0, dangling_ = 0;
  std::string first_outside_, first_dangling_;
};

const char *kind_name(mode_t mode) { return S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : "a device"; }

} // namespace

void walk(const std::string &path, uint32_t input, const WalkOptions &options, const Feed &feed) {
  const auto tell = [&](std::string message) {
    feed.problem({Level::error, Origin{input, base_name(path), "", 0}, std::move(message)});
  };
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return tell("cannot open: " + reason(errno));
  if (S_ISREG(status.st_mode)) {
    auto member = file_member(path, input, base_name(path));
    if (!member) return tell(llvm::toString(member.takeError()));
    return feed.member(std::move(*member));
  }
  if (!S_ISDIR(status.st_mode)) return tell(std::string("is ") + kind_name(status.st_mode) + ", not a file or a folder");
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return tell("cannot open the folder: " + reason(errno));
  Walker(std::make_shared<const StartFolder>(fd), path, status, input, options, feed).run();
}

} // namespace isa_audit
