// Files that are device code by themselves: bundles plain and compressed, offload binaries, code objects,
// kernel archives; and PE images.
#include "isa-audit/device/read_device.h"

using namespace isa_audit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Bytes file = Bytes::borrowed({data, size});
  DeviceLimits limits;
  limits.max_bundle = 1u << 24;
  Problems problems;
  if (pe_format(file)) read_pe_device(file, {}, limits, serial_for, problems);
  if (!is_device_file(file)) return 0;
  DeviceCode code = read_device_file(file, {}, limits, serial_for, problems);
  // Nothing found and nothing said would be silence about a file that starts like device code.
  if (code.empty() && problems.empty()) {
    bool host_only = file.text().find("host-") != std::string_view::npos;
    // An archive may be empty, and a kernel of AOTriton's without code is legal.
    std::string_view format = device_file_format(file);
    if (!host_only && format != "aks2" && format != "kpack") __builtin_trap();
  }
  return 0;
}
