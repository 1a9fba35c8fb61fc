// What to do about code that a CPU cannot run. One row a project that has a build for older CPUs, a last version without the
// need, or a build variable that lowers it; the report or document that says so stands behind it. For all others the flags by
// which compilers are told the level.
#include <algorithm>

#include "advice.h"
#include "isa-audit/source/distribution.h"

namespace isa_audit {
namespace {

// The features whose want a row helps against: of up to this psABI level, or any (a build for the CPU at hand).
enum class Relief : uint8_t { v2 = 2, v3 = 3, any = 5 };

struct CpuRow {
  std::string_view name; // normalized distribution name
  Relief relief;
  std::string_view versions; // ">=2.4", "<0.13.1", or some by name: "5.1.1 5.2.0"; empty for any
  std::string_view advice;
};

constexpr CpuRow kCpuRows[] = {
    // nmslib/hnswlib#493: -march=native unless the variable is set
    {"chroma-hnswlib", Relief::any, "",
     "build it for this CPU: HNSWLIB_NO_NATIVE=1 pip install --no-binary chroma-hnswlib chroma-hnswlib"},
    {"dlib", Relief::v3, "",
     "build it with -DUSE_SSE4_INSTRUCTIONS=OFF -DUSE_AVX_INSTRUCTIONS=OFF (CMake)"}, // davisking/dlib#419
    {"faiss-cpu", Relief::v3, "1.14.2",
     "install faiss-cpu 1.13.2 or a version with facebookresearch/faiss#5298: 1.14.2 runs AVX2 code while it is "
     "loaded, whatever FAISS_SIMD_LEVEL says"}, // facebookresearch/faiss#5296
    {"hnswlib", Relief::any, "",
     "build it for this CPU: HNSWLIB_NO_NATIVE=1 pip install --no-binary hnswlib hnswlib"},              // nmslib/hnswlib#493
    {"jaxlib", Relief::v3, "", "build jaxlib from source for this CPU; its wheels need AVX"},            // jax-ml/jax#31723
    {"lancedb", Relief::v3, "", "install lancedb-compat instead: the same module, built for x86-64-v2"}, // lancedb/lancedb#3327
    {"llama-cpp-python", Relief::any, "",
     "build it for this CPU: CMAKE_ARGS='-DGGML_NATIVE=ON' pip install --no-binary llama-cpp-python "
     "llama-cpp-python"}, // ggml's CMakeLists.txt
    {"lxml", Relief::v3, "5.1.1 5.2.0",
     "install lxml 5.2.1 or newer: 5.1.1 and 5.2.0 were built for AVX"}, // bugs.launchpad.net/lxml/+bug/2059910
    {"numcodecs", Relief::v3, "0.7.1",
     "install another version: this one was built with AVX2, 0.6 was not"},                 // zarr-developers/numcodecs#252
    {"numpy", Relief::v2, ">=2.4", "install numpy<2.4: wheels from 2.4 on need x86-64-v2"}, // numpy 2.4.0 release notes
    {"polars", Relief::v3, "",
     "install polars-lts-cpu, or polars[rtcompat] from version 1.34 on"}, // docs.pola.rs, installation
    {"polars-runtime-32", Relief::v3, "", "install polars[rtcompat]"},
    {"polars-runtime-64", Relief::v3, "", "install polars[rtcompat]"},
    // apache/arrow: cpp/cmake_modules/DefineOptions.cmake; apache/arrow#34277
    {"pyarrow", Relief::v2, "",
     "build Arrow with -DARROW_SIMD_LEVEL=NONE (CMake); ARROW_USER_SIMD_LEVEL does not lower what its wheels need"},
    {"pyopal", Relief::v3, "<0.6.1", "install pyopal 0.6.1 or newer"},                   // althonos/pyopal#7
    {"ssm-simulators", Relief::v3, "<0.13.1", "install ssm-simulators 0.13.1 or newer"}, // lnccbrown/ssm-simulators#303
    {"tensorflow", Relief::v3, "",
     "build it from source for this CPU; 1.5 was the last wheel without AVX, and 2.4.0 alone needs AVX2 "
     "(2.4.1 does not)"}, // tensorflow/tensorflow#17411, #45744
};

// "2.10" after "2.9"; what follows the numbers (rc1, +local) does not count.
std::vector<unsigned> numbers(std::string_view version) {
  std::vector<unsigned> out;
  for (size_t at = 0; at < version.size();) {
    size_t end = at;
    unsigned value = 0;
    while (end < version.size() && version[end] >= '0' && version[end] <= '9' && end - at < 9)
      value = value * 10 + static_cast<unsigned>(version[end++] - '0');
    if (end == at) break;
    out.push_back(value);
    if (end == version.size() || version[end] != '.') break;
    at = end + 1;
  }
  return out;
}

// Whether a row is for this version; for any row an unknown version may be the one.
bool is_for(std::string_view versions, std::string_view version) {
  if (versions.empty() || version.empty()) return true;
  if (versions.starts_with('<')) return numbers(version) < numbers(versions.substr(1));
  if (versions.starts_with(">=")) return numbers(version) >= numbers(versions.substr(2));
  while (!versions.empty()) {
    size_t end = std::min(versions.find(' '), versions.size());
    if (numbers(version) == numbers(versions.substr(0, end))) return true;
    versions.remove_prefix(std::min(end + 1, versions.size()));
  }
  return false;
}

// The level that compilers know the CPU's by.
std::string march(const Cpu &cpu) {
  int level = highest_level(cpu.features);
  return level < 2 ? "x86-64" : "x86-64-v" + std::to_string(level);
}

std::string rebuild_advice(std::string_view distribution, const Cpu &cpu, bool gate) {
  std::string flags = "CFLAGS and CXXFLAGS '-march=" + march(cpu) + "', RUSTFLAGS '-C target-cpu=" + march(cpu) + "'";
  if (gate) return "rebuild with " + flags;
  if (distribution.empty()) return "install a build for an older CPU, or rebuild with " + flags;
  return "install a build for an older CPU, or build " + std::string(distribution) +
         " from source (pip install --no-binary) with " + flags;
}

// Types and settings: qemu-cpu-models(7), libvirt's domain format, Proxmox VE's administration guide.
std::string vm_advice(const Cpu &cpu) {
  const bool named = cpu.hypervisor != "unknown" && !cpu.hypervisor.empty();
  std::string vm = named ? "the virtual machine (" + cpu.hypervisor + ")" : "the virtual machine";
  return vm + " hides what its host has: give it the CPU type 'host' (Proxmox VE: Processors, Type; libvirt: cpu mode "
              "host-passthrough; QEMU: -cpu host)";
}

} // namespace

std::string cpu_advice(std::string_view distribution, std::string_view version, const Cpu &cpu, const IsaSet &lacking,
                       bool gate, bool sure) {
  std::string name = normalized_name(distribution), out;
  for (const CpuRow &row : kCpuRows)
    if (row.name == name && !gate && is_for(row.versions, version) &&
        (row.relief == Relief::any || !(lacking & psabi_level(static_cast<int>(row.relief))).empty()))
      out = row.advice;
  if (out.empty() && sure) out = rebuild_advice(distribution, cpu, gate);
  if (gate || !cpu.masked) return out;
  if (!out.empty()) out += "; ";
  return out + vm_advice(cpu);
}

} // namespace isa_audit
