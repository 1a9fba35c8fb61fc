// --dist NAME: an installed distribution by its name. The names of dist-info folders say where to look first, METADATA
// decides. An editable installation lists only its hooks in RECORD (PEP 610, PEP 660, and .egg-link files before them); its
// code is in the project's folder.

#include <algorithm>

#include "dist_info.h"
#include "folder.h"
#include "isa-audit/base/problem.h"
#include "isa-audit/source/site_packages.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace isa_audit {
namespace {

constexpr uint64_t kSmallFile = 1 << 20;
constexpr size_t kNearNames = 5;

struct Candidate {
  std::string folder; // site-packages
  std::string entry;  // "kern-1.2.dist-info"
  bool is_link() const { return entry.ends_with(".egg-link"); }
  bool is_egg() const { return entry.ends_with(".egg"); }
  bool is_dist_info() const { return entry.ends_with(".dist-info"); }
  std::string path() const { return path_in(folder, entry); }

  // Where the metadata is: an egg-info may be a file itself.
  std::string metadata_path() const {
    if (is_dist_info()) return path() + "/METADATA";
    if (is_egg()) return path() + "/EGG-INFO/PKG-INFO";
    return is_folder(path()) ? path() + "/PKG-INFO" : path();
  }

  Distribution read() const {
    Distribution distribution;
    const auto text = is_link() ? std::nullopt : read_small_file(metadata_path(), kRecordLimit);
    if (auto parsed = parse_metadata(text.value_or(""))) {
      distribution = std::move(*parsed);
    } else {
      llvm::consumeError(parsed.takeError());
      name_by_folder(distribution, entry);
    }
    distribution.path = entry;
    return distribution;
  }
};

std::vector<Candidate> candidates_in(const std::vector<std::string> &folders) {
  std::vector<Candidate> candidates;
  for (const std::string &folder : folders)
    for (std::string &name : names_in(folder))
      for (const char *ending : {".dist-info", ".egg-info", ".egg", ".egg-link"})
        if (name.ends_with(ending)) {
          candidates.push_back({folder, std::move(name)});
          break;
        }
  return candidates;
}

std::string decode_percent(llvm::StringRef text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && llvm::isHexDigit(text[i + 1]) && llvm::isHexDigit(text[i + 2])) {
      out += static_cast<char>(llvm::hexDigitValue(text[i + 1]) * 16 + llvm::hexDigitValue(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The project folder of an editable installation by its direct_url.json, or empty.
std::string editable_project(const std::string &info_folder) {
  const auto text = read_small_file(info_folder + "/direct_url.json", kSmallFile);
  if (!text) return {};
  auto json = llvm::json::parse(*text);
  if (!json) {
    llvm::consumeError(json.takeError());
    return {};
  }
  const llvm::json::Object *object = json->getAsObject();
  const llvm::json::Object *folder = object ? object->getObject("dir_info") : nullptr;
  if (!folder || !folder->getBoolean("editable").value_or(false)) return {};
  llvm::StringRef url = object->getString("url").value_or("");
  if (!url.consume_front("file://")) return {};
  if (!url.starts_with("/")) url = url.drop_front(std::min(url.find('/'), url.size())); // a host name
  return decode_percent(url);
}

class Reader {
public:
  Reader(const Candidate &candidate, Distribution distribution) : candidate_(candidate) {
    installed_.distribution = std::move(distribution);
    installed_.folder = candidate.folder;
  }

  InstalledDistribution read() {
    if (candidate_.is_egg()) {
      installed_.roots.push_back(candidate_.path());
      return std::move(installed_);
    }
    if (candidate_.is_link()) {
      const std::string text = read_small_file(candidate_.path(), kSmallFile).value_or("");
      add_editable(llvm::StringRef(text).split('\n').first.trim().str());
      return std::move(installed_);
    }
    const bool listed = read_list();
    const std::string project = editable_project(candidate_.path());
    if (!project.empty()) add_editable(project);
    for (const std::string &file : installed_.files)
      if (file.ends_with(".pth") && file.find('/') == std::string::npos) read_pth(file);
    if (!listed) read_top_level();
    return std::move(installed_);
  }

private:
  void add_editable(const std::string &folder) {
    if (folder.empty() || std::find(installed_.roots.begin(), installed_.roots.end(), folder) != installed_.roots.end()) return;
    const bool exists = is_folder(folder);
    installed_.notes.push_back("editable: its code is in " + last_two_parts(folder) + (exists ? "" : ", which does not exist"));
    if (exists) installed_.roots.push_back(folder);
  }

  bool read_list() {
    const bool dist_info = candidate_.is_dist_info();
    const auto text = read_small_file(candidate_.path() + (dist_info ? "/RECORD" : "/installed-files.txt"), kRecordLimit);
    if (!text) return false;
    std::vector<std::string> faults;
    for (std::string &row : parse_record(*text, faults)) {
      if (!dist_info && !row.starts_with('/')) row = path_in(candidate_.entry, row);
      std::string inside = placed("", row);
      installed_.files.push_back(inside.empty() ? std::move(row) : std::move(inside));
    }
    for (const std::string &fault : faults) installed_.notes.push_back(candidate_.entry + "/RECORD: " + fault);
    std::sort(installed_.files.begin(), installed_.files.end());
    installed_.files.erase(std::unique(installed_.files.begin(), installed_.files.end()), installed_.files.end());
    return true;
  }

  // The folders that a .pth file puts on the path; its lines that start with "import" are code.
  void read_pth(const std::string &file) {
    const std::string text = read_small_file(path_in(installed_.folder, file), kSmallFile).value_or("");
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(text).split(lines, '\n');
    for (const llvm::StringRef line : lines) {
      const std::string folder = line.trim().str();
      if (folder.starts_with('/') && is_folder(folder)) add_editable(folder);
    }
  }

  // Packagers of systems drop RECORD and installed-files.txt; the import names are left.
  void read_top_level() {
    const std::string text = read_small_file(candidate_.path() + "/top_level.txt", kSmallFile).value_or("");
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(text).split(lines, '\n');
    const std::vector<std::string> names = names_in(installed_.folder);
    for (const llvm::StringRef line : lines) {
      const std::string top = resolved(line.trim().str());
      if (top.empty()) continue;
      for (const std::string &folder : {top, top + ".libs"})
        if (is_folder(path_in(installed_.folder, folder))) installed_.roots.push_back(path_in(installed_.folder, folder));
      for (const std::string &name : names)
        if (name.starts_with(top + ".") && is_file(path_in(installed_.folder, name))) installed_.files.push_back(name);
    }
    if (!installed_.roots.empty() || !installed_.files.empty())
      installed_.notes.push_back("no RECORD lists its files: what its top_level.txt names is looked at");
  }

  const Candidate &candidate_;
  InstalledDistribution installed_;
};

std::string join(const std::vector<std::string> &parts) { return llvm::join(parts, ", "); }

llvm::Error not_installed(const std::string &name, const std::vector<std::string> &folders,
                          const std::vector<std::string> &names) {
  const std::string wanted = normalized_name(name);
  std::vector<std::pair<unsigned, std::string>> near;
  for (const std::string &other : names) {
    const std::string normal = normalized_name(other);
    const unsigned distance = llvm::StringRef(wanted).edit_distance(normal, true, 8);
    if (distance <= std::max<size_t>(1, wanted.size() / 3))
      near.emplace_back(distance, other);
    else if (normal.starts_with(wanted + "-") || wanted.starts_with(normal + "-") || normal == "python-" + wanted ||
             normal == "py" + wanted)
      near.emplace_back(8, other);
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(near.size(), kNearNames); ++i) shown.push_back(near[i].second);
  std::string message = "no distribution '" + name + "' is installed";
  if (!shown.empty()) message += "; installed are " + join(shown);
  std::vector<std::string> places;
  for (const std::string &folder : folders)
    if (std::string place = last_two_parts(folder); std::find(places.begin(), places.end(), place) == places.end())
      places.push_back(std::move(place));
  message += folders.empty() ? "; no folder with packages was found" : "; looked in " + join(places);
  message += "; the environment is that of VIRTUAL_ENV, CONDA_PREFIX or the python3 on PATH: activate another one, or give its "
             "site-packages folder as a path";
  return make_error(std::move(message));
}

} // namespace

llvm::Expected<InstalledDistribution> find_installed(const std::string &name, const std::vector<std::string> &folders) {
  const std::string wanted = normalized_name(name);
  const std::vector<Candidate> candidates = candidates_in(folders);
  std::vector<std::string> names;
  // First those whose folder has the name, then all: METADATA may spell it otherwise than an old egg-info's folder.
  for (const bool by_folder : {true, false}) {
    for (const Candidate &candidate : candidates) {
      Distribution by_name;
      name_by_folder(by_name, candidate.entry);
      if ((normalized_name(by_name.name) == wanted) != by_folder) continue;
      Distribution distribution = candidate.read();
      if (normalized_name(distribution.name) == wanted) return Reader(candidate, std::move(distribution)).read();
      names.push_back(distribution.name);
    }
  }
  return not_installed(name, folders, names);
}

} // namespace isa_audit
