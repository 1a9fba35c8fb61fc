// --dist NAME and the search for the environment, on made-up installations.

#include <gtest/gtest.h>
#include <map>
#include <optional>

#include "isa-audit/source/site_packages.h"
#include "temp_folder.h"

namespace isa_audit {
namespace {

using Texts = std::vector<std::string>;

// The environment variables that the search reads, all unset but those given.
class Environment {
public:
  explicit Environment(const std::map<std::string, std::string> &values) {
    for (const char *name : {"PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PATH", "PYTHONNOUSERSITE", "PYTHONUSERBASE", "HOME",
                             "PYENV_ROOT", "PYENV_VERSION"}) {
      const char *old = std::getenv(name);
      saved_[name] = old ? std::optional<std::string>(old) : std::nullopt;
      unsetenv(name);
    }
    for (const auto &[name, value] : values) setenv(name.c_str(), value.c_str(), 1);
  }
  Environment(const Environment &) = delete;
  Environment &operator=(const Environment &) = delete;
  ~Environment() {
    for (const auto &[name, value] : saved_)
      if (value)
        setenv(name.c_str(), value->c_str(), 1);
      else
        unsetenv(name.c_str());
  }

private:
  std::map<std::string, std::optional<std::string>> saved_;
};

// A program where one is wanted; it is never run.
void write_program(const TempFolder &folder, const std::string &name,
                   const std::string &content = "\x7f"
                                                "ELF") {
  chmod(folder.write(name, content).c_str(), 0755);
}

// How to look elsewhere.
const std::string kChoose =
    "; the environment is that of VIRTUAL_ENV, CONDA_PREFIX or the python3 on PATH: activate another one, "
    "or give its site-packages folder as a path";

TEST(EnvironmentSearch, VirtualEnvironmentFirst) {
  const TempFolder t;
  t.write("venv/lib/python3.11/site-packages/x", "");
  t.write("venv/pyvenv.cfg", "home = " + (t / "base/bin") + "\ninclude-system-site-packages = false\nversion = 3.11.2\n");
  t.write("base/lib/python3.11/site-packages/x", "");
  t.write("conda/lib/python3.12/site-packages/x", "");
  t.write("home/.local/lib/python3.11/site-packages/x", "");
  t.write("extra/x", "");
  {
    const Environment environment({{"VIRTUAL_ENV", t / "venv"}, {"CONDA_PREFIX", t / "conda"}, {"HOME", t / "home"}});
    EXPECT_EQ(site_packages_of_environment(), Texts{t / "venv/lib/python3.11/site-packages"});
  }
  {
    const Environment environment({{"CONDA_PREFIX", t / "conda"}, {"PYTHONPATH", t / "extra" + ":" + (t / "none")}});
    EXPECT_EQ(site_packages_of_environment(), (Texts{t / "extra", t / "conda/lib/python3.12/site-packages"}));
  }
  t.write("venv/pyvenv.cfg",
          "home = " + (t / "base/bin") + "\ninclude-system-site-packages = TRUE\nversion_info = 3.11.2.final.0\n");
  {
    const Environment environment({{"VIRTUAL_ENV", t / "venv"}, {"HOME", t / "home"}});
    EXPECT_EQ(site_packages_of_environment(),
              (Texts{t / "venv/lib/python3.11/site-packages", t / "home/.local/lib/python3.11/site-packages",
                     t / "base/lib/python3.11/site-packages"}));
  }
  const Environment environment({{"VIRTUAL_ENV", t / "venv"}, {"HOME", t / "home"}, {"PYTHONNOUSERSITE", "1"}});
  EXPECT_EQ(site_packages_of_environment(),
            (Texts{t / "venv/lib/python3.11/site-packages", t / "base/lib/python3.11/site-packages"}));
}

TEST(EnvironmentSearch, PythonOnPath) {
  const TempFolder t;
  write_program(t, "py/bin/python3.11");
  symlink("python3.11", (t / "py/bin/python3").c_str());
  t.write("py/lib/python3.11/site-packages/x", "");
  t.write("py/lib/python3.9/site-packages/x", ""); // another version's
  t.write("py/lib/python3/dist-packages/x", "");
  std::filesystem::create_directories(t / "bin");
  symlink((t / "py/bin/python3").c_str(), (t / "bin/python3").c_str());
  t.write("other/python3", "not a program: not executable");
  const Environment environment({{"PATH", t / "none" + ":" + (t / "other") + "::" + (t / "bin")}});
  EXPECT_EQ(site_packages_of_environment(), (Texts{t / "py/lib/python3.11/site-packages", t / "py/lib/python3/dist-packages"}));
}

TEST(EnvironmentSearch, VirtualEnvironmentOnPathIsNotFollowedToItsBase) {
  const TempFolder t;
  write_program(t, "base/bin/python3.11");
  t.write("base/lib/python3.11/site-packages/x", "");
  t.write("venv/pyvenv.cfg", "home = " + (t / "base/bin") + "\n");
  t.write("venv/lib/python3.11/site-packages/x", "");
  std::filesystem::create_directories(t / "venv/bin");
  symlink((t / "base/bin/python3.11").c_str(), (t / "venv/bin/python3").c_str());
  const Environment environment({{"PATH", t / "venv/bin"}});
  EXPECT_EQ(site_packages_of_environment(), Texts{t / "venv/lib/python3.11/site-packages"});
}

TEST(EnvironmentSearch, PyenvShim) {
  const TempFolder t;
  write_program(t, "pyenv/shims/python3", "#!/usr/bin/env bash\nexec pyenv exec \"$program\" \"$@\"\n");
  for (const char *version : {"3.9.1", "3.11.2", "3.11.10"})
    t.write(std::string("pyenv/versions/") + version + "/lib/python3.x/site-packages/x", "");
  t.write("pyenv/version", "3.9.1\n");
  const auto site = [&](const std::string &version) {
    return Texts{t / ("pyenv/versions/" + version + "/lib/python3.x/site-packages")};
  };
  {
    const Environment environment({{"PATH", t / "pyenv/shims"}});
    EXPECT_EQ(site_packages_of_environment(), site("3.9.1"));
  }
  {
    const Environment environment({{"PATH", t / "pyenv/shims"}, {"PYENV_VERSION", "3.11"}});
    EXPECT_EQ(site_packages_of_environment(), site("3.11.10")) << "the newest that starts with it";
  }
  // "system" sends the search on to the next python3 of PATH.
  write_program(t, "py/bin/python3.12");
  symlink("python3.12", (t / "py/bin/python3").c_str());
  t.write("py/lib/python3.12/site-packages/x", "");
  const Environment environment({{"PATH", t / "pyenv/shims" + ":" + (t / "py/bin")}, {"PYENV_VERSION", "system"}});
  EXPECT_EQ(site_packages_of_environment(), Texts{t / "py/lib/python3.12/site-packages"});
}

std::string error_of(llvm::Expected<InstalledDistribution> found) {
  return found ? "none: " + found->distribution.name : llvm::toString(found.takeError());
}

TEST(FindInstalled, ByNormalizedName) {
  const TempFolder t;
  t.write("kern_lib-1.2.dist-info/METADATA", "Name: Kern.Lib\nVersion: 1.2\n");
  t.write("kern_lib-1.2.dist-info/RECORD", "kern/b.so,,\nkern/a.so,,\n../../../bin/kern,,\n./kern/../kern/a.so,,\n");
  for (const char *name : {"kern-lib", "KERN_LIB", "Kern.Lib"}) {
    auto found = find_installed(name, {t / "none", t.path()});
    ASSERT_TRUE(bool(found)) << name;
    EXPECT_EQ(found->distribution.name, "Kern.Lib");
    EXPECT_EQ(found->distribution.version, "1.2");
    EXPECT_EQ(found->distribution.path, "kern_lib-1.2.dist-info");
    EXPECT_EQ(found->folder, t.path());
    EXPECT_EQ(found->files, (Texts{"../../../bin/kern", "kern/a.so", "kern/b.so"}));
    EXPECT_EQ(found->roots, Texts{});
    EXPECT_EQ(found->notes, Texts{});
  }
}

TEST(FindInstalled, MetadataDecidesWhereTheFolderIsNamedOtherwise) {
  const TempFolder t;
  t.write("strange-9.dist-info/METADATA", "Name: kern\nVersion: 1\n");
  t.write("strange-9.dist-info/RECORD", "a.so,,\n");
  t.write("kern-1.dist-info/METADATA", "Name: other\n");
  auto found = find_installed("kern", {t.path()});
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->distribution.path, "strange-9.dist-info");
}

TEST(FindInstalled, SaysWhatIsNearAndWhereItLooked) {
  const TempFolder t;
  for (const char *name : {"numpy", "torch", "python_dateutil"})
    t.write(std::string(name) + "-1.dist-info/METADATA", std::string("Name: ") + name + "\n");
  EXPECT_EQ(error_of(find_installed("nunpy", {t.path()})),
            "no distribution 'nunpy' is installed; installed are numpy; looked in " + last_two_parts(t.path()) + kChoose);
  EXPECT_EQ(error_of(find_installed("dateutil", {t.path()})),
            "no distribution 'dateutil' is installed; installed are python_dateutil; looked in " + last_two_parts(t.path()) +
                kChoose);
  EXPECT_EQ(error_of(find_installed("jax", {t.path()})),
            "no distribution 'jax' is installed; looked in " + last_two_parts(t.path()) + kChoose);
  EXPECT_EQ(error_of(find_installed("jax", {})),
            "no distribution 'jax' is installed; no folder with packages was found" + kChoose);
}

TEST(FindInstalled, EditableInstallations) {
  const TempFolder t;
  t.write("project dir/kern/a.so", "");
  t.write("src/lib/b.so", "");
  const auto add = [&](const std::string &name, const std::string &record) {
    t.write("site/" + name + "-1.dist-info/METADATA", "Name: " + name + "\n");
    t.write("site/" + name + "-1.dist-info/RECORD", record);
  };
  add("url", "__editable___url_finder.py,,\n");
  t.write("site/url-1.dist-info/direct_url.json",
          "{\"dir_info\": {\"editable\": true}, \"url\": \"file://" + t.path() + "/project%20dir\"}");
  add("pth", "__editable__.pth-1.pth,,\n");
  t.write("site/__editable__.pth-1.pth", "import sys\n" + (t / "src/lib") + "\n/none\n");
  add("gone", "");
  t.write("site/gone-1.dist-info/direct_url.json", "{\"dir_info\": {\"editable\": true}, \"url\": \"file:///none/here\"}");
  add("plain", "plain.py,,\n");
  t.write("site/plain-1.dist-info/direct_url.json", "{\"url\": \"file://" + t.path() + "\", \"dir_info\": {}}");
  add("broken", "");
  t.write("site/broken-1.dist-info/direct_url.json", "{\"dir_info\": [");
  t.write("site/link.egg-link", t / "src" + "\n../\n");
  const auto find = [&](const std::string &name) {
    auto found = find_installed(name, {t / "site"});
    EXPECT_TRUE(bool(found)) << name;
    return std::make_pair(found->roots, found->notes);
  };
  EXPECT_EQ(find("url"),
            std::make_pair(Texts{t / "project dir"}, Texts{"editable: its code is in " + last_two_parts(t / "project dir")}));
  EXPECT_EQ(find("pth"), std::make_pair(Texts{t / "src/lib"}, Texts{"editable: its code is in src/lib"}));
  EXPECT_EQ(find("gone"), std::make_pair(Texts{}, Texts{"editable: its code is in none/here, which does not exist"}));
  EXPECT_EQ(find("plain"), std::make_pair(Texts{}, Texts{}));
  EXPECT_EQ(find("broken"), std::make_pair(Texts{}, Texts{}));
  EXPECT_EQ(find("link"), std::make_pair(Texts{t / "src"}, Texts{"editable: its code is in " + last_two_parts(t / "src")}));
}

TEST(FindInstalled, WithoutRecord) {
  const TempFolder t;
  t.write("kern-1.egg-info/PKG-INFO", "Name: kern\n");
  t.write("kern-1.egg-info/top_level.txt", "kern\n_kern\n../up\n");
  t.write("kern/a.so", "");
  t.write("kern.libs/b.so", "");
  t.write("_kern.cpython-311.so", "");
  auto found = find_installed("kern", {t.path()});
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->roots, (Texts{t / "kern", t / "kern.libs"}));
  EXPECT_EQ(found->files, Texts{"_kern.cpython-311.so"});
  EXPECT_EQ(found->notes, Texts{"no RECORD lists its files: what its top_level.txt names is looked at"});

  t.write("old-1.egg-info/PKG-INFO", "Name: old\n");
  t.write("old-1.egg-info/installed-files.txt", "../old/x.so\nPKG-INFO\n");
  found = find_installed("old", {t.path()});
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->files, (Texts{"old-1.egg-info/PKG-INFO", "old/x.so"}));

  t.write("flat-2.egg-info", "Name: flat\nVersion: 2\n");
  found = find_installed("flat", {t.path()});
  ASSERT_TRUE(bool(found));
  EXPECT_EQ(found->distribution.version, "2");
  EXPECT_TRUE(found->notes.empty() && found->files.empty() && found->roots.empty());
}

} // namespace
} // namespace isa_audit
