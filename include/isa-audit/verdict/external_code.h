// Libraries whose device code was split off (kpack), and the archives of the inventory that hold it. Device wheels install into
// the folders of the wheel they complete, so an archive is found by the path it has once installed, whatever input it came
// from. The order of the search is that of rocm-kpack (runtime/src/loader.cpp): targets first, the most specific ahead; for
// each the first archive that knows the target; then the next target.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/verdict/inventory.h"

namespace isa_audit {

// What the variables of rocm-kpack (runtime/src/loader.cpp) change: ROCM_KPACK_PATH takes the place of every library's own
// search paths and of ROCM_KPACK_PATH_PREFIX, which goes before them otherwise (paths of archives as they are, separated by
// ':'); ROCM_KPACK_DISABLE ends all loading unless it is empty or starts with 0.
struct KpackEnvironment {
  std::vector<std::string> override_paths, prefix_paths;
  bool disabled = false;
};
KpackEnvironment kpack_environment(const std::map<std::string, std::string> &variables);

struct ExternalAnswer {
  uint64_t parts = 0, served = 0;      // indices of the library; those with code for the GPU
  bool generic = false;                // some by a generic processor's code
  std::set<const Binary *> archives;   // that hold the code
  std::set<const Binary *> lacking;    // archives for the GPU that do not know the library
  std::vector<std::string> looked_for; // the path of each search path for the GPU's processor, as installed
  bool complete() const { return served == parts; }
};

class ExternalIndex {
public:
  explicit ExternalIndex(const Inventory &inventory);

  // No library of the inventory has its code elsewhere, or no archive is there.
  bool has_archives() const { return !archives_.empty(); }

  // How the code of a library with `device->external` is found for a GPU (settings on, off or unsupported).
  // Paths of the environment lead to the archive of the inventory that lies where they end.
  ExternalAnswer find(const Binary &library, const TargetId &gpu, const KpackEnvironment &environment = {}) const;

  // The targets that archives found by one of the library's search paths have code of it for, in the order of TargetOrder.
  std::vector<std::string> found_targets(const Binary &library, const std::string &search_path) const;

private:
  struct Archive {
    const Binary *file = nullptr;
    std::map<std::string, std::set<std::string>, std::less<>> targets; // binary key → targets as written
    std::set<std::string, std::less<>> all;                            // targets
    bool holds(const std::string &name, uint32_t index, const std::string &target) const;
  };
  std::map<std::string, std::vector<Archive>, std::less<>> archives_; // by path as installed
};

// A path relative to the folder that a wheel is installed into: without the archives it lies in, and without the wheel's data
// folder.
std::string installed_path(std::string_view path);

// A unit of kpack archives only: judged through the libraries that need them where those are in the inventory too.
bool is_kpack_file(const Binary &binary);

} // namespace isa_audit
