// Files beside a library that decide whether it works on a GPU although they are no code objects: the index that names kernel
// files, databases of tuned or compiled kernels, bitcode for run-time compilation. A library's folder with all that is in it,
// code objects too, is a side-car; several libraries of ROCm fail or crawl without the right files in theirs.
// Layouts: the loaders of ROCm/rocBLAS, hipBLASLt, hipSPARSELt (Tensile), MIOpen, rocFFT, ROCm/aotriton, ROCm/aiter and clang.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/problem.h"

namespace isa_audit {

enum class SideLibrary : uint8_t { rocblas, hipblaslt, hipsparselt, miopen, rocfft, aotriton, aiter, device_libs };
const char *side_library_name(SideLibrary library);  // as in reports: "rocblas", "device-libs"
const char *side_library_title(SideLibrary library); // who uses it, in words: "rocBLAS"

enum class SidePart : uint8_t {
  index,     // of one processor or of all: names the files that are loaded at need
  kernels,   // a code object, an archive of them
  table,     // names kernels and the files they are in
  database,  // of tuned parameters or compiled kernels
  bitcode,   // of one processor
  signature, // which build the kernels are from
  other,     // belongs to the folder and says nothing of a processor
};

struct SideFile {
  SideLibrary library = SideLibrary::rocblas;
  SidePart part = SidePart::other;
  Origin origin;            // of the file
  std::string folder;       // the side-car it is part of: path relative to the input
  std::string distribution; // owner, empty for none
  // Target ids ("gfx90a:xnack-") and families ("gfx11xx") that the file is for: by its content where that tells, else by its
  // name. Empty: for all.
  std::vector<std::string> targets;
  std::vector<std::string> names; // an index: files without suffix; a table: files, both from the file's own folder
  std::string detail;             // a database: compute units ("304 CUs"); a signature: the build

  auto operator<=>(const SideFile &) const = default;
};

// What the path says: library, part, folder, targets. None for a file of no side-car. `above` are the last folders above the
// root of the path, for an input that is a side-car's folder itself or lies in one: the folder is then ".".
std::optional<SideFile> recognise_side_file(std::string_view path, std::string_view above = {});

// Whether read_side_file has something to find.
bool wants_content(const SideFile &file);

// Adds what the content says, and lets it win over the name. Damage is told with the origin of `file`.
void read_side_file(const Bytes &content, SideFile &file, Problems &problems);

// Whether a target as a side-car writes it is for the processor: the same, a generic that covers it, a family ("gfx11xx",
// "gfx110x", "gfx94X") whose name up to the x it starts with. Settings are not looked at.
bool names_processor(std::string_view written, std::string_view processor);

} // namespace isa_audit
