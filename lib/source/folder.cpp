#include "folder.h"

#include <algorithm>
#include <cstdlib>
#include <dirent.h>
#include <memory>
#include <sys/stat.h>

#include "isa-audit/source/walk.h"

namespace isa_audit {

std::vector<std::string> names_in(const std::string &folder) {
  std::vector<std::string> names;
  DIR *handle = opendir(folder.c_str());
  if (!handle) return names;
  while (const dirent *item = readdir(handle)) {
    const std::string_view name = item->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(handle);
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> read_small_file(const std::string &path, uint64_t limit) {
  auto member = file_member(path, 0, "");
  if (!member) {
    llvm::consumeError(member.takeError());
    return std::nullopt;
  }
  if (member->size > limit) return std::nullopt;
  auto bytes = member->head(member->size);
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return std::nullopt;
  }
  return std::string(bytes->text());
}

bool is_folder(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_file(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string real_path(const std::string &path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : std::string();
}

std::string parent_of(const std::string &path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string path_in(const std::string &folder, std::string_view name) {
  std::string path;
  path.reserve(folder.size() + 1 + name.size());
  path += folder;
  path += '/';
  path += name;
  return path;
}

std::string resolved(std::string_view path) {
  if (path.starts_with('/')) return {};
  std::string out;
  for (size_t at = 0; at <= path.size();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, slash - at);
    at = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (out.empty()) return {};
      const size_t cut = out.rfind('/');
      out.resize(cut == std::string::npos ? 0 : cut);
      continue;
    }
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

} // namespace isa_audit
