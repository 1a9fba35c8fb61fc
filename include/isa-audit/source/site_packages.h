// Which distribution owns which file, from METADATA and RECORD.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/problem.h"
#include "isa-audit/source/distribution.h"

namespace isa_audit {

// Name, version and Requires-Dist of a METADATA (or PKG-INFO) file. Error: no Name.
llvm::Expected<Distribution> parse_metadata(std::string_view text);

// The paths that a RECORD lists, as written (relative to the folder that holds the dist-info; may start with "../").
// Rows that are no CSV are told in `problems` and passed over.
std::vector<std::string> parse_record(std::string_view text, std::vector<std::string> &problems);

// Collects dist-info folders while a tree or an archive is walked, then answers.
class DistributionIndex {
public:
  // `path` is the path of a METADATA, PKG-INFO or RECORD file relative to the input (with the archive chain).
  static bool wants(std::string_view path);
  void add(uint32_t input, std::string path, const Bytes &content, Problems &problems);
  // Call once after the last add().
  void finish();
  const std::vector<Distribution> &distributions() const { return distributions_; }
  // Index of the distribution that owns the file, if any.
  std::optional<size_t> owner(uint32_t input, std::string_view path) const;

private:
  struct Folder {
    Distribution distribution;
    std::vector<std::string> record;
    bool has_metadata = false;
  };
  std::map<std::pair<uint32_t, std::string>, Folder> folders_;
  std::vector<Distribution> distributions_;
  std::map<std::pair<uint32_t, std::string>, size_t, std::less<>> owner_;
};

// The site-packages folder that `path` lies in (a parent that holds *.dist-info folders), if any.
std::optional<std::string> enclosing_site_packages(const std::string &path);

// Folders to look into for --dist: $VIRTUAL_ENV, $CONDA_PREFIX, the python3 on PATH (its pyvenv.cfg and lib/python3.*; it is
// never run), the system's dist-packages. Only existing ones.
std::vector<std::string> site_packages_of_environment();

// The files of an installed distribution, found without importing or running anything. Error: not installed, with the names
// of installed distributions that are near, and where was looked.
struct InstalledDistribution {
  Distribution distribution;
  std::string folder;             // the site-packages that holds it
  std::vector<std::string> files; // relative to `folder`, from RECORD
};
llvm::Expected<InstalledDistribution> find_installed(const std::string &name, const std::vector<std::string> &folders);

} // namespace isa_audit
