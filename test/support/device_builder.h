// Builds device code from nothing: AMDGPU code objects, bundles, compressed bundles, host libraries that carry them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace isa_audit::test {

// Little-endian integers and bytes, one after the other.
class ByteWriter {
public:
  template <typename T> ByteWriter &le(T value) {
    bytes_.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  ByteWriter &raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  ByteWriter &pad_to(size_t size) {
    bytes_.resize(std::max(bytes_.size(), size), '\0');
    return *this;
  }
  ByteWriter &align(size_t alignment) { return pad_to((bytes_.size() + alignment - 1) / alignment * alignment); }
  size_t size() const { return bytes_.size(); }
  const std::string &bytes() const { return bytes_; }

private:
  std::string bytes_;
};

struct ElfSectionSpec {
  std::string name;
  uint32_t type = 1;
  uint64_t flags = 2;
  std::string bytes;
  uint64_t align = 8;
  uint32_t link = 0;
  uint64_t entry_size = 0;
};

struct ElfSpec {
  uint8_t os_abi = 0, abi_version = 0;
  uint16_t type = 3, machine = 62;
  uint32_t flags = 0;
  std::vector<ElfSectionSpec> sections; // without the null section and the names
};
// An ELF64 file. Sections have their file offset as address; a PT_LOAD covers the file.
std::string build_elf(const ElfSpec &spec);

struct CodeObjectSpec {
  uint32_t flags = 0x54c; // gfx942, both features any
  uint8_t version = 6;    // code object version
  std::string target = "amdgcn-amd-amdhsa--gfx942";
  std::vector<std::string> kernels = {"kernel_a"};
  unsigned wavefront = 64;
  bool metadata = true;
  uint32_t steps[3] = {8, 0, 3}; // what version 2 names its processor by
  std::string code = {};         // of one function named "code", if not empty
};
std::string build_code_object(const CodeObjectSpec &spec);

// Entries in order: id, bytes. The host entry is added as HIP's compiler does.
std::string build_bundle(const std::vector<std::pair<std::string, std::string>> &entries, uint64_t align = 4096);

// version 1 … 3, method 0 zlib, 1 zstd.
std::string build_ccob(const std::string &bundle, uint16_t version, uint16_t method);

struct Aks2Kernel {
  std::string name;
  std::string image; // empty for a kernel that could not be compiled
};
// AOTriton's kernel storage.
std::string build_aks2(const std::vector<Aks2Kernel> &kernels);

// A kpack archive: binary key, target, code object.
struct KpackObject {
  std::string key, target, image;
};
std::string build_kpack(const std::vector<KpackObject> &objects, bool compressed);

// The content of .rocm_kpack_ref.
std::string build_kpack_reference(const std::string &kernel_name, const std::vector<std::string> &search_paths);

// A host library whose device code was split off, with a HIPK wrapper for each index.
std::string build_split_host(const std::string &reference, const std::vector<uint32_t> &indices);

struct PeSectionSpec {
  std::string name, bytes;
  uint32_t flags = 0x40000040; // readable data
};
// The headers of a PE32+ library and its sections.
std::string build_pe(const std::vector<PeSectionSpec> &sections, uint16_t machine = 0x8664);

// A host library with these bytes in .hip_fatbin and in .rodata.
std::string build_host(const std::string &fatbin, const std::string &rodata = "");

} // namespace isa_audit::test
