// Contents of side-car files.
// Tensile's index (.dat is MessagePack, .dat.zlib the same deflated, .yaml text): a tree of predicates whose leaves of type
// Placeholder have in `value` the name of a file without suffix, TensileLibrary_Type_…; only those names are looked for.
// MIOpen's .kdb has a table kern_db whose kernel_args hold the compiler's options (-mcpu=gfx906); .db a table perf_db or config
// with a column arch. rocFFT's cache has a table cache_v1 with a column arch. AITER's tables are CSV with the file in a column
// knl_file or co_name. AOTriton's __signature__ is JSON with the commit it was built from.
#include "sidecars.h"

#include <zlib.h>

#include <algorithm>
#include <set>

#include "pack_reader.h"
#include "side_paths.h"
#include "sqlite_db.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace isa_audit {
namespace {

constexpr size_t kMaxIndex = size_t{256} << 20; // inflated
constexpr size_t kMaxNames = 100000;
constexpr size_t kMaxName = 300;

void tell(const SideFile &file, std::string message, Problems &problems) {
  problems.push_back({Level::warning, file.origin, std::move(message)});
}

bool inflate_all(const Bytes &content, std::string &out) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return false;
  stream.next_in = const_cast<Bytef *>(content.data());
  stream.avail_in = static_cast<uInt>(std::min<uint64_t>(content.size(), UINT32_MAX));
  int status = Z_OK;
  std::string block(size_t{1} << 18, '\0');
  while (status == Z_OK && out.size() < kMaxIndex) {
    stream.next_out = reinterpret_cast<Bytef *>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(block, 0, block.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END;
}

bool is_library_name(std::string_view text) {
  return text.size() <= kMaxName && text.starts_with("TensileLibrary_") &&
         text.find_first_of("/\n\r") == std::string_view::npos;
}

// False where the bytes are no MessagePack to their end.
bool names_in_pack(std::string_view blob, std::set<std::string, std::less<>> &names) {
  PackReader reader(blob);
  PackReader::Token token;
  size_t used = 0;
  while (reader.next(token)) {
    ++used;
    if (token.Kind != llvm::msgpack::Type::String || names.size() >= kMaxNames) continue;
    std::string_view text = text_of(token);
    if (is_library_name(text)) names.emplace(text);
  }
  return used > 0;
}

void names_in_text(std::string_view text, std::set<std::string, std::less<>> &names) {
  for (size_t at = text.find("TensileLibrary_"); at != std::string_view::npos; at = text.find("TensileLibrary_", at + 1)) {
    std::string_view name = text.substr(at, kMaxName);
    name = name.substr(0, name.find_first_of(" \t\r\n'\",}]"));
    if (names.size() < kMaxNames && is_library_name(name)) names.emplace(name);
  }
}

// The names of processors alone, in the order of the first that has one.
void take_processors(std::string_view text, std::set<std::string> &out) {
  for (const std::string &name : gfx_names(text)) out.insert(name.substr(0, name.find(':')));
}

void read_database(const Bytes &content, std::string_view table, std::string_view column, uint64_t rows, SideFile &file,
                   Problems &problems) {
  std::set<std::string> targets;
  auto whole = sqlite_texts(content, table, column, rows, [&](std::string_view text) { take_processors(text, targets); });
  if (!whole) tell(file, llvm::toString(whole.takeError()), problems);
  if (!targets.empty()) file.targets.assign(targets.begin(), targets.end());
}

// The fields of a line of CSV; quotes are met in no table of this kind and would be part of a name that is not there.
std::vector<std::string_view> fields(std::string_view line) {
  std::vector<std::string_view> out;
  while (true) {
    size_t comma = line.find(',');
    out.push_back(llvm::StringRef(line.substr(0, comma)).trim());
    if (comma == std::string_view::npos) return out;
    line.remove_prefix(comma + 1);
  }
}

} // namespace

void read_tensile_index(const Bytes &content, SideFile &file, Problems &problems) {
  std::string_view name = file.origin.path;
  // An index that is not lazy holds everything itself.
  if (name.find("_lazy_") == std::string_view::npos) return;
  std::set<std::string, std::less<>> names;
  std::string inflated;
  bool sound = true;
  if (name.ends_with(".yaml")) {
    names_in_text(content.text(), names);
  } else if (name.ends_with(".zlib")) {
    sound = inflate_all(content, inflated);
    sound = names_in_pack(inflated, names) && sound;
  } else {
    sound = names_in_pack(content.text(), names);
  }
  if (!sound) tell(file, "the index is damaged: the library cannot load it", problems);
  file.names.assign(names.begin(), names.end());
}

void read_miopen_database(const Bytes &content, SideFile &file, Problems &problems) {
  // Texts and models have nothing but numbers; the name says which processor they are for.
  if (!file.origin.path.ends_with("db")) return;
  if (!is_sqlite(content)) return tell(file, "not the SQLite database that its name promises", problems);
  auto tables = sqlite_tables(content);
  if (!tables) return tell(file, llvm::toString(tables.takeError()), problems);
  auto has = [&](std::string_view table) { return std::ranges::find(*tables, table) != tables->end(); };
  constexpr uint64_t kKernels = 200; // all are for one processor
  if (has("kern_db")) return read_database(content, "kern_db", "kernel_args", kKernels, file, problems);
  if (has("perf_db")) read_database(content, "perf_db", "arch", UINT64_MAX, file, problems);
}

void read_rocfft_cache(const Bytes &content, SideFile &file, Problems &problems) {
  if (!is_sqlite(content)) return tell(file, "not the SQLite database that its name promises", problems);
  read_database(content, "cache_v1", "arch", UINT64_MAX, file, problems);
}

void read_aotriton_signature(const Bytes &content, SideFile &file, Problems &problems) {
  constexpr std::string_view kKey = "\"AOTRITON_GIT_SHA1\"";
  std::string_view text = content.text().substr(0, 1 << 16);
  size_t at = text.find(kKey);
  size_t begin = at == std::string_view::npos ? at : text.find('"', at + kKey.size());
  size_t end = begin == std::string_view::npos ? begin : text.find('"', begin + 1);
  if (end == std::string_view::npos) return tell(file, "names no build of AOTriton", problems);
  std::string_view build = text.substr(begin + 1, end - begin - 1);
  auto is_hex = [](char c) { return llvm::isHexDigit(c); };
  if (build.size() >= 7 && build.size() <= 64 && std::ranges::all_of(build, is_hex)) file.detail = build;
}

void read_aiter_table(const Bytes &content, SideFile &file, Problems &) {
  std::string_view text = content.text();
  std::set<std::string, std::less<>> names;
  size_t column = SIZE_MAX;
  for (bool first = true; !text.empty() && names.size() < kMaxNames; first = false) {
    size_t end = text.find('\n');
    std::vector<std::string_view> row = fields(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (first) {
      for (size_t i = 0; i < row.size(); ++i)
        if (row[i] == "knl_file" || row[i] == "co_name") column = i;
      if (column == SIZE_MAX) return;
    } else if (column < row.size() && row[column].ends_with(".co") && row[column].size() <= kMaxName) {
      names.emplace(row[column]);
    }
  }
  file.names.assign(names.begin(), names.end());
}

} // namespace isa_audit
