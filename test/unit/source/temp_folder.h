// A folder of a test's own, removed with it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>

namespace isa_audit {

class TempFolder {
public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "isa-audit-test-XXXXXX").string();
    path_ = mkdtemp(name.data()) ? name : "";
    chmod(path_.c_str(), 0755);
    path_ = std::filesystem::canonical(path_).string();
  }
  TempFolder(const TempFolder &) = delete;
  TempFolder &operator=(const TempFolder &) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string &path() const { return path_; }
  std::string operator/(const std::string &name) const { return path_ + "/" + name; }

  // Writes a file, making its folders.
  std::string write(const std::string &name, const std::string &content) const {
    const std::string path = path_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

private:
  std::string path_;
};

} // namespace isa_audit
