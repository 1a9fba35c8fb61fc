// Files that are device code by themselves: bundles plain and compressed, offload binaries, code objects.
#include "isa-audit/device/read_device.h"

using namespace isa_audit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Bytes file = Bytes::borrowed({data, size});
  if (!is_device_file(file)) return 0;
  DeviceLimits limits;
  limits.max_bundle = 1u << 24;
  Problems problems;
  DeviceCode code = read_device_file(file, {}, limits, serial_for, problems);
  // Nothing found and nothing said would be silence about a file that starts like device code.
  if (code.empty() && problems.empty()) {
    bool host_only = file.text().find("host-") != std::string_view::npos;
    if (!host_only) __builtin_trap();
  }
  return 0;
}
