#include <gtest/gtest.h>

#include <map>

#include "isa-audit/device/read_device.h"
#include "support/device_builder.h"

using namespace isa_audit;
using namespace isa_audit::test;

namespace {

std::string entry(uint16_t kind, uint32_t arch, uint64_t payload) {
  ByteWriter out;
  out.le(kind).le(uint16_t(0x101)).le(uint32_t(64)).le(payload).le(uint64_t(0)).le(uint32_t(0)).le(arch).pad_to(64);
  return out.pad_to(64 + payload).bytes();
}

std::string container(const std::string &entries) {
  ByteWriter out;
  return out.le(uint32_t(0xba55ed50)).le(uint16_t(1)).le(uint16_t(16)).le(uint64_t(entries.size())).raw(entries).bytes();
}

DeviceCode read(const std::string &fatbin, Problems &problems) {
  ElfSpec spec;
  spec.sections.push_back({".nv_fatbin", 1, 2, fatbin, 8});
  static std::string file;
  file = build_elf(spec);
  auto elf = llvm::cantFail(Elf::read(Bytes::borrowed({reinterpret_cast<const uint8_t *>(file.data()), file.size()})));
  return read_elf_device(elf, {}, {}, serial_for, problems);
}

TEST(NvFatbin, ContainersEntriesAndPtx) {
  std::string one = container(entry(2, 80, 24) + entry(2, 90, 8) + entry(1, 90, 40) + entry(0x20, 90, 8));
  Problems problems;
  DeviceCode code = read(one + std::string(8, '\0') + container(entry(2, 120, 16)), problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_TRUE(code.empty()) << "no AMD code";
  ASSERT_EQ(code.nvidia.size(), 2u);
  std::map<std::string, int> counts;
  for (const DeviceImage &image : code.nvidia)
    for (const CodeObject &object : image.code_objects) ++counts[object.target.text() + object.claimed];
  EXPECT_EQ(counts, (std::map<std::string, int>{{"sm_120", 1}, {"sm_80", 1}, {"sm_90", 1}, {"sm_90ptx", 1}}));
}

TEST(NvFatbin, EveryTruncationIsTold) {
  std::string whole = container(entry(2, 80, 24) + entry(2, 90, 8));
  for (size_t size = 17; size < whole.size(); ++size) {
    Problems problems;
    read(whole.substr(0, size), problems);
    EXPECT_EQ(problems.size(), 1u) << size;
  }
}

TEST(NvFatbin, SizesThatLie) {
  std::string whole = container(entry(2, 80, 24));
  for (size_t at : {20u, 24u}) { // header size and payload size of the entry
    std::string lying = whole;
    lying.replace(at, 4, "\xf0\xff\xff\xff");
    Problems problems;
    read(lying, problems);
    EXPECT_EQ(problems.size(), 1u);
  }
}

} // namespace
