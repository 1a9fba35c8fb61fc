// Finds the GPU code of a file: the walkers of every carrier, put together.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/parallel.h"
#include "isa-audit/base/problem.h"
#include "isa-audit/device/code_object.h"
#include "isa-audit/elf/elf.h"

namespace isa_audit {

// Is handed every AMD code object that was recognised, with its bytes and the names of its kernels, while they are there;
// called from any thread, in no order. `where` has the place inside the file: ".hip_fatbin+0x1000 entry 2".
using CodeObjectSink = std::function<void(const CodeObject &object, const Origin &where, const Bytes &content,
                                          const std::vector<std::string_view> &kernels)>;

struct DeviceLimits {
  uint64_t max_bundle = uint64_t{4} << 30; // bytes of one decompressed bundle
  bool verify_all = false;                 // check the MD5 of every compressed bundle, not only of small ones
  bool kernel_details = false;             // keep what the metadata says of each kernel
  CodeObjectSink sink;                     // may be empty
  bool decode = false;                     // decode the functions of every code object for its own processor
};

// The device code in an ELF host file or relocatable object. Problems are appended with `origin` and the place inside.
DeviceCode read_elf_device(const Elf &elf, const Origin &origin, const DeviceLimits &limits, const ParallelFor &parallel,
                           Problems &problems);

// The device code in the data sections of a PE image (a Windows library or program).
DeviceCode read_pe_device(const Bytes &file, const Origin &origin, const DeviceLimits &limits, const ParallelFor &parallel,
                          Problems &problems);

// "pe-x86_64", "pe-aarch64", "pe-i386", "pe" when `head` holds the headers of a PE image; nullptr otherwise.
const char *pe_format(const Bytes &head);

// What `head` (at least 64 bytes, or the whole file) is the start of, if it is device code by itself: "elf-amdgpu",
// "offload-bundle" (plain, compressed, offload binary), "aks2",
// "kpack",
// "text-bundle". nullptr for anything else.
const char *device_file_format(const Bytes &head);
inline bool is_device_file(const Bytes &head) { return device_file_format(head) != nullptr; }

// The device code of such a file: a code object, a bundle or several bundles one after the other, a kernel archive.
DeviceCode read_device_file(const Bytes &file, const Origin &origin, const DeviceLimits &limits, const ParallelFor &parallel,
                            Problems &problems);

} // namespace isa_audit
