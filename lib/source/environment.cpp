// Where the Python of this environment looks for packages, found as Python itself finds it (docs.python.org, "site" and
// "sys.prefix"; PEP 405 for pyvenv.cfg) without running it: `import torch` may die exactly when this tool is needed.

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <unistd.h>

#include "folder.h"
#include "isa-audit/source/site_packages.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace isa_audit {
namespace {

constexpr uint64_t kSmallFile = 1 << 20;

std::string environment_variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

// "3.9" before "3.11": runs of digits count as numbers.
bool version_less(const std::string &a, const std::string &b) { return llvm::StringRef(a).compare_numeric(b) < 0; }

class Finder {
public:
  std::vector<std::string> find() {
    for (const std::string &folder : split(environment_variable("PYTHONPATH"), ':')) add(folder);
    const size_t before = found_.size();
    for (const char *name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
      const std::string prefix = environment_variable(name);
      if (!prefix.empty()) add_environment(prefix, "");
      if (found_.size() > before) return found_;
    }
    for (const std::string &folder : split(environment_variable("PATH"), ':')) {
      add_python(folder + "/python3");
      if (found_.size() > before) return found_;
    }
    add_user_folder("");
    add_base("/usr", "");
    return found_;
  }

private:
  static std::vector<std::string> split(const std::string &text, char separator) {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(text).split(parts, separator, -1, false);
    return {parts.begin(), parts.end()};
  }

  void add(const std::string &folder) {
    if (is_folder(folder) && std::find(found_.begin(), found_.end(), folder) == found_.end()) found_.push_back(folder);
  }

  // The package folders below `prefix` for `version` ("3.11"), or for all versions when that is not known.
  void add_libraries(const std::string &prefix, const std::string &version) {
    for (const char *lib : {"/lib", "/lib64"}) {
      std::vector<std::string> pythons;
      for (std::string &name : names_in(prefix + lib)) {
        const std::string number = name.starts_with("python") ? name.substr(6) : "";
        // Debian has one "python3" for all versions.
        if (number.starts_with('3') && (version.empty() || number == version || number == "3"))
          pythons.push_back(std::move(name));
      }
      std::sort(pythons.begin(), pythons.end(), [](const auto &a, const auto &b) { return version_less(b, a); });
      for (const std::string &python : pythons)
        for (const char *packages : {"site-packages", "dist-packages"}) add(path_in(path_in(prefix + lib, python), packages));
    }
  }

  void add_user_folder(const std::string &version) {
    if (!environment_variable("PYTHONNOUSERSITE").empty()) return;
    std::string base = environment_variable("PYTHONUSERBASE");
    const std::string home = environment_variable("HOME");
    if (base.empty() && !home.empty()) base = home + "/.local";
    if (!base.empty()) add_libraries(base, version);
  }

  // An installation that is no virtual environment. Debian gives what people install with pip a folder of its own.
  void add_base(const std::string &prefix, const std::string &version) {
    if (prefix == "/usr") add_libraries("/usr/local", version);
    add_libraries(prefix, version);
  }

  // A prefix that may be a virtual environment.
  void add_environment(const std::string &prefix, const std::string &version) {
    const auto text = read_small_file(prefix + "/pyvenv.cfg", kSmallFile);
    if (!text) {
      add_user_folder(version);
      return add_base(prefix, version);
    }
    std::map<std::string, std::string> settings;
    for (const std::string &line : split(*text, '\n')) {
      const auto [key, value] = llvm::StringRef(line).split('=');
      settings[key.trim().lower()] = value.trim().str();
    }
    add_libraries(prefix, "");
    if (llvm::StringRef(settings["include-system-site-packages"]).lower() != "true" || settings["home"].empty()) return;
    std::string base_version = settings["version"].empty() ? settings["version_info"] : settings["version"]; // venv, virtualenv
    const size_t second_dot = base_version.find('.', base_version.find('.') + 1);
    if (base_version.find('.') != std::string::npos && second_dot != std::string::npos) base_version.resize(second_dot);
    add_user_folder(base_version);
    add_base(parent_of(settings["home"]), base_version);
  }

  void add_python(const std::string &python) {
    if (access(python.c_str(), X_OK) != 0 || !is_file(python)) return;
    const auto script = read_small_file(python, 64 << 10); // a program is larger
    if (script && script->starts_with("#!")) {
      if (script->find("pyenv") != std::string::npos) add_pyenv(parent_of(parent_of(python)));
      return; // another wrapper: the next folder of PATH may have the program
    }
    const std::string folder = parent_of(python);
    for (const std::string &prefix : {folder, parent_of(folder)})
      if (is_file(prefix + "/pyvenv.cfg")) return add_environment(prefix, "");
    const std::string real = real_path(python);
    const std::string name = real.substr(real.rfind('/') + 1); // "python3.11"
    const std::string version = name.starts_with("python3.") ? name.substr(6) : "";
    const std::string prefix = parent_of(parent_of(real));
    add_user_folder(version);
    add_base(prefix, version);
  }

  // The version that a pyenv shim would run. pyenv itself takes a prefix ("3.11") for the newest that starts with it.
  void add_pyenv(std::string root) {
    if (const std::string given = environment_variable("PYENV_ROOT"); !given.empty()) root = given;
    for (const std::string &wanted : pyenv_versions(root)) {
      std::string best;
      for (const std::string &name : names_in(root + "/versions"))
        if (name == wanted || (name.starts_with(wanted + ".") && best != wanted && (best.empty() || version_less(best, name))))
          best = name;
      const size_t before = found_.size();
      if (!best.empty()) add_environment(real_path(path_in(root + "/versions", best)), "");
      if (found_.size() > before) return;
    }
  }

  static std::vector<std::string> pyenv_versions(const std::string &root) {
    const std::string given = environment_variable("PYENV_VERSION");
    if (!given.empty()) return split(given, ':');
    for (std::string folder = real_path("."); !folder.empty(); folder = folder == "/" ? "" : parent_of(folder))
      if (const auto text = read_small_file(folder + "/.python-version", kSmallFile)) return words(*text);
    return words(read_small_file(root + "/version", kSmallFile).value_or(""));
  }

  static std::vector<std::string> words(const std::string &text) {
    std::vector<std::string> words;
    for (const std::string &line : split(text, '\n')) {
      const llvm::StringRef word = llvm::StringRef(line).trim();
      if (!word.empty() && word.front() != '#') words.push_back(word.str());
    }
    return words;
  }

  std::vector<std::string> found_;
};

} // namespace

std::vector<std::string> site_packages_of_environment() { return Finder().find(); }

} // namespace isa_audit
