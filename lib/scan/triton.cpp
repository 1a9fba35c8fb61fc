#include "triton.h"

#include "llvm/Support/JSON.h"

namespace isa_audit {

namespace {

// A few hundred bytes to a few kilobytes as a rule.
constexpr uint64_t kLargestJson = 256 << 10;

} // namespace

std::string triton_json_path(const std::string &path) {
  constexpr std::string_view kCode = ".hsaco";
  if (!path.ends_with(kCode)) return "";
  return path.substr(0, path.size() - kCode.size()) + ".json";
}

std::optional<TritonKernel> parse_triton_json(std::string_view text) {
  auto parsed = llvm::json::parse(llvm::StringRef(text.data(), text.size()));
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *root = parsed->getAsObject();
  const llvm::json::Object *target = root ? root->getObject("target") : nullptr;
  if (!target || target->getString("backend").value_or("") != "hip") return std::nullopt;
  TritonKernel out;
  out.arch = target->getString("arch").value_or("").str();
  if (auto size = target->getInteger("warp_size"); size && *size > 0 && *size <= 64)
    out.warp_size = static_cast<uint32_t>(*size);
  if (out.arch.empty()) return std::nullopt;
  return out;
}

void find_triton_kernels(const std::vector<const Member *> &code_files, const std::map<std::string, const Member *> &json_files,
                         TritonKernels &out) {
  for (const Member *code : code_files) {
    auto json = json_files.find(triton_json_path(code->origin.path));
    if (json == json_files.end() || json->second->size > kLargestJson) continue;
    auto bytes = json->second->open();
    if (!bytes) {
      llvm::consumeError(bytes.takeError()); // the code is audited all the same
      continue;
    }
    if (auto kernel = parse_triton_json(bytes->text()))
      out.emplace(std::pair(code->origin.input, code->origin.path), std::move(*kernel));
  }
}

} // namespace isa_audit
