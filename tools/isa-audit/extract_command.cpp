// Objects are written by the threads that decode them, while their bytes are there: nothing is held until the end but the rows
// of the manifest. Names come from the inputs and are hostile: only harmless characters stay, and files are made relative to
// the open folder, exclusively, never through a link.
#include "extract_command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "isa-audit/device/compatible.h"
#include "isa-audit/report/report.h"
#include "isa-audit/verdict/device_units.h"
#include "terminal.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/xxhash.h"

namespace isa_audit {

namespace {

constexpr size_t kLongestStem = 60, kLongestTarget = 40, kLongestMangled = 4096;
constexpr const char *kManifest = "manifest.json";

std::string safe(std::string_view text, size_t limit) {
  std::string out;
  for (char c : text.substr(0, limit)) out += llvm::isAlnum(c) || c == '.' || c == '_' || c == '+' || c == '-' ? c : '_';
  // Neither hidden nor an option to whatever is run on it.
  if (out.empty() || out[0] == '.' || out[0] == '-') out.insert(out.begin(), '_');
  return out;
}

const char *extension(const CodeObject &object, const Bytes &content) {
  if (object.target.kind == TargetKind::spirv && !content.text().starts_with("BC")) return "spv";
  return content.text().starts_with("\x7f"
                                    "ELF")
             ? "co"
             : "bc";
}

bool is_wanted_target(const CodeObject &object, const std::vector<TargetId> &targets) {
  auto wants = [&](const TargetId &target) {
    if (object.target.processor == target.processor && object.target.text() == target.text()) return true;
    return std::ranges::any_of(gpus_of(target), [&](const TargetId &gpu) {
      return is_served(compatible(object, gpu)) && object.target.kind != TargetKind::spirv;
    });
  };
  return targets.empty() || std::ranges::any_of(targets, wants);
}

bool has_wanted_kernel(const std::vector<std::string_view> &names, const std::vector<std::string> &wanted) {
  auto holds = [&](std::string_view name) {
    std::string plain = name.starts_with("_Z") && name.size() <= kLongestMangled ? llvm::demangle(name) : std::string();
    return std::ranges::any_of(
        wanted, [&](const std::string &text) { return name.find(text) != name.npos || plain.find(text) != plain.npos; });
  };
  return wanted.empty() || std::ranges::any_of(names, holds);
}

struct Row {
  Origin where;
  nlohmann::ordered_json json;
};

class Extractor {
public:
  explicit Extractor(const ExtractRequest &request) : request_(request) {}
  ~Extractor() {
    if (folder_ >= 0) close(folder_);
  }
  Extractor(const Extractor &) = delete;
  Extractor &operator=(const Extractor &) = delete;

  // Empty, or what is wrong.
  std::string open_folder() {
    const std::string &path = request_.folder;
    for (size_t at = 1; at <= path.size(); ++at)
      if (at == path.size() || path[at] == '/')
        if (mkdir(path.substr(0, at).c_str(), 0777) != 0 && errno != EEXIST) return failure("make", path);
    folder_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ < 0) return failure("open", path);
    struct stat status{};
    if (!request_.force && fstatat(folder_, kManifest, &status, AT_SYMLINK_NOFOLLOW) == 0)
      return fmt::format("{}/{} is there already: choose another folder, or replace with --force", path, kManifest);
    return "";
  }

  void take(const CodeObject &object, const Origin &where, const Bytes &content, const std::vector<std::string_view> &kernels) {
    if (!is_wanted_target(object, request_.targets) || !has_wanted_kernel(kernels, request_.kernels)) return;
    if (bytes_.fetch_add(content.size()) + content.size() > request_.max_bytes) {
      if (!full_.exchange(true))
        tell(fmt::format("more than {} bytes of code objects: the rest is not written; see --max-size", request_.max_bytes));
      return;
    }
    std::string stem = extracted_name(object, where);
    std::string name = stem.substr(0, stem.size() - 2) + extension(object, content);
    if (std::string wrong = write(name, content.text()); !wrong.empty()) return tell(wrong);
    auto digest = llvm::SHA256::hash(llvm::ArrayRef<uint8_t>(content.data(), content.size()));
    nlohmann::ordered_json row = {
        {"file", name},
        {"input", where.input},
        {"path", escaped(where.path)},
        {"place", escaped(where.place)},
        {"entry", object.claimed.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(escaped(object.claimed))},
        {"target", escaped(object.target.text())},
        {"object_version",
         object.object_version ? nlohmann::ordered_json(fmt::format("v{}", object.object_version)) : nlohmann::ordered_json()},
        {"carrier", carrier_name(object.carrier)},
        {"kernels", kernels.size()},
        {"size", content.size()},
        {"sha256", llvm::toHex(digest, true)}};
    std::lock_guard lock(mutex_);
    rows_.push_back({where, std::move(row)});
  }

  // Writes the manifest; the number of objects written.
  size_t finish(const Inventory &inventory) {
    if (rows_.empty()) return 0; // no manifest of nothing: it would be in the way of the next try
    std::ranges::sort(rows_, [](const Row &a, const Row &b) {
      return std::tie(a.where, a.json["file"]) < std::tie(b.where, b.json["file"]);
    });
    nlohmann::ordered_json inputs = nlohmann::ordered_json::array(), objects = nlohmann::ordered_json::array();
    for (const Input &input : inventory.inputs) inputs.push_back({{"path", escaped(input.path)}, {"kind", input.kind}});
    for (Row &row : rows_) objects.push_back(std::move(row.json));
    nlohmann::ordered_json manifest = {
        {"schema", "isa-audit-extract/1"}, {"inputs", std::move(inputs)}, {"objects", std::move(objects)}};
    if (std::string wrong = write(kManifest, manifest.dump(1) + "\n"); !wrong.empty()) tell(wrong);
    return rows_.size();
  }

  void tell(const std::string &message) {
    std::lock_guard lock(mutex_);
    messages_.insert(message);
  }
  const std::set<std::string> &messages() const { return messages_; }

private:
  static std::string failure(const char *what, const std::string &path) {
    return fmt::format("cannot {} {}: {}", what, escaped(path), std::strerror(errno));
  }

  std::string write(const std::string &name, std::string_view bytes) {
    // A file that is there is unlinked first: it may be a link, or open elsewhere.
    if (request_.force && unlinkat(folder_, name.c_str(), 0) != 0 && errno != ENOENT) return failure("replace", name);
    int file = openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) return fmt::format("{} is there already: not replaced without --force", name);
    if (file < 0) return failure("write", name);
    bool written = write_all(file, bytes);
    std::string wrong = written ? "" : failure("write", name);
    if (close(file) != 0 && wrong.empty()) wrong = failure("write", name);
    return wrong;
  }

  const ExtractRequest &request_;
  int folder_ = -1;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> full_{false};
  std::mutex mutex_;
  std::vector<Row> rows_;
  std::set<std::string> messages_; // in an order of their own: threads say them
};

} // namespace

std::string extracted_name(const CodeObject &object, const Origin &where) {
  std::string_view file = where.path;
  if (size_t slash = file.find_last_of("/!"); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  std::string identity = fmt::format("{}/{}:{}", where.input, where.path, where.place);
  uint64_t hash = llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(identity.data()), identity.size()));
  return fmt::format("{}-{:x}.{:08x}-{}.co", safe(file, kLongestStem), where.pos, hash & 0xffffffff,
                     safe(object.target.text(), kLongestTarget));
}

int extract_command(ExtractRequest request) {
  Extractor extractor(request);
  if (std::string wrong = extractor.open_folder(); !wrong.empty()) return complain(wrong);
  request.scan.sink = [&](const CodeObject &object, const Origin &where, const Bytes &content,
                          const std::vector<std::string_view> &kernels) { extractor.take(object, where, content, kernels); };
  request.scan.x86_reach = false;
  Inventory inventory = scan(request.scan);
  int exit_code = 0;
  for (const Problem &problem : inventory.problems) {
    if (problem.level != Level::error) continue;
    std::string where = problem.origin.text();
    if (where.empty()) where = inventory.inputs[problem.origin.input].path;
    exit_code = complain(fmt::format("{}: {}", where, problem.message));
  }
  size_t count = extractor.finish(inventory);
  for (const std::string &message : extractor.messages()) exit_code = complain(message);
  if (count == 0) return exit_code ? exit_code : complain("no code object was chosen");
  std::string done = fmt::format("{} code object{} and {} in {}", count, count == 1 ? "" : "s", kManifest, request.folder);
  if (int failed = print_out(escaped(done) + "\n")) exit_code = failed;
  return exit_code;
}

} // namespace isa_audit
