#include "isa-audit/verdict/external_code.h"

#include <algorithm>
#include <filesystem>

#include "isa-audit/device/processors.h"
#include "isa-audit/verdict/target_order.h"

namespace isa_audit {
namespace {

constexpr std::string_view kPlaceholder = "@GFXARCH@";

std::string resolve(const Binary &library, const std::string &search_path) {
  std::filesystem::path folder = std::filesystem::path(installed_path(library.origin.path)).parent_path();
  return (folder / search_path).lexically_normal().generic_string();
}

std::string expand(const std::string &path, std::string_view target) {
  size_t at = path.find(kPlaceholder);
  return at == std::string::npos ? path : path.substr(0, at) + std::string(target) + path.substr(at + kPlaceholder.size());
}

struct Candidate {
  std::string target;
  bool generic = false;
};

// What the loader looks for, the most specific first.
std::vector<Candidate> candidates(const TargetId &gpu) {
  std::vector<Candidate> out;
  auto add = [&](bool sramecc, bool xnack) {
    TargetId id = gpu;
    if (!sramecc) id.sramecc = Setting::any;
    if (!xnack) id.xnack = Setting::any;
    std::string text = id.text();
    if (std::ranges::find(out, text, &Candidate::target) == out.end()) out.push_back({std::move(text)});
  };
  add(true, true);
  add(true, false);
  add(false, true);
  add(false, false);
  const Processor *processor = find_processor(gpu.processor);
  if (processor && !processor->generic.empty()) out.push_back({std::string(processor->generic), true});
  return out;
}

// The target as the archive's table writes it.
std::string written_target(const CodeObject &object) {
  size_t at = object.claimed.find("--");
  return at == std::string::npos ? object.target.text() : object.claimed.substr(at + 2);
}

} // namespace

std::string installed_path(std::string_view path) {
  if (size_t bang = path.rfind('!'); bang != std::string_view::npos) path.remove_prefix(bang + 1);
  size_t slash = path.find('/');
  if (slash != std::string_view::npos && path.substr(0, slash).ends_with(".data")) {
    std::string_view rest = path.substr(slash + 1);
    for (std::string_view scheme : {"purelib/", "platlib/"})
      if (rest.starts_with(scheme)) return std::string(rest.substr(scheme.size()));
  }
  return std::string(path);
}

bool is_kpack_file(const Binary &binary) { return binary.format == "kpack"; }

bool ExternalIndex::Archive::holds(const std::string &name, uint32_t index, const std::string &target) const {
  auto at = targets.find(name + "#" + std::to_string(index));
  // Early archives have no index.
  if (at == targets.end() && index == 0) at = targets.find(name);
  return at != targets.end() && at->second.contains(target);
}

ExternalIndex::ExternalIndex(const Inventory &inventory) {
  for (const Binary &binary : inventory.binaries) {
    if (!binary.device || !is_kpack_file(binary)) continue;
    Archive archive;
    archive.file = &binary;
    for (const DeviceImage &image : binary.device->images)
      for (const CodeObject &object : image.code_objects) {
        std::string target = written_target(object);
        archive.all.insert(target);
        archive.targets[image.place].insert(std::move(target));
      }
    archives_[installed_path(binary.origin.path)].push_back(std::move(archive));
  }
}

KpackEnvironment kpack_environment(const std::map<std::string, std::string> &variables) {
  KpackEnvironment out;
  auto split = [&](const char *name) {
    std::vector<std::string> paths;
    auto at = variables.find(name);
    for (std::string_view rest = at == variables.end() ? "" : std::string_view(at->second); !rest.empty();) {
      std::string_view path = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), path.size() + 1));
      if (!path.empty()) paths.emplace_back(path);
    }
    return paths;
  };
  out.override_paths = split("ROCM_KPACK_PATH");
  out.prefix_paths = split("ROCM_KPACK_PATH_PREFIX");
  auto disable = variables.find("ROCM_KPACK_DISABLE");
  out.disabled = disable != variables.end() && !disable->second.empty() && disable->second[0] != '0';
  return out;
}

ExternalAnswer ExternalIndex::find(const Binary &library, const TargetId &gpu, const KpackEnvironment &environment) const {
  const ExternalCode &external = *library.device->external;
  std::vector<Candidate> targets = candidates(gpu);
  std::vector<const Archive *> present;
  ExternalAnswer out;
  auto add = [&](const std::vector<Archive> &archives) {
    for (const Archive &archive : archives)
      if (std::ranges::find(present, &archive) == present.end()) present.push_back(&archive);
  };
  const std::vector<std::string> &outside =
      environment.override_paths.empty() ? environment.prefix_paths : environment.override_paths;
  for (const std::string &path : outside) {
    out.looked_for.push_back(path);
    for (const auto &[installed, archives] : archives_)
      if (path == installed || path.ends_with("/" + installed)) add(archives);
  }
  if (environment.override_paths.empty())
    for (const std::string &search : external.search_paths) {
      std::string path = resolve(library, search);
      out.looked_for.push_back(expand(path, gpu.processor));
      for (const Candidate &candidate : targets)
        if (auto at = archives_.find(expand(path, candidate.target)); at != archives_.end()) add(at->second);
    }
  if (environment.disabled) present.clear();
  std::vector<uint32_t> indices = external.indices;
  if (indices.empty()) indices.push_back(0);
  out.parts = indices.size();
  for (uint32_t index : indices)
    for (const Candidate &candidate : targets) {
      auto knows = [&](const Archive *archive) { return archive->all.contains(candidate.target); };
      auto at = std::ranges::find_if(present, knows);
      if (at == present.end()) continue;
      if (!(*at)->holds(external.kernel_name, index, candidate.target)) {
        out.lacking.insert((*at)->file);
        continue;
      }
      ++out.served;
      out.generic |= candidate.generic;
      out.archives.insert((*at)->file);
      break;
    }
  return out;
}

std::vector<std::string> ExternalIndex::found_targets(const Binary &library, const std::string &search_path) const {
  const ExternalCode &external = *library.device->external;
  std::string path = resolve(library, search_path);
  size_t hole = path.find(kPlaceholder);
  std::string_view start = std::string_view(path).substr(0, hole);
  std::string_view end = hole == std::string::npos ? "" : std::string_view(path).substr(hole + kPlaceholder.size());
  std::set<std::string, TargetOrder> out;
  for (auto at = archives_.lower_bound(start); at != archives_.end() && at->first.starts_with(start); ++at) {
    if (hole == std::string::npos ? at->first != path : !at->first.ends_with(end)) continue;
    for (const Archive &archive : at->second)
      for (const auto &[key, targets] : archive.targets)
        if (key == external.kernel_name ||
            (key.starts_with(external.kernel_name) && key.substr(external.kernel_name.size()).starts_with('#')))
          out.insert(targets.begin(), targets.end());
  }
  return {out.begin(), out.end()};
}

} // namespace isa_audit
