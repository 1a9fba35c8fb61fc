// kpack: device code split off from its library.
#pragma once

#include "isa-audit/base/problem.h"
#include "isa-audit/device/code_object.h"
#include "isa-audit/device/read_device.h"
#include "isa-audit/elf/elf.h"

namespace isa_audit {

// True if `head` is the start of a .kpack archive.
bool is_kpack(const Bytes &head);

// The archive's table of contents: an image for each binary key ("lib/libfoo.so#0", in `place`), an object for each target.
// Code that is not compressed is looked at; compressed code only when `limits` asks for checks, kernels or the code itself.
void read_kpack(const Bytes &file, const Origin &origin, const DeviceLimits &limits, DeviceCode &code, Problems &problems);

// `.rocm_kpack_ref`: what a library whose code was split off says of its archives.
void read_kpack_reference(const Elf &elf, const Origin &origin, DeviceCode &code, Problems &problems);

} // namespace isa_audit
