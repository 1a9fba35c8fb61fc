// Inputs inside a site-packages folder: the RECORDs beside them tell whose they are. Only the rows of the input are kept, and
// METADATA is read only where a row matches, so that an environment of hundreds of distributions costs a pass over its
// RECORDs and no more.

#include <algorithm>

#include "dist_info.h"
#include "folder.h"
#include "isa-audit/source/site_packages.h"

namespace isa_audit {
namespace {

bool is_info_folder(const std::string &name) { return name.ends_with(".dist-info") || name.ends_with(".egg-info"); }

// Absolute; symbolic links resolved in front of the last component only.
std::string place_of_input(const std::string &path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) trimmed.pop_back();
  const size_t slash = trimmed.rfind('/');
  const std::string name = slash == std::string::npos ? trimmed : trimmed.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") return real_path(trimmed);
  const std::string parent = real_path(slash == std::string::npos ? "." : slash == 0 ? "/" : trimmed.substr(0, slash));
  if (parent.empty()) return {};
  return path_in(parent == "/" ? "" : parent, name);
}

} // namespace

std::optional<std::string> enclosing_site_packages(const std::string &path) {
  std::optional<std::string> nearest;
  for (std::string folder = parent_of(place_of_input(path)); !folder.empty(); folder = parent_of(folder)) {
    const std::vector<std::string> names = names_in(folder);
    if (std::any_of(names.begin(), names.end(), is_info_folder)) {
      if (folder.ends_with("/site-packages") || folder.ends_with("/dist-packages")) return folder;
      if (!nearest) nearest = folder;
    }
    if (folder == "/") break;
  }
  return nearest;
}

std::vector<std::string> DistributionIndex::add_installed(const std::string &site_packages, uint32_t input,
                                                          const std::string &path, Problems &problems) {
  const std::string place = place_of_input(path);
  if (!place.starts_with(site_packages + "/")) return {};
  const bool is_tree = is_folder(place);
  std::string prefix = place.substr(site_packages.size() + 1); // what the input's own paths lack
  std::string only;                                            // a file's own path is its name
  if (is_tree) {
    prefix += '/';
  } else {
    const size_t slash = prefix.rfind('/');
    only = prefix;
    prefix.resize(slash == std::string::npos ? 0 : slash + 1);
  }
  const auto depth = std::count(prefix.begin(), prefix.end(), '/');
  std::string up; // from the input back to the site-packages folder
  for (auto i = depth; i > 0; --i) up += "../";
  const bool is_package = is_tree && depth == 1; // a part of a package that is audited alone stays alone

  std::vector<std::string> beside;
  for (const std::string &name : names_in(site_packages)) {
    if (!is_info_folder(name)) continue;
    const bool dist_info = name.ends_with(".dist-info");
    const std::string folder = path_in(site_packages, name);
    const auto record = read_small_file(folder + (dist_info ? "/RECORD" : "/installed-files.txt"), kRecordLimit);
    if (!record) continue;
    Folder found;
    std::vector<std::string> faults, libraries;
    for (const std::string &row : parse_record(*record, faults)) {
      const std::string file = placed(dist_info ? std::string() : name + "/", row);
      const size_t slash = file.find('/');
      if (file.empty()) continue;
      if (is_tree ? file.starts_with(prefix) : file == only)
        found.files.push_back(file.substr(prefix.size()));
      else if (is_package && slash != std::string::npos && file.substr(0, slash).ends_with(".libs"))
        libraries.push_back(file);
    }
    if (found.files.empty()) continue;
    for (std::string &fault : faults)
      problems.push_back({Level::warning, Origin{input, up + name + "/RECORD", "", 0}, std::move(fault)});
    for (const std::string &file : libraries) {
      found.files.push_back(up + file);
      beside.push_back(file.substr(0, file.find('/')));
    }
    const auto metadata = read_small_file(folder + (dist_info ? "/METADATA" : "/PKG-INFO"), kRecordLimit);
    if (auto parsed = parse_metadata(metadata.value_or(""))) {
      found.distribution = std::move(*parsed);
      found.has_metadata = true;
    } else {
      problems.push_back({Level::warning, Origin{input, up + name, "", 0},
                          "no metadata: " + llvm::toString(parsed.takeError()) + "; named after its folder"});
    }
    found.has_record = found.installed = true;
    folders_[{input, up + name}] = std::move(found);
  }
  std::sort(beside.begin(), beside.end());
  beside.erase(std::unique(beside.begin(), beside.end()), beside.end());
  std::erase_if(beside, [&](const std::string &name) { return !is_folder(path_in(site_packages, name)); });
  return beside;
}

} // namespace isa_audit
