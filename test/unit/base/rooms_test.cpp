// The rooms and what each may include, held against the sources.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace fs = std::filesystem;

namespace {

const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {"llvm"}},
    {"source", {"base", "llvm", "nlohmann"}},
    {"container", {"base", "llvm", "minizip", "libdeflate.h", "zlib.h"}},
    {"elf", {"base", "llvm"}},
    {"device", {"base", "elf", "llvm", "zstd.h", "zlib.h", "lzma.h", "sqlite3.h"}},
    {"host", {"base", "elf", "llvm"}},
    {"machine", {"base", "device", "host", "llvm"}},
    {"verdict", {"base", "source", "device", "host", "machine", "llvm"}},
    {"report", {"base", "source", "device", "host", "machine", "verdict", "llvm", "fmt", "nlohmann"}},
    {"scan", {"base", "source", "container", "elf", "device", "host", "verdict", "llvm"}},
};

// Of third-party headers, the ones the table speaks of; others are the C++ and C libraries.
bool third_party(const std::string &name) {
  static const std::set<std::string> all = {"llvm",   "nlohmann", "minizip", "libdeflate.h", "zlib.h",    "zstd.h",
                                            "lzma.h", "fmt",      "CLI",     "Zydis",        "sqlite3.h", "archive.h"};
  return all.contains(name);
}

TEST(Rooms, IncludeOnlyWhatTheyMay) {
  fs::path root = fs::path(ISA_AUDIT_TESTDATA).parent_path();
  std::regex include(R"(^\s*#\s*include\s+["<]([^">]+)[">])");
  size_t files = 0;
  for (auto &[room, allowed] : kMayInclude)
    for (fs::path folder : {root / "lib" / room, root / "include/isa-audit" / room})
      for (const auto &entry : fs::recursive_directory_iterator(folder)) {
        std::string extension = entry.path().extension().string();
        // A generator is a program of its own, run when the project is built.
        if ((extension != ".cpp" && extension != ".h") || entry.path().string().find("/tables/") != std::string::npos) continue;
        ++files;
        std::ifstream in(entry.path());
        std::smatch match;
        for (std::string line; std::getline(in, line);) {
          if (!std::regex_search(line, match, include)) continue;
          std::string name = match[1];
          std::string first = name.substr(0, name.find('/'));
          if (first == "isa-audit") {
            std::string other = name.substr(10, name.find('/', 10) - 10);
            EXPECT_TRUE(other == room || allowed.contains(other)) << entry.path() << " includes " << name;
          } else if (third_party(first)) {
            EXPECT_TRUE(allowed.contains(first)) << entry.path() << " includes " << name;
          }
        }
      }
  EXPECT_GT(files, 60u);
}

} // namespace
