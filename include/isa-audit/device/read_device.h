// Finds the GPU code of a file: the walkers of every carrier, put together.
#pragma once

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/parallel.h"
#include "isa-audit/base/problem.h"
#include "isa-audit/device/code_object.h"
#include "isa-audit/elf/elf.h"

namespace isa_audit {

struct DeviceLimits {
  uint64_t max_bundle = uint64_t{4} << 30; // bytes of one decompressed bundle
  bool verify_all = false;                 // check the MD5 of every compressed bundle, not only of small ones
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
