// What a file holds of GPU code. A code object is one program for one target. A device image is a set of alternatives: one
// offload bundle, made from one translation unit, from which the runtime takes the entry for its GPU. A GPU is served by a
// file only if every image has a match; code objects outside any image are "loose".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa-audit/base/origin.h"
#include "isa-audit/device/target_id.h"

namespace isa_audit {

enum class Carrier : uint8_t { bundle, ccob, elf, offload_binary, aks2, kpack, nv_fatbin };
const char *carrier_name(Carrier carrier); // as in the JSON report: "bundle", "ccob", "elf", "offload-binary", …

// What a kernel takes of the GPU, by its metadata (DeviceLimits::kernel_details). Registers are counted per work item or wave
// as the metadata does, memory in bytes; fields that the metadata lacks are 0.
struct KernelDetails {
  uint32_t name = 0; // index, as in CodeObject::kernels
  uint32_t wavefront = 0, vgprs = 0, agprs = 0, sgprs = 0;
  uint32_t vgpr_spills = 0, sgpr_spills = 0;
  uint32_t lds = 0, scratch = 0;

  auto operator<=>(const KernelDetails &) const = default;
};

// What decoding the functions of a code object for its own processor showed (DeviceLimits::decode).
struct CodeCheck {
  // unsupported: this build's LLVM does not know the processor, or cannot decode for it.
  enum class State : uint8_t { not_asked, unsupported, checked } state = State::not_asked;
  uint64_t functions = 0; // looked at
  uint64_t bad = 0;       // of these, with an instruction that cannot be decoded
  std::string first_bad;  // "name+0x40"
};

struct CodeObject {
  std::string claimed;         // the entry id as written; empty for a loose object
  bool claim_differs = false;  // `claimed` names another target than `target`: the runtime looks an entry up by its id
  TargetId target;             // from e_flags (object version 2: from the note); from `claimed` for SPIR-V and bitcode
  std::string metadata_target; // `amdhsa.target` as written; empty where the metadata has none
  uint8_t object_version = 0;  // 2 … 6; 0 where the object is not an AMD HSA ELF
  uint8_t generic_version = 0; // of a generic processor, object version 6
  Carrier carrier = Carrier::elf;
  uint8_t ccob_version = 0;      // of the compressed bundle that carries it; 0 for any other carrier
  bool fixed_xnack = false;      // gfx125x: the flags say "xnack on", as newer compilers write it, though there is no choice
  bool loadable = true;          // false for a relocatable object, bitcode, or an object of another runtime (PAL, Mesa)
  uint64_t offset = 0;           // in the file, or in the decompressed bundle
  uint64_t size = 0;             // bytes
  std::vector<uint32_t> kernels; // sorted indices into `kernel_names` of the image (of DeviceCode for a loose object)
  std::vector<KernelDetails> kernel_details; // by name; empty unless asked for
  bool kernels_known = true;                 // false when the metadata could not be read
  uint8_t wavefront_sizes = 0;               // bit 0: some kernel has 32, bit 1: some kernel has 64
  CodeCheck code;
};

struct DeviceImage {
  std::string place; // ".hip_fatbin+0x1000"
  uint64_t pos = 0;  // offset of the bundle in the file
  Carrier carrier = Carrier::bundle;
  std::vector<std::string> kernel_names; // of all code objects of the image, without duplicates
  std::vector<CodeObject> code_objects;  // in the order of the bundle; never the host entry
};

// Device code that was split off into kpack archives (ROCm/rocm-kpack): what the file says of where it is.
struct ExternalCode {
  std::string kernel_name;               // archives list the file's code as "<kernel_name>#<index>"
  std::vector<std::string> search_paths; // of archives, from the file's folder; "@GFXARCH@" stands for the target
  std::vector<uint32_t> indices;         // one for each wrapper; sorted, distinct
};

struct DeviceCode {
  std::vector<DeviceImage> images; // by `pos`
  std::vector<CodeObject> loose;   // by `offset`
  std::vector<std::string> loose_kernel_names;
  // NVIDIA's containers, apart: no AMD GPU is judged by them, and `images` counts AMD's only.
  std::vector<DeviceImage> nvidia;
  bool runtime_internal = false; // libhsa-runtime64's own blit and trap handlers: never a package's support of a GPU
  bool hip_host = false;         // the file calls __hipRegisterFatBinary or hipLaunchKernel: a HIP program or library
  uint64_t wrappers = 0;         // entries of .hipFatBinSegment
  std::optional<ExternalCode> external;
  bool standalone = false; // the file itself is a code object or bundle (.co, .hsaco, .hipfb), not a host library

  bool empty() const { return images.empty() && loose.empty(); }
};

} // namespace isa_audit
