// From the bytes of one code object to what it is.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "isa-audit/base/bytes.h"
#include "isa-audit/device/code_object.h"
#include "isa-audit/elf/elf.h"

namespace isa_audit {

// Numbers for kernel names: alternatives of one image hold mostly the same names, each is kept once.
class KernelNames {
public:
  uint32_t number(std::string_view name);
  // The names of `object`; views that live as long as this does.
  std::vector<std::string_view> names_of(const CodeObject &object) const;
  // The names by number; the object is empty afterwards.
  std::vector<std::string> take();

private:
  std::unordered_map<std::string, uint32_t> numbers_;
};

// True if the bytes start like an AMDGPU ELF file (ELF64, little-endian, EM_AMDGPU).
bool is_amdgpu_elf(std::string_view head);

// The kind of bytes a bundle entry or offload binary holds, by content.
enum class Payload : uint8_t { amdgpu_elf, cuda_elf, bitcode, spirv, ptx, unknown };
Payload sniff_payload(const Bytes &bytes);

// Fills target, versions, kernels and wavefront sizes of `object` from an AMDGPU ELF image. Appends to `problems` (messages
// without origin) what could not be read. Returns false when not even the target is known.
// `details`: kernel_details too.
bool read_amdgpu_elf(const Elf &elf, CodeObject &object, KernelNames &names, std::vector<std::string> &problems,
                     bool details = false);

// Sets `claim_differs`; call when `claimed` and `target` are known.
void compare_claim(CodeObject &object);

} // namespace isa_audit
