// The topology that the kernel's amdkfd driver shows in sysfs, and what names its numbers stand for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/machine/root.h"

namespace isa_audit {

// A folder of topology/nodes. Numbers that the file does not give, or gives badly, are 0 or empty.
struct KfdNode {
  unsigned number = 0;            // of the folder: sysfs' numbering, which the runtime's may differ from
  bool masked = false;            // unreadable: a container's device cgroup hides the GPU
  std::optional<uint32_t> gpu_id; // 0 for a CPU
  uint32_t cpu_cores = 0, simds = 0;
  uint32_t vendor_id = 0, device_id = 0;
  uint32_t location_id = 0, domain = 0;
  uint32_t capability = 0;
  std::optional<uint32_t> gfx_target_version; // none: a kernel older than the property
  uint32_t render_minor = 0;
  uint64_t unique_id = 0; // a serial number: never shown; equal for the partitions of one GPU

  bool is_gpu() const { return !masked && (gpu_id ? *gpu_id != 0 : simds != 0); }
};

struct Kfd {
  bool present = false; // the topology folder exists
  std::vector<KfdNode> nodes;
};
Kfd read_kfd(const Root &root);

// The content of a `properties` file; lines that are not "name number" are passed over.
void parse_kfd_properties(std::string_view text, KfdNode &node);

// gfx_target_version as a processor name: decimal major * 10000 + minor * 100 + step, minor and step in hex ("gfx90a" for
// 90010). Empty for 0 and for what is no version.
std::string gfx_name(uint32_t gfx_target_version);

struct PciGpu {
  std::string_view processor, name; // the marketing name, empty where the id has many or none
};
// The processors of the GPUs that are sold under a name, sorted: "mi300x", "RX 7900 XTX", "w7900". Letters and digits decide; a
// part of a name counts from four on.
std::vector<std::string_view> processors_by_name(std::string_view name);

// By the device id of PCI vendor 0x1002.
std::optional<PciGpu> find_pci_gpu(uint32_t device_id);

// By the version of the graphics core in the DRM driver's ip_discovery. It looks like a gfx number and is none: 9.4.3 is
// gfx942, 11.0.3 is gfx1101. Empty when unknown.
std::string_view processor_by_core(unsigned major, unsigned minor, unsigned revision);

} // namespace isa_audit
