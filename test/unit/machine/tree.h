// A made-up root folder for tests, removed at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace isa_audit::test {

class Tree {
public:
  Tree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "isa-audit-machine-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  Tree(const Tree &) = delete;
  Tree &operator=(const Tree &) = delete;
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  const std::string &folder() const { return folder_; }
  std::string path(std::string_view relative) const { return folder_ + "/" + std::string(relative); }

  void write(std::string_view relative, std::string_view content) const {
    std::filesystem::path file = path(relative);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }

  // A node of KFD with this content of `properties`; no gpu_id file when `gpu_id` is empty.
  void node(unsigned number, std::string_view gpu_id, std::string_view properties) const {
    std::string folder = "sys/class/kfd/kfd/topology/nodes/" + std::to_string(number) + "/";
    write(folder + "properties", properties);
    if (!gpu_id.empty()) write(folder + "gpu_id", gpu_id);
  }

  // dev/kfd and a render node for each minor.
  void devices(std::initializer_list<unsigned> minors) const {
    write("dev/kfd", "");
    for (unsigned minor : minors) write("dev/dri/renderD" + std::to_string(minor), "");
  }

private:
  std::string folder_;
};

inline std::string read_testdata(const std::string &relative) {
  std::ifstream file(std::string(ISA_AUDIT_TESTDATA) + "/" + relative, std::ios::binary);
  EXPECT_TRUE(file) << relative;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace isa_audit::test
