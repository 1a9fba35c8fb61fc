#include "variants.h"

#include <algorithm>
#include <map>

#include "llvm/BinaryFormat/ELF.h"

namespace isa_audit::host {

namespace {

// Words for instruction sets and CPUs as build systems append them.
constexpr std::string_view kWords[] = {"sse2",           "sse3",       "ssse3",       "sse4",       "sse41",      "sse42",
                                       "sse4_1",         "sse4_2",     "sse4.1",      "sse4.2",     "avx",        "avx2",
                                       "avx512",         "avx512f",    "avx512bw",    "avx512_spr", "avx512_skx", "avx512_icl",
                                       "avx512vnni",     "avx512bf16", "avx512_amx",  "avx10",      "amx",        "fma",
                                       "fma3",           "x64",        "sandybridge", "ivybridge",  "haswell",    "skylake",
                                       "skylakex",       "cannonlake", "cascadelake", "cooperlake", "icelake",    "alderlake",
                                       "sapphirerapids", "piledriver", "zen4",        "zen3",       "zen2",       "x86-64-v2",
                                       "x86-64-v3",      "x86-64-v4",  "v2",          "v3",         "v4",         "native",
                                       "generic",        "baseline"};

// More of them, as numeric libraries name their kernels; and those of the above that in the name of a function may as well
// be a version of its interface, or a plain word.
constexpr std::string_view kKernelWords[] = {"sse",       "prescott", "core2",       "penryn",    "dunnington", "nehalem",
                                             "athlon",    "opteron",  "barcelona",   "bobcat",    "atom",       "nano",
                                             "bulldozer", "zen",      "steamroller", "excavator", "westmere",   "knl",
                                             "skl",       "skx",      "m128i",       "m256i",     "m512i"};
constexpr std::string_view kAmbiguous[] = {"x64", "v2", "v3", "v4", "native", "generic", "baseline"};

struct Split {
  std::string stem; // folder and name without the word; empty: the name has none
};

bool is_separator(char c) { return c == '_' || c == '-' || c == '.'; }

// "a/_x_avx2.cpython-311-x86_64-linux-gnu.so" → "a/_x" + ".cpython-311-x86_64-linux-gnu.so".
Split split(std::string_view path) {
  const size_t slash = path.rfind('/');
  const size_t begin = slash == path.npos ? 0 : slash + 1;
  const std::string_view name = path.substr(begin);
  // The name ends where its endings start.
  size_t end = std::min({name.find(".cpython-"), name.find(".abi3."), name.find(".so"), name.size()});
  const std::string_view stem = name.substr(0, end);
  Split best;
  size_t length = 0;
  for (const std::string_view word : kWords) {
    if (!stem.ends_with(word) || stem.size() <= word.size() + 1 || word.size() <= length) continue;
    if (!is_separator(stem[stem.size() - word.size() - 1])) continue;
    length = word.size();
    best.stem =
        std::string(path.substr(0, begin)).append(stem.substr(0, stem.size() - word.size() - 1)).append(name.substr(end));
  }
  return best;
}

bool is_kernel_word(std::string_view word) {
  const auto is_in = [&](const auto &list) { return std::ranges::find(list, word) != std::end(list); };
  return (is_in(kWords) && !is_in(kAmbiguous)) || is_in(kKernelWords);
}

bool is_width(std::string_view word) { return word == "128" || word == "256" || word == "512"; }

// "dot_k_SKYLAKEX" → "dot_k_*", "scan_avx2_256_64" → "scan_*_64"; empty if no part of the name is such a word.
std::string function_stem(std::string_view name) {
  std::string stem;
  bool found = false, after_word = false;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('_', at), name.size());
    std::string part(name.substr(at, end - at));
    std::ranges::transform(part, part.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const bool word = is_kernel_word(part);
    if (word)
      stem += '*';
    else if (!after_word || !is_width(part))
      stem.append(name.substr(at, end - at));
    if (end < name.size()) stem += '_';
    found |= word;
    after_word = word;
    at = end + 1;
  }
  return found ? stem : "";
}

} // namespace

std::vector<std::pair<uint64_t, uint64_t>> find_function_variants(const Image &image) {
  std::map<std::string, std::vector<uint64_t>> by_stem;
  for (const DynamicSymbol &s : image.exports())
    if (s.type == llvm::ELF::STT_FUNC)
      if (std::string stem = function_stem(s.name); !stem.empty()) by_stem[std::move(stem)].push_back(s.value);
  std::vector<std::pair<uint64_t, uint64_t>> found;
  for (auto &[stem, addresses] : by_stem) {
    std::ranges::sort(addresses);
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    if (addresses.size() < 2) continue;
    for (const uint64_t a : addresses) found.emplace_back(a, a == addresses.front() ? addresses[1] : addresses.front());
  }
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> find_variants(const std::vector<std::string> &paths) {
  std::vector<std::string> of(paths.size());
  std::multimap<std::string, size_t> by_stem;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].find("glibc-hwcaps/") != std::string::npos) of[i] = "glibc-hwcaps";
    if (Split s = split(paths[i]); !s.stem.empty()) by_stem.emplace(std::move(s.stem), i);
  }
  for (auto it = by_stem.begin(); it != by_stem.end();) {
    const auto last = by_stem.upper_bound(it->first);
    const bool has_base = std::ranges::find(paths, it->first) != paths.end();
    const bool several = std::distance(it, last) > 1;
    for (; it != last; ++it)
      if ((has_base || several) && of[it->second].empty()) of[it->second] = it->first;
  }
  return of;
}

} // namespace isa_audit::host
