// Shared libraries made at test time from assembler text, by clang 22 and lld.
#pragma once

#include "isa-audit/elf/elf.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace isa_audit {

inline bool can_assemble() {
  static const bool kCan = std::system("clang-22 --version >/dev/null 2>&1 && ld.lld-22 --version >/dev/null 2>&1") == 0;
  return kCan;
}

struct Library {
  std::vector<uint8_t> bytes;
  std::unique_ptr<Elf> elf;
};

// `text` in Intel syntax. The library asks for `needed`, if given, by DT_NEEDED. Empty on failure, which fails the test.
inline Library assemble(const std::string &text, const std::string &needed = "") {
  Library library;
  char pattern[] = "/tmp/isa-audit-test-XXXXXX";
  const char *folder = mkdtemp(pattern);
  if (!folder) {
    ADD_FAILURE() << "no temporary folder";
    return library;
  }
  const std::string at = folder;
  std::ofstream(at + "/a.s") << ".intel_syntax noprefix\n" << text;
  const std::string clang = "clang-22 --target=x86_64-linux-gnu -shared -nostdlib -fuse-ld=lld -Wl,-z,now -Wl,--no-as-needed ";
  std::string command = "cd " + at;
  if (!needed.empty()) command += " && " + clang + "-Wl,-soname," + needed + " -x assembler /dev/null -o " + needed;
  command += " && " + clang + "a.s " + needed + " -o a.so 2>a.err";
  if (std::system(command.c_str()) != 0) {
    std::ifstream errors(at + "/a.err");
    ADD_FAILURE() << std::string(std::istreambuf_iterator<char>(errors), {});
  } else {
    std::ifstream file(at + "/a.so", std::ios::binary);
    library.bytes.assign(std::istreambuf_iterator<char>(file), {});
    llvm::Expected<Elf> elf = Elf::read(Bytes::borrowed(library.bytes));
    if (elf)
      library.elf = std::make_unique<Elf>(std::move(*elf));
    else
      ADD_FAILURE() << llvm::toString(elf.takeError());
  }
  std::filesystem::remove_all(at);
  return library;
}

} // namespace isa_audit
