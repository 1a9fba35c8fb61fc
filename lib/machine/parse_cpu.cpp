// The grammar of --cpu and --max-cpu: NAME, then edits +FEATURE and -FEATURE; or @FILE in /proc/cpuinfo form.
//
// Names and features hold dashes themselves (skylake-avx512, x86-64-v2-AES, amx-tile), so the name is the longest prefix that
// is a known one and ends where an edit may start, and likewise for the feature of an edit.
#include <algorithm>
#include <climits>
#include <cstring>
#include <tuple>
#include <unistd.h>

#include "isa-audit/machine/cpu.h"
#include "isa-audit/machine/detect.h"
#include "isa-audit/machine/root.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

using llvm::StringRef;

std::string folded(StringRef text) {
  std::string out;
  for (char c : text)
    if (c != '_' && c != '.' && c != '-') out += llvm::toLower(c);
  return out;
}

// Spellings that neither LLVM nor Linux use, mostly from Intel's and AMD's manuals.
constexpr std::pair<std::string_view, Feature> kOtherSpellings[] = {
    {"apx", Feature::apx},
    {"bmi1", Feature::bmi},
    {"cmpxchg16b", Feature::cx16},
    {"cmpxchg8b", Feature::cx8},
    {"fpu", Feature::x87},
    {"lahf", Feature::sahf},
    {"lahfsahf", Feature::sahf},
    {"lzcnt", Feature::lzcnt},
    {"osxsave", Feature::xsave},
    {"pclmul", Feature::pclmul},
    {"pku", Feature::pku},
    {"prefetchw", Feature::prfchw},
    {"rdrand", Feature::rdrnd},
    {"sha", Feature::sha},
    {"sse3", Feature::sse3},
    {"tsx", Feature::rtm},
    {"avx512vnni", Feature::avx512vnni},
};

// The nearest of `names` by edit distance, at most four of them, as " (did you mean …?)"; empty when none is near.
std::string did_you_mean(StringRef text, const std::vector<std::string> &names) {
  std::vector<std::pair<unsigned, std::string>> near;
  std::string lower = text.lower();
  unsigned most = std::max<unsigned>(2, static_cast<unsigned>(text.size() / 3));
  for (const std::string &name : names) {
    unsigned distance = StringRef(lower).edit_distance(StringRef(name).lower(), true, most);
    bool extends = lower.size() >= 3 && StringRef(name).starts_with_insensitive(lower);
    if (distance <= most || extends) near.emplace_back(extends ? std::min(distance, 1u) : distance, name);
  }
  // Of names that begin alike the shortest is the common one: avx512f before avx512bf16.
  std::sort(near.begin(), near.end(), [](const auto &a, const auto &b) {
    return std::tuple(a.first, a.second.size(), a.second) < std::tuple(b.first, b.second.size(), b.second);
  });
  if (near.empty()) return {};
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(near.size(), 4); ++i) out.append(i ? ", " : "").append(near[i].second);
  return llvm::formatv(" (did you mean {0}?)", out).str();
}

std::vector<std::string> feature_names() {
  std::vector<std::string> names;
  names.reserve(kFeatureCount);
  for (size_t i = 0; i < kFeatureCount; ++i) names.emplace_back(feature_name(static_cast<Feature>(i)));
  return names;
}

// The longest prefix of `text` that ends at its end or before a sign and that `find` knows; npos when there is none.
template <typename Find> size_t longest_known_prefix(StringRef text, const Find &find) {
  for (size_t end = text.size(); end > 0; --end) {
    bool can_end = end == text.size() || text[end] == '+' || text[end] == '-';
    if (can_end && find(text.take_front(end))) return end;
  }
  return StringRef::npos;
}

llvm::Error apply_edits(StringRef edits, IsaSet &features) {
  while (!edits.empty()) {
    bool add = edits.front() == '+';
    edits = edits.drop_front();
    size_t end = longest_known_prefix(edits, [](StringRef name) { return find_feature_spelling(name).has_value(); });
    std::optional<Feature> feature;
    if (end != StringRef::npos) feature = find_feature_spelling(edits.take_front(end));
    if (!feature) {
      StringRef word = edits.take_front(edits.find_first_of("+-"));
      return make_error(llvm::formatv("'{0}' is not a CPU feature{1}", word, did_you_mean(word, feature_names())).str());
    }
    features = add ? with_feature(features, *feature) : without_feature(features, *feature);
    edits = edits.drop_front(end);
  }
  return llvm::Error::success();
}

// "x86-64-v5" reads as x86-64 without the feature v5: where what follows the name is no feature, the name may be mistyped.
llvm::Error doubt_name(StringRef text, size_t end) {
  StringRef rest = text.drop_front(end);
  if (!rest.consume_front("-")) return llvm::Error::success();
  if (longest_known_prefix(rest, [](StringRef name) { return find_feature_spelling(name).has_value(); }) != StringRef::npos)
    return llvm::Error::success();
  StringRef word = text.take_front(text.find('+'));
  std::string near = did_you_mean(word, cpu_model_names());
  if (near.empty()) return llvm::Error::success();
  return make_error(llvm::formatv("'{0}' is not a CPU that is known here{1}", word, near).str());
}

llvm::Expected<Cpu> read_cpuinfo_file(StringRef file) {
  // Root reads below a folder; the file's own path is taken as it stands, so it is made absolute and read from the real root.
  std::string path;
  if (!file.starts_with("/")) {
    char folder[PATH_MAX];
    if (!::getcwd(folder, sizeof folder)) return make_error("the working directory has no name");
    path.append(folder).append("/");
  }
  path.append(file);
  int error = 0;
  std::optional<std::string> text = Root("").read(path, 1 << 20, &error);
  if (!text) {
    const char *reason = error == ENOTSUP ? "not a regular file" : std::strerror(error);
    return make_error(llvm::formatv("cannot read {0}: {1}", file, reason).str());
  }
  llvm::Expected<CpuIdentity> identity = parse_cpuinfo(*text);
  if (!identity) return make_error(llvm::formatv("{0}: {1}", file, llvm::toString(identity.takeError())).str());
  Cpu cpu = judge_cpu(std::move(*identity));
  cpu.found.append("@").append(file);
  return cpu;
}

} // namespace

std::optional<Feature> find_feature_spelling(std::string_view text) {
  if (std::optional<Feature> feature = find_feature(text)) return feature;
  std::string wanted = folded(text);
  if (wanted.empty()) return std::nullopt;
  for (size_t i = 0; i < kFeatureCount; ++i) {
    const FeatureInfo &info = feature_info(static_cast<Feature>(i));
    if (wanted == folded(info.name) || wanted == folded(info.cpuinfo)) return static_cast<Feature>(i);
  }
  for (const auto &[spelling, feature] : kOtherSpellings)
    if (wanted == spelling) return feature;
  return std::nullopt;
}

llvm::Expected<Cpu> parse_cpu(std::string_view given) {
  StringRef text = StringRef(given).trim();
  if (text.consume_front("@")) return read_cpuinfo_file(text);
  size_t end = longest_known_prefix(text, [](StringRef name) { return find_cpu_model(name).has_value(); });
  if (end == StringRef::npos) {
    StringRef word = text.take_front(text.find('+'));
    return make_error(llvm::formatv("'{0}' is not a CPU that is known here{1}; give an LLVM or QEMU CPU name, x86-64-v1 to v4, "
                                    "or @FILE with a copy of /proc/cpuinfo",
                                    word, did_you_mean(word, cpu_model_names()))
                          .str());
  }
  if (llvm::Error error = doubt_name(text, end)) return error;
  CpuModel model = *find_cpu_model(text.take_front(end));
  Cpu cpu;
  cpu.name = model.name + text.drop_front(end).str();
  cpu.features = model.features;
  cpu.found = "--cpu";
  if (!model.note.empty() && end == text.size()) cpu.notes.push_back(model.note);
  if (llvm::Error error = apply_edits(text.drop_front(end), cpu.features)) return error;
  return cpu;
}

} // namespace isa_audit
