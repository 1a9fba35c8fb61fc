// The side-cars, one row a library: which paths are its files, and how their content is read. Paths decide here because the
// libraries find their files by path; contents still say what a file is for.
#include "sidecars.h"

#include <algorithm>
#include <array>

#include "isa-audit/device/side_file.h"
#include "side_paths.h"

namespace isa_audit {
namespace {

using Parts = std::vector<std::string_view>;

// The path up to and with part `last`.
std::string folder_of(std::string_view path, const Parts &parts, size_t last) {
  size_t length = static_cast<size_t>(parts[last].data() + parts[last].size() - path.data());
  return std::string(path.substr(0, length));
}

// The index of the part `second` behind the part `first` (at most `gap` parts between), before the file's own name.
std::optional<size_t> find_pair(const Parts &parts, std::string_view first, std::string_view second, size_t gap) {
  for (size_t i = 0; i + 2 < parts.size(); ++i)
    if (parts[i] == first)
      for (size_t k = i + 1; k <= i + 1 + gap && k + 1 < parts.size(); ++k)
        if (parts[k] == second) return k;
  return std::nullopt;
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

// Tensile's libraries. The index is TensileLibrary_lazy_<processor>.dat, or without "lazy_" where everything is in it, or
// TensileLibrary.dat for all processors. A lazy index names TensileLibrary_Type_… files; those called fallback are for all.
SidePart tensile_part(std::string_view name) {
  if (ends_with_any(name, {".co", ".hsaco"})) return SidePart::kernels;
  if (!name.starts_with("TensileLibrary") || !ends_with_any(name, {".dat", ".yaml", ".dat.zlib"})) return SidePart::other;
  std::string_view rest = name.substr(std::string_view("TensileLibrary").size());
  return rest.starts_with(".") || rest.starts_with("_lazy_gfx") || rest.starts_with("_gfx") ? SidePart::index : SidePart::table;
}

bool match_tensile(std::string_view library, std::string_view path, const Parts &parts, SideFile &out) {
  // Debian puts a version between the two: rocblas/5.1.0/library.
  auto at = find_pair(parts, library, "library", 1);
  if (!at) return false;
  out.folder = folder_of(path, parts, *at);
  out.part = tensile_part(parts.back());
  out.targets = gfx_names(parts.back());
  return true;
}

bool match_rocblas(std::string_view path, const Parts &parts, SideFile &out) {
  return match_tensile("rocblas", path, parts, out);
}
bool match_hipblaslt(std::string_view path, const Parts &parts, SideFile &out) {
  return match_tensile("hipblaslt", path, parts, out);
}
bool match_hipsparselt(std::string_view path, const Parts &parts, SideFile &out) {
  return match_tensile("hipsparselt", path, parts, out);
}

bool match_miopen(std::string_view path, const Parts &parts, SideFile &out) {
  auto at = find_pair(parts, "miopen", "db", 0);
  if (!at) return false;
  out.folder = folder_of(path, parts, *at);
  if (!ends_with_any(parts.back(), {".kdb", ".db", "db.txt", ".model"})) return true;
  UnitName name = parse_unit_name(parts.back());
  out.part = SidePart::database;
  if (!name.processor.empty()) out.targets = {name.processor};
  if (name.units) out.detail = std::to_string(name.units) + " CUs";
  return true;
}

bool match_rocfft(std::string_view path, const Parts &parts, SideFile &out) {
  if (!parts.back().starts_with("rocfft_kernel_cache") || !parts.back().ends_with(".db")) return false;
  out.folder = parts.size() > 1 ? folder_of(path, parts, parts.size() - 2) : ".";
  out.part = SidePart::database;
  out.targets = gfx_names(parts.back());
  return true;
}

bool match_aotriton(std::string_view path, const Parts &parts, SideFile &out) {
  auto at = std::ranges::find(parts.begin(), parts.end() - 1, std::string_view("aotriton.images"));
  if (at == parts.end() - 1) return false;
  size_t folder = static_cast<size_t>(at - parts.begin());
  out.folder = folder_of(path, parts, folder);
  if (folder + 2 < parts.size()) out.targets = gfx_names(parts[folder + 1]);
  if (parts.back() == "__signature__")
    out.part = SidePart::signature;
  else if (ends_with_any(parts.back(), {".aks2", ".hsaco", ".co", ".zip"}))
    out.part = SidePart::kernels;
  return true;
}

bool match_aiter(std::string_view path, const Parts &parts, SideFile &out) {
  auto at = find_pair(parts, "aiter_meta", "hsa", 0);
  if (!at) at = find_pair(parts, "aiter", "hsa", 0);
  if (!at) return false;
  out.folder = folder_of(path, parts, *at);
  if (*at + 2 < parts.size()) out.targets = gfx_names(parts[*at + 1]);
  if (parts.back().ends_with(".co"))
    out.part = SidePart::kernels;
  else if (parts.back().ends_with(".csv"))
    out.part = SidePart::table;
  return true;
}

// oclc_isa_version_90a.bc, oclc_isa_version_9-4-generic.bc.
bool match_device_libs(std::string_view path, const Parts &parts, SideFile &out) {
  auto at = find_pair(parts, "amdgcn", "bitcode", 0);
  if (!at || !parts.back().ends_with(".bc")) return false;
  out.folder = folder_of(path, parts, *at);
  std::string_view name = parts.back();
  constexpr std::string_view kIsa = "oclc_isa_version_";
  if (!name.starts_with(kIsa)) return true;
  name = name.substr(kIsa.size(), name.size() - kIsa.size() - 3);
  out.part = SidePart::bitcode;
  out.targets = {"gfx" + std::string(name)};
  return true;
}

struct Row {
  SideLibrary library;
  std::string_view name, title;
  bool (*match)(std::string_view path, const Parts &parts, SideFile &out);
  void (*read)(const Bytes &content, SideFile &file, Problems &problems); // nullptr: names tell all
  SidePart reads;                                                         // the part of which the content is read
};

constexpr std::array kRows = {
    Row{SideLibrary::rocblas, "rocblas", "rocBLAS", match_rocblas, read_tensile_index, SidePart::index},
    Row{SideLibrary::hipblaslt, "hipblaslt", "hipBLASLt", match_hipblaslt, read_tensile_index, SidePart::index},
    Row{SideLibrary::hipsparselt, "hipsparselt", "hipSPARSELt", match_hipsparselt, read_tensile_index, SidePart::index},
    Row{SideLibrary::miopen, "miopen", "MIOpen", match_miopen, read_miopen_database, SidePart::database},
    Row{SideLibrary::rocfft, "rocfft", "rocFFT", match_rocfft, read_rocfft_cache, SidePart::database},
    Row{SideLibrary::aotriton, "aotriton", "AOTriton", match_aotriton, read_aotriton_signature, SidePart::signature},
    Row{SideLibrary::aiter, "aiter", "AITER", match_aiter, read_aiter_table, SidePart::table},
    Row{SideLibrary::device_libs, "device-libs", "the ROCm compiler", match_device_libs, nullptr, SidePart::other},
};

const Row &row_of(SideLibrary library) { return *std::ranges::find(kRows, library, &Row::library); }

// Hand-made markers: most files of an environment are told from side-cars without cutting their paths into parts.
bool may_match(std::string_view path) {
  for (std::string_view mark : {"/library/", "miopen/db/", "rocfft_kernel_cache", "aotriton.images/", "/hsa/", "bitcode/oclc_"})
    if (path.find(mark) != std::string_view::npos) return true;
  return path.find("amdgcn/bitcode/") != std::string_view::npos;
}

} // namespace

const char *side_library_name(SideLibrary library) { return row_of(library).name.data(); }
const char *side_library_title(SideLibrary library) { return row_of(library).title.data(); }

std::optional<SideFile> recognise_side_file(std::string_view path, std::string_view above) {
  if (!above.empty()) {
    // What is one by its own path needs nothing above it.
    if (auto inside = recognise_side_file(path)) return inside;
    auto out = recognise_side_file(std::string(above) + "/" + std::string(path));
    if (out) out->folder = out->folder.size() > above.size() ? out->folder.substr(above.size() + 1) : ".";
    return out;
  }
  if (!may_match(path)) return std::nullopt;
  Parts parts = path_parts(path);
  for (const Row &row : kRows) {
    SideFile out;
    out.library = row.library;
    if (row.match(path, parts, out)) return out;
  }
  return std::nullopt;
}

bool wants_content(const SideFile &file) {
  const Row &row = row_of(file.library);
  return row.read && row.reads == file.part;
}

void read_side_file(const Bytes &content, SideFile &file, Problems &problems) {
  if (wants_content(file)) row_of(file.library).read(content, file, problems);
}

} // namespace isa_audit
