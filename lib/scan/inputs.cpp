// A path inside a site-packages folder is audited with its surroundings: the RECORDs of the folder say which distribution owns
// a file, and the libraries that auditwheel put beside the package (torch.libs) belong to it although they lie outside.
#include "inputs.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "isa-audit/source/walk.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace fs = std::filesystem;

namespace {

// The last component, without the folders above: reports are posted in public tickets.
std::string shown_name(const std::string &path) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  std::string name = whole.filename().string();
  return name.empty() ? "/" : name;
}

// By these a folder inside a side-car is known as one (rocblas/library).
std::string last_parts(const std::string &path) {
  constexpr int kParts = 4;
  std::error_code error;
  fs::path whole = fs::weakly_canonical(path, error);
  fs::path out;
  for (int i = 0; i < kParts && whole.has_filename(); ++i, whole = whole.parent_path())
    out = out.empty() ? whole.filename() : whole.filename() / out;
  return out.string();
}

// Of a file that is not there only the name is left.
bool is_named_like_code(const std::string &path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  constexpr std::string_view kEndings[] = {".so", ".pyd", ".dll", ".co", ".hsaco", ".hipfb", ".kpack"};
  return name.find(".so.") != std::string::npos ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

class Taker {
public:
  explicit Taker(const ScanOptions &options) : options_(options) {}

  Intake take() {
    for (const std::string &path : options_.paths) take_path(path);
    if (!options_.distributions.empty()) {
      std::vector<std::string> folders = site_packages_of_environment();
      for (const std::string &name : options_.distributions) take_distribution(name, folders);
    }
    return std::move(out_);
  }

private:
  Feed feed(bool is_input) {
    return {[this, is_input](Member member) {
              member.is_input = is_input;
              out_.inputs[member.origin.input].size += member.size;
              out_.members.push_back(std::move(member));
            },
            [this](Problem problem) { out_.problems.push_back(std::move(problem)); }};
  }

  uint32_t add_input(std::string shown, std::string kind) {
    Input input;
    input.path = std::move(shown);
    input.kind = std::move(kind);
    out_.inputs.push_back(std::move(input));
    return static_cast<uint32_t>(out_.inputs.size() - 1);
  }

  void take_path(const std::string &path) {
    std::error_code error;
    bool folder = fs::is_directory(path, error);
    uint32_t input = add_input(shown_name(path), folder ? "directory" : "file");
    out_.inputs[input].given = path;
    if (folder) out_.inputs[input].above = last_parts(path);
    size_t before = out_.members.size(), problems = out_.problems.size();
    walk(path, input, {options_.excludes, options_.follow_symlinks}, feed(!folder));
    if (folder && out_.members.size() == before && out_.problems.size() == problems)
      out_.problems.push_back({Level::error, {input, "", "", 0}, "holds no files: nothing to audit"});
    add_surroundings(path, input);
  }

  void add_surroundings(const std::string &path, uint32_t input) {
    auto folder = enclosing_site_packages(path);
    if (!folder) return;
    for (const std::string &beside : out_.distributions.add_installed(*folder, input, path, out_.problems))
      walk_under(*folder + "/" + beside, input, "../" + beside);
  }

  // Walks a folder that lies outside of the input; its files are shown below `shown`.
  void walk_under(const std::string &folder, uint32_t input, const std::string &shown) {
    Feed sink = feed(false);
    Feed renamed{[&](Member member) {
                   member.origin.path = shown + "/" + member.origin.path;
                   sink.member(std::move(member));
                 },
                 [&](Problem problem) {
                   problem.origin.path = shown + (problem.origin.path.empty() ? "" : "/" + problem.origin.path);
                   sink.problem(std::move(problem));
                 }};
    walk(folder, input, {options_.excludes, options_.follow_symlinks}, renamed);
  }

  void take_distribution(const std::string &name, const std::vector<std::string> &folders) {
    uint32_t input = add_input(name, "distribution");
    auto found = find_installed(name, folders);
    if (!found) {
      out_.problems.push_back({Level::error, {input, "", "", 0}, llvm::toString(found.takeError())});
      return;
    }
    for (const std::string &note : found->notes) out_.problems.push_back({Level::note, {input, "", "", 0}, note});
    if (found->files.empty() && found->roots.empty())
      out_.problems.push_back(
          {Level::error,
           {input, "", "", 0},
           "neither RECORD nor top_level.txt lists any of its files, so none was looked at: name its folder"});
    out_.named.push_back(found->distribution);
    out_.named.back().input = input;
    take_recorded(*found, input);
    take_device_archives(*found, input);
    for (const std::string &root : found->roots) walk_under(root, input, shown_name(root));
  }

  // The files that RECORD lists. Byte code is written and removed after installation and nothing here reads it.
  void take_recorded(const InstalledDistribution &found, uint32_t input) {
    Feed sink = feed(false);
    std::vector<std::string> missing;
    for (const std::string &file : found.files) {
      if (file.ends_with(".pyc") || is_excluded(options_.excludes, file)) continue;
      bool absolute = file.starts_with('/');
      std::string path = absolute ? file : found.folder + "/" + file, shown = absolute ? last_two_parts(file) : file;
      std::error_code error;
      if (!fs::exists(path, error) && !error) {
        missing.push_back(shown);
        continue;
      }
      auto member = file_member(path, input, shown);
      if (member)
        sink.member(std::move(*member));
      else
        sink.problem({Level::error, {input, shown, "", 0}, llvm::toString(member.takeError())});
    }
    if (missing.empty()) return;
    std::ranges::stable_partition(missing, is_named_like_code);
    std::string few = missing[0];
    for (size_t i = 1; i < std::min<size_t>(missing.size(), 3); ++i) few += ", " + missing[i];
    if (missing.size() > 3) few += llvm::formatv(" and {0} more", missing.size() - 3).str();
    // Without its code nothing can be said of it; other files are often dropped by packagers.
    const Level level = std::ranges::any_of(missing, is_named_like_code) ? Level::error : Level::warning;
    sink.problem({level, {input, "", "", 0}, "files that its RECORD lists are not there: " + few});
  }

  // Device wheels put their kpack archives into a folder of the distribution that they complete.
  void take_device_archives(const InstalledDistribution &found, uint32_t input) {
    std::set<std::string> folders, recorded;
    for (const std::string &file : found.files) {
      size_t slash = file.find('/');
      if (slash == std::string::npos || slash == 0) continue;
      std::string folder = file.substr(0, slash) + "/.kpack";
      if (file.starts_with(folder + "/")) recorded.insert(folder);
      folders.insert(std::move(folder));
    }
    for (const std::string &folder : folders) {
      std::error_code error;
      std::string path = found.folder + "/" + folder;
      if (!recorded.contains(folder) && fs::is_directory(path, error)) walk_under(path, input, folder);
    }
  }

  const ScanOptions &options_;
  Intake out_;
};

} // namespace

Intake take_in(const ScanOptions &options) { return Taker(options).take(); }

} // namespace isa_audit
