// Everything that the inputs hold, before anything is judged. scan() fills it; judge() and the report writers read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa-audit/base/problem.h"
#include "isa-audit/device/code_object.h"
#include "isa-audit/device/side_file.h"
#include "isa-audit/host/host_code.h"
#include "isa-audit/source/distribution.h"
#include "isa-audit/source/torch_version.h"

namespace isa_audit {

struct Input {
  std::string path;       // as shown: relative or cut to its last two parts, no host or user name
  std::string kind;       // "directory", "wheel", "zip", "elf", "code-object", "distribution"
  uint64_t size = 0;      // bytes of the file; of all files for a directory
  std::string sha256;     // with --hash
  std::string given = {}; // as the user wrote it: for the user's own eyes, never in JSON
  std::string above = {}; // of a folder: the last parts of its own path, never shown; side-cars are known by where they lie
};

// What the JSON file that Triton writes beside a kernel says of it ({"target": {"backend": "hip", "arch": "gfx942", …}, …}).
struct TritonKernel {
  std::string arch;       // "gfx942"
  uint32_t warp_size = 0; // 0: not said
};

struct Binary {
  Origin origin;            // place empty
  std::string distribution; // name as METADATA spells it; empty when no distribution owns the file
  std::string format;       // "elf-x86_64", "elf-aarch64", "elf-amdgpu", "offload-bundle", …
  uint64_t size = 0;
  std::string same_as;                // path of the first file with the same content, decoded once; empty for none
  std::vector<std::string> needed;    // DT_NEEDED
  std::optional<DeviceCode> device;   // present when the file carries or could carry device code
  std::optional<TritonKernel> triton; // of a .hsaco file with such a JSON file
  std::optional<HostCode> host;       // present for x86-64 ELF files with code
};

struct Inventory {
  std::vector<Input> inputs;
  std::vector<Distribution> distributions;  // by input, name
  std::vector<Binary> binaries;             // by origin
  std::vector<SideFile> side_files;         // by origin; code objects among a side-car's files are binaries
  std::vector<TorchVersion> torch_versions; // by origin
  Problems problems;                        // by origin
  uint64_t files = 0;                       // looked at
  uint64_t bytes = 0;                       // of the binaries
};

} // namespace isa_audit
