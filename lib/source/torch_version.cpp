#include "isa-audit/source/torch_version.h"

#include <tuple>

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace isa_audit {
namespace {

constexpr size_t kLimit = 64 << 10;
constexpr size_t kValueLimit = 100;

// The text in quotes that `value` starts with; empty for anything else.
std::string quoted(llvm::StringRef value) {
  value = value.ltrim();
  if (value.empty() || (value.front() != '\'' && value.front() != '"')) return "";
  const size_t end = value.find(value.front(), 1);
  if (end > kValueLimit) return ""; // unclosed (npos) too
  llvm::StringRef text = value.slice(1, end);
  for (const char c : text)
    if (!llvm::isPrint(c)) return "";
  return text.str();
}

} // namespace

bool is_torch_version_file(std::string_view path) {
  constexpr std::string_view kName = "torch/version.py";
  if (!path.ends_with(kName)) return false;
  return path.size() == kName.size() || path[path.size() - kName.size() - 1] == '/' ||
         path[path.size() - kName.size() - 1] == '!';
}

TorchVersion parse_torch_version(std::string_view text) {
  TorchVersion out;
  llvm::StringRef rest(text.substr(0, kLimit));
  while (!rest.empty()) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    const auto [left, right] = line.split('=');
    llvm::StringRef name = left.split(':').first.rtrim();
    if (name == "__version__")
      out.version = quoted(right);
    else if (name == "cuda")
      out.cuda = quoted(right);
    else if (name == "hip")
      out.hip = quoted(right);
    else if (name == "xpu")
      out.xpu = quoted(right);
  }
  return out;
}

} // namespace isa_audit
