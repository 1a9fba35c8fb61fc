#include "kernel_name.h"

#include <algorithm>
#include <cstdlib>

#include "llvm/Demangle/Demangle.h"

namespace isa_audit {
namespace {

// Names come from the files: the demangler recurses, so what is longer than any compiler writes stays as it is.
constexpr size_t kLongestMangled = 4096;

std::string demangled(std::string_view symbol, char *(llvm::ItaniumPartialDemangler::*part)(char *, size_t *) const) {
  if (!symbol.starts_with("_Z") || symbol.size() > kLongestMangled) return std::string(symbol);
  std::string mangled(symbol); // the demangler keeps pointers into it
  llvm::ItaniumPartialDemangler demangler;
  if (demangler.partialDemangle(mangled.c_str()) || !demangler.isFunction()) return mangled;
  char *text = (demangler.*part)(nullptr, nullptr);
  std::string out = text ? text : mangled;
  std::free(text);
  return out;
}

std::string cut(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
  text.resize(limit);
  return text + "…";
}

} // namespace

std::string kernel_name(std::string_view symbol, size_t limit) {
  return cut(demangled(symbol, &llvm::ItaniumPartialDemangler::getFunctionName), limit);
}

std::string name_a_few(const std::vector<std::string_view> &names, size_t few) {
  std::string out;
  std::vector<std::string> shown, bases;
  for (size_t i = 0; i < names.size() && i < 1000 && shown.size() < few; ++i) {
    std::string base = demangled(names[i], &llvm::ItaniumPartialDemangler::getFunctionBaseName);
    if (std::ranges::find(bases, base) != bases.end()) continue;
    bases.push_back(std::move(base));
    shown.push_back(kernel_name(names[i]));
    out += (shown.size() > 1 ? ", " : "") + shown.back();
  }
  if (names.size() > shown.size()) out += " and " + std::to_string(names.size() - shown.size()) + " more";
  return out;
}

} // namespace isa_audit
