// Paths of RECORD count from the folder that holds the dist-info (the base), those of installed-files.txt from the egg-info
// folder itself. Both may climb with "..": what climbs out of the input or out of its archive belongs to no file that is
// looked at.

#include <algorithm>
#include <tuple>

#include "dist_info.h"
#include "folder.h"
#include "isa-audit/source/site_packages.h"

namespace isa_audit {
namespace {

// Files of a dist-info or egg-info folder by which another RECORD may list it.
constexpr const char *kOwnFiles[] = {"/METADATA", "/PKG-INFO", "/RECORD", ""};

struct Place {
  std::string_view folder; // the dist-info, relative to the input
  std::string_view file;   // in it
};

// Cuts "a/b.dist-info/METADATA" after the folder. A file that is an egg-info is a folder without a file.
Place place_of(std::string_view path) {
  if (path.ends_with(".egg-info")) return {path, ""};
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string_view last_component(std::string_view path) {
  const size_t cut = path.find_last_of("/!");
  return cut == std::string_view::npos ? path : path.substr(cut + 1);
}

// What the paths of a RECORD are put behind: "" or ending with '/' or '!'.
std::string_view base_of(std::string_view folder) {
  const size_t cut = folder.find_last_of("/!");
  return cut == std::string_view::npos ? std::string_view() : folder.substr(0, cut + 1);
}

size_t depth_of(std::string_view path) {
  return static_cast<size_t>(std::count_if(path.begin(), path.end(), [](char c) { return c == '/' || c == '!'; }));
}

} // namespace

void name_by_folder(Distribution &distribution, std::string_view folder) {
  std::string_view name = last_component(folder);
  name = name.substr(0, name.rfind('.'));
  const size_t dash = name.find('-');
  distribution.name = name.substr(0, dash);
  if (dash == std::string_view::npos) return;
  const std::string_view version = name.substr(dash + 1);
  distribution.version = version.substr(0, version.find('-'));
}

std::string placed(std::string_view base, std::string_view row) {
  if (row.starts_with('/')) return {};
  const size_t archive = base.rfind('!');
  const std::string_view chain = archive == std::string_view::npos ? std::string_view() : base.substr(0, archive + 1);
  const std::string inside = resolved(std::string(base.substr(chain.size())).append(row));
  return inside.empty() ? inside : std::string(chain) + inside;
}

bool DistributionIndex::wants(std::string_view path) {
  const Place place = place_of(path);
  const std::string_view folder = last_component(place.folder);
  if (folder.ends_with(".dist-info")) return place.file == "METADATA" || place.file == "RECORD" || place.file == "INSTALLER";
  if (folder.ends_with(".egg-info"))
    return place.file.empty() || place.file == "PKG-INFO" || place.file == "installed-files.txt";
  return folder == "EGG-INFO" && place.file == "PKG-INFO";
}

void DistributionIndex::add(uint32_t input, std::string path, const Bytes &content, Problems &problems) {
  const Place place = place_of(path);
  Folder &folder = folders_[{input, std::string(place.folder)}];
  const auto tell = [&](std::string message) {
    problems.push_back({Level::warning, Origin{input, path, "", 0}, std::move(message)});
  };
  if (place.file == "INSTALLER") {
    folder.installed = true;
  } else if (place.file == "RECORD" || place.file == "installed-files.txt") {
    std::vector<std::string> faults;
    const bool is_record = place.file == "RECORD";
    const std::string base = is_record ? std::string(base_of(place.folder)) : std::string(place.folder) + "/";
    for (const std::string &row : parse_record(content.text(), faults)) {
      std::string file = placed(base, row);
      if (!file.empty()) folder.files.push_back(std::move(file));
    }
    for (std::string &fault : faults) tell(std::move(fault));
    folder.has_record = true;
  } else if (auto parsed = parse_metadata(content.text())) {
    folder.distribution = std::move(*parsed);
    folder.has_metadata = true;
  } else {
    tell("no metadata: " + llvm::toString(parsed.takeError()) + "; named after its folder");
  }
}

void DistributionIndex::finish() {
  // Highest folder first: the first one to list a file is its owner.
  std::vector<std::tuple<uint32_t, size_t, std::string>> ranked;
  ranked.reserve(folders_.size());
  for (const auto &[key, folder] : folders_) ranked.emplace_back(key.first, depth_of(key.second), key.second);
  std::sort(ranked.begin(), ranked.end());
  for (size_t rank = 0; rank < ranked.size(); ++rank) {
    const auto &[input, depth, path] = ranked[rank];
    for (std::string &file : folders_.at({input, path}).files) owned_.push_back({input, std::move(file), rank});
  }
  std::sort(owned_.begin(), owned_.end(), [](const Owned &a, const Owned &b) {
    return std::tie(a.input, a.path, a.owner) < std::tie(b.input, b.path, b.owner);
  });
  owned_.erase(std::unique(owned_.begin(), owned_.end(),
                           [](const Owned &a, const Owned &b) { return a.input == b.input && a.path == b.path; }),
               owned_.end());

  // A dist-info that an earlier one lists among its own files is a part of that.
  constexpr size_t kPart = SIZE_MAX;
  std::vector<size_t> index(ranked.size(), kPart);
  std::map<Key, size_t> rank_of;
  for (size_t rank = 0; rank < ranked.size(); ++rank) {
    const auto &[input, depth, path] = ranked[rank];
    bool is_part = false;
    for (const char *file : kOwnFiles) {
      const Owned *owned = find_owned(input, path + file);
      is_part |= owned && owned->owner < rank;
    }
    if (!is_part) rank_of[{input, path}] = rank;
  }
  for (const auto &[key, rank] : rank_of) {
    index[rank] = distributions_.size();
    add_distribution(key, folders_.at(key));
  }
  std::erase_if(owned_, [&](const Owned &owned) { return index[owned.owner] == kPart; });
  for (Owned &owned : owned_) owned.owner = index[owned.owner];
  folders_.clear();
}

void DistributionIndex::add_distribution(const Key &key, Folder &folder) {
  const auto &[input, path] = key;
  folder.distribution.input = input;
  folder.distribution.path = path;
  if (!folder.has_metadata) name_by_folder(folder.distribution, path);
  const std::string base(base_of(path));
  bool is_whole = last_component(path) == "EGG-INFO";
  if (path.ends_with(".dist-info") && !folder.installed && (base.empty() || base.ends_with('!'))) {
    size_t at_root = 0;
    for (auto it = folders_.lower_bound({input, base}); it != folders_.end() && it->first.first == input; ++it) {
      if (!it->first.second.starts_with(base)) break;
      at_root += it->first.second.ends_with(".dist-info") && base_of(it->first.second) == base;
    }
    is_whole = at_root == 1;
  }
  if (is_whole) whole_[{input, base}] = distributions_.size();
  distributions_.push_back(std::move(folder.distribution));
}

const DistributionIndex::Owned *DistributionIndex::find_owned(uint32_t input, std::string_view path) const {
  const auto found = std::lower_bound(owned_.begin(), owned_.end(), path, [&](const Owned &owned, std::string_view wanted) {
    return owned.input != input ? owned.input < input : std::string_view(owned.path) < wanted;
  });
  return found != owned_.end() && found->input == input && found->path == path ? &*found : nullptr;
}

std::optional<size_t> DistributionIndex::owner(uint32_t input, std::string_view path) const {
  while (true) {
    if (const Owned *owned = find_owned(input, path)) return owned->owner;
    if (!whole_.empty()) {
      for (std::string base(base_of(path));; base = base_of(std::string_view(base).substr(0, base.size() - 1))) {
        const auto whole = whole_.find({input, base});
        if (whole != whole_.end()) return whole->second;
        if (base.empty()) break;
      }
    }
    const size_t archive = path.rfind('!');
    if (archive == std::string_view::npos) return std::nullopt;
    path = path.substr(0, archive);
  }
}

} // namespace isa_audit
