// Which distribution owns which file, from METADATA and RECORD.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/problem.h"
#include "isa-audit/source/distribution.h"

namespace isa_audit {

// Name, version and Requires-Dist of a METADATA (or PKG-INFO) file. Error: no Name that could be shown.
llvm::Expected<Distribution> parse_metadata(std::string_view text);

// The paths that a RECORD lists, as written (relative to the folder that holds the dist-info; may start with "../").
// Rows that are no CSV (RFC 4180) are told in `problems` and passed over.
std::vector<std::string> parse_record(std::string_view text, std::vector<std::string> &problems);

// Collects dist-info folders while a tree or an archive is walked, then answers.
class DistributionIndex {
public:
  // Whether add() wants the file at `path`: METADATA, RECORD and INSTALLER of a *.dist-info folder, PKG-INFO and
  // installed-files.txt of an *.egg-info folder, PKG-INFO of EGG-INFO, or an *.egg-info that is a file.
  static bool wants(std::string_view path);

  // `path` is relative to the input (with the archive chain). Call from one thread; the order does not matter.
  void add(uint32_t input, std::string path, const Bytes &content, Problems &problems);

  // For the input at `path` in the folder that enclosing_site_packages gave: adds the RECORDs of that folder as far as they
  // list files of the input. Returns the folders beside a package folder that auditwheel fills with its libraries
  // ("numpy.libs", relative to `site_packages`), if the same distributions own them; to this index their files have paths
  // such as "../numpy.libs/libopenblas.so", and the dist-info "../numpy-2.0.dist-info".
  std::vector<std::string> add_installed(const std::string &site_packages, uint32_t input, const std::string &path,
                                         Problems &problems);

  // Call once after the last add().
  void finish();

  // In the order of inputs and paths. What another distribution installed as a part of itself (setuptools/_vendor) is not
  // among them.
  const std::vector<Distribution> &distributions() const { return distributions_; }

  // Index of the distribution that owns the file, if any. RECORD decides; when several list a file, the dist-info folder
  // that lies highest, then the first by path. Without a RECORD row only these are certain: a wheel (one dist-info at the
  // root, no INSTALLER) owns all of its files, an egg its folder, and the owner of an archive what is in it.
  std::optional<size_t> owner(uint32_t input, std::string_view path) const;

private:
  struct Folder {
    Distribution distribution;
    std::vector<std::string> files; // relative to the input
    bool has_metadata = false, has_record = false, installed = false;
  };
  using Key = std::pair<uint32_t, std::string>;
  struct Owned {
    uint32_t input;
    std::string path;
    size_t owner;
  };

  void add_distribution(const Key &key, Folder &folder);
  const Owned *find_owned(uint32_t input, std::string_view path) const;

  std::map<Key, Folder> folders_;
  std::vector<Distribution> distributions_;
  std::vector<Owned> owned_;    // sorted by input and path
  std::map<Key, size_t> whole_; // prefixes whose files all belong to one distribution
};

// The site-packages folder that `path` lies in (a parent that holds *.dist-info or *.egg-info; one that is called
// site-packages or dist-packages before others, else the nearest), as an absolute path without symbolic links. `path` itself
// may be a symbolic link out of it, as uv makes them.
std::optional<std::string> enclosing_site_packages(const std::string &path);

// Folders to look into for --dist, existing ones only, in the order Python would look: $PYTHONPATH, then those of the first
// environment there is of $VIRTUAL_ENV, $CONDA_PREFIX and the python3 on $PATH (its pyvenv.cfg, its links and the folders
// below its prefix are read; it is never run; a pyenv shim is resolved by $PYENV_VERSION, .python-version and the version
// file of $PYENV_ROOT), with the user's folder ($PYTHONUSERBASE or ~/.local, unless $PYTHONNOUSERSITE) and the base
// installation's where the environment uses them. The only function of this room that reads environment variables.
std::vector<std::string> site_packages_of_environment();

// The files of an installed distribution, found without importing or running anything.
struct InstalledDistribution {
  Distribution distribution;
  std::string folder; // the site-packages that holds it
  std::vector<std::string>
      files; // relative to `folder` (may start with "../"), or absolute; from RECORD, so any may be missing
  // Folders with code that no list names file by file: the project of an editable installation, an egg, the top-level
  // folders of an egg-info without a list. Absolute.
  std::vector<std::string> roots;
  std::vector<std::string> notes; // what people should know about it: "editable: its code is in src/kern"
};

// Error: not installed, with the names of installed distributions that are near, and where was looked.
llvm::Expected<InstalledDistribution> find_installed(const std::string &name, const std::vector<std::string> &folders);

} // namespace isa_audit
