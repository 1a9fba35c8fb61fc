#include "kernel_rows.h"

#include "llvm/Demangle/Demangle.h"

namespace isa_audit {

namespace {

// Names come from the files: the demangler recurses, so what is longer than any compiler writes stays as it is.
constexpr size_t kLongestMangled = 4096;

void add(const std::vector<CodeObject> &objects, const std::vector<std::string> &names, KernelRows &out) {
  for (const CodeObject &object : objects) {
    std::string target = object.target.text();
    for (uint32_t kernel : object.kernels)
      if (kernel < names.size()) out[names[kernel]][target];
    for (KernelDetails details : object.kernel_details) {
      if (details.name >= names.size()) continue;
      std::string_view name = names[details.name];
      details.name = 0;
      out[name][target].insert(details);
    }
  }
}

} // namespace

KernelRows kernel_rows(const DeviceCode &device) {
  KernelRows out;
  for (const DeviceImage &image : device.images) add(image.code_objects, image.kernel_names, out);
  add(device.loose, device.loose_kernel_names, out);
  return out;
}

std::string demangled_kernel(std::string_view symbol) {
  if (!symbol.starts_with("_Z") || symbol.size() > kLongestMangled) return std::string(symbol);
  return llvm::demangle(symbol);
}

} // namespace isa_audit
