// /sys/class/kfd/kfd/topology (a link to /sys/devices/virtual/kfd/kfd/topology): a folder for each node below nodes/, with
// `gpu_id` (0 for a CPU; a file, not a line of properties) and `properties`: lines "name value", unsigned decimal, 64 bit;
// the runtime keeps the low 32 of most. Specified by its reader, libhsakmt/src/topology.c.
//
// Traps: reading either file fails with EPERM when a container's device cgroup hides the GPU; new keys come with each kernel;
// gfx_target_version is missing on old kernels; `name` reads "ip discovery" on new GPUs; an APU's node may have CPU cores too.
#include "isa-audit/machine/kfd.h"

#include <algorithm>
#include <cerrno>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

using llvm::StringRef;

constexpr const char *kTopologies[] = {"/sys/class/kfd/kfd/topology", "/sys/devices/virtual/kfd/kfd/topology"};
constexpr size_t kPropertiesLimit = 1 << 16; // sysfs gives at most a page

KfdNode read_node(const Root &root, const std::string &folder, unsigned number) {
  KfdNode node;
  node.number = number;
  int error = 0;
  std::optional<std::string> gpu_id = root.read(folder + "/gpu_id", 4096, &error);
  // A copy of sysfs may lack the file; a refused one is masked.
  if (!gpu_id && error != ENOENT) {
    node.masked = true;
    return node;
  }
  uint32_t id;
  if (gpu_id && !StringRef(*gpu_id).trim().getAsInteger(10, id)) node.gpu_id = id;
  std::optional<std::string> properties = root.read(folder + "/properties", kPropertiesLimit, &error);
  if (properties)
    parse_kfd_properties(*properties, node);
  else
    node.masked = node.gpu_id != 0u;
  return node;
}

} // namespace

void parse_kfd_properties(std::string_view text, KfdNode &node) {
  StringRef rest(text);
  while (!rest.empty()) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    auto [name, number] = line.trim().split(' ');
    uint64_t value;
    if (number.trim().getAsInteger(10, value)) continue;
    uint32_t low = static_cast<uint32_t>(value);
    if (name == "cpu_cores_count")
      node.cpu_cores = low;
    else if (name == "simd_count")
      node.simds = low;
    else if (name == "vendor_id")
      node.vendor_id = low;
    else if (name == "device_id")
      node.device_id = low;
    else if (name == "location_id")
      node.location_id = low;
    else if (name == "domain")
      node.domain = low;
    else if (name == "capability")
      node.capability = low;
    else if (name == "gfx_target_version")
      node.gfx_target_version = low;
    else if (name == "drm_render_minor")
      node.render_minor = low;
    else if (name == "unique_id")
      node.unique_id = value;
  }
}

Kfd read_kfd(const Root &root) {
  Kfd kfd;
  for (const char *topology : kTopologies) {
    std::string nodes = std::string(topology) + "/nodes";
    if (!root.exists(nodes)) continue;
    kfd.present = true;
    for (const std::string &name : root.list(nodes)) {
      unsigned number;
      if (StringRef(name).getAsInteger(10, number)) continue;
      kfd.nodes.push_back(read_node(root, llvm::formatv("{0}/{1}", nodes, name).str(), number));
    }
    break;
  }
  std::sort(kfd.nodes.begin(), kfd.nodes.end(), [](const KfdNode &a, const KfdNode &b) { return a.number < b.number; });
  return kfd;
}

std::string gfx_name(uint32_t version) {
  unsigned major = version / 10000, minor = version / 100 % 100, step = version % 100;
  // One hex digit each: what exceeds them is not a version but damage.
  if (major == 0 || major > 63 || minor > 15 || step > 15) return {};
  return llvm::formatv("gfx{0}{1:x-}{2:x-}", major, minor, step).str();
}

} // namespace isa_audit
