// Small readings of the file system for dist-info folders and environments.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace isa_audit {

// The names in a folder, sorted; empty if it cannot be read.
std::vector<std::string> names_in(const std::string &folder);

// The content of a regular file, if it can be read and is no larger than `limit` bytes.
std::optional<std::string> read_small_file(const std::string &path, uint64_t limit);

bool is_folder(const std::string &path);
bool is_file(const std::string &path);

// Absolute and without symbolic links, or empty if `path` does not exist.
std::string real_path(const std::string &path);

std::string parent_of(const std::string &path);

// `folder`/`name`.
std::string path_in(const std::string &folder, std::string_view name);

// `path` with "." and ".." components taken out; empty if it leads out of its start or is absolute.
std::string resolved(std::string_view path);

constexpr uint64_t kRecordLimit = uint64_t{256} << 20; // bytes; the largest wheels there are have RECORDs of a few MiB

} // namespace isa_audit
