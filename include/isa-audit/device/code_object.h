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

struct CodeObject {
  std::string claimed;         // the entry id as written; empty for a loose object
  TargetId target;             // from e_flags (object version 2: from the note); from `claimed` for SPIR-V and bitcode
  std::string metadata_target; // `amdhsa.target` as written; empty where the metadata has none
  uint8_t object_version = 0;  // 2 … 6; 0 where the object is not an AMD HSA ELF
  uint8_t generic_version = 0; // of a generic processor, object version 6
  Carrier carrier = Carrier::elf;
  bool loadable = true;          // false for a relocatable object or bitcode
  uint64_t offset = 0;           // in the file, or in the decompressed bundle
  uint64_t size = 0;             // bytes
  std::vector<uint32_t> kernels; // sorted indices into `kernel_names` of the image (of DeviceCode for a loose object)
  bool kernels_known = true;     // false when the metadata could not be read
  uint8_t wavefront_sizes = 0;   // bit 0: some kernel has 32, bit 1: some kernel has 64
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
