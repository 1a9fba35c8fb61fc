// A path inside a site-packages folder is audited with its surroundings: the RECORDs of the folder say which distribution owns
// a file, and the libraries that auditwheel put beside the package (torch.libs) belong to it although they lie outside.
#include "inputs.h"

#include <algorithm>
#include <filesystem>
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
    size_t before = out_.members.size(), problems = out_.problems.size();
    walk(path, input, {options_.excludes, options_.follow_symlinks}, feed(!folder));
    if (!folder) return;
    if (out_.members.size() == before && out_.problems.size() == problems)
      out_.problems.push_back({Level::error, {input, "", "", 0}, "holds no files: nothing to audit"});
    add_surroundings(path, input);
  }

  void add_surroundings(const std::string &path, uint32_t input) {
    auto folder = enclosing_site_packages(path);
    if (!folder) return;
    std::error_code error;
    fs::path inside = fs::canonical(path, error);
    fs::path root = fs::canonical(*folder, error);
    if (error) return;
    std::string prefix = inside.lexically_relative(root).generic_string();
    out_.surroundings.push_back({*folder, input, prefix});
    // Only a package's own top-level folder has siblings.
    if (prefix.find('/') != std::string::npos) return;
    std::string libs = root.string() + "/" + prefix + ".libs";
    if (!fs::is_directory(libs, error)) return;
    Feed sink = feed(false);
    Feed renamed{[&](Member member) {
                   member.origin.path = "../" + prefix + ".libs/" + member.origin.path;
                   sink.member(std::move(member));
                 },
                 sink.problem};
    walk(libs, input, {options_.excludes, options_.follow_symlinks}, renamed);
  }

  void take_distribution(const std::string &name, const std::vector<std::string> &folders) {
    uint32_t input = add_input(name, "distribution");
    auto found = find_installed(name, folders);
    if (!found) {
      out_.problems.push_back({Level::error, {input, "", "", 0}, llvm::toString(found.takeError())});
      return;
    }
    out_.surroundings.push_back({found->folder, input, ""});
    Feed sink = feed(false);
    for (const std::string &file : found->files) {
      if (is_excluded(options_.excludes, file)) continue;
      auto member = file_member(found->folder + "/" + file, input, file);
      if (member)
        sink.member(std::move(*member));
      else
        sink.problem({Level::warning, {input, file, "", 0}, llvm::toString(member.takeError())});
    }
  }

  const ScanOptions &options_;
  Intake out_;
};

} // namespace

Intake take_in(const ScanOptions &options) { return Taker(options).take(); }

} // namespace isa_audit
