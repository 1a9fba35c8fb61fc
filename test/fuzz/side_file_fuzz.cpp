// The first line of the input is a path, the rest the content of that file. What is promised: a side-car's folder is the start
// of the path, names that an index gives stay within a folder, and every problem has the file's origin.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "isa-audit/device/side_file.h"

using namespace isa_audit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  const size_t line = text.find('\n');
  const std::string path(text.substr(0, line));
  const size_t begin = line == std::string_view::npos ? size : line + 1;
  for (const char *above : {"", "opt/rocm/lib/rocblas/library"}) {
    auto file = recognise_side_file(path, above);
    if (!file) continue;
    if (file->folder != "." && !path.starts_with(file->folder)) std::abort();
    file->origin.path = path;
    Problems problems;
    read_side_file(Bytes::borrowed({data + begin, size - begin}), *file, problems);
    for (const Problem &problem : problems)
      if (problem.origin.path != path || problem.message.empty()) std::abort();
    for (const std::string &target : file->targets) names_processor(target, "gfx1100");
    if (file->library != SideLibrary::aiter)
      for (const std::string &name : file->names)
        if (name.find('/') != std::string::npos) std::abort();
  }
  return 0;
}
