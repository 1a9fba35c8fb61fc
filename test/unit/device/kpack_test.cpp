#include <gtest/gtest.h>

#include "isa-audit/device/read_device.h"
#include "support/device_builder.h"

using namespace isa_audit;
using namespace isa_audit::test;

namespace {

Bytes as_bytes(const std::string &text) {
  return Bytes::borrowed({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

std::string messages(const Problems &problems) {
  std::string out;
  for (const Problem &p : problems) out += p.origin.text() + ": " + p.message + "\n";
  return out;
}

DeviceCode read(const std::string &file, Problems &problems, bool deep = false) {
  DeviceLimits limits;
  limits.verify_all = deep;
  return read_device_file(as_bytes(file), {0, "a.kpack", "", 0}, limits, serial_for, problems);
}

std::string archive(bool compressed) {
  CodeObjectSpec gfx942;
  gfx942.kernels = {"one", "two"};
  std::string image = build_code_object(gfx942);
  return build_kpack(
      {{"lib/liba.so#0", "gfx942", image}, {"lib/liba.so#1", "gfx942", image}, {"lib/libb.so#0", "gfx942:xnack+", image}},
      compressed);
}

TEST(Kpack, TableOfContents) {
  for (bool compressed : {false, true}) {
    std::string file = archive(compressed);
    ASSERT_STREQ(device_file_format(as_bytes(file)), "kpack");
    Problems problems;
    DeviceCode code = read(file, problems);
    EXPECT_EQ(messages(problems), "");
    EXPECT_TRUE(code.standalone);
    ASSERT_EQ(code.images.size(), 3u);
    EXPECT_EQ(code.images[0].place, "lib/liba.so#0");
    EXPECT_EQ(code.images[2].place, "lib/libb.so#0");
    for (const DeviceImage &image : code.images) {
      ASSERT_EQ(image.code_objects.size(), 1u);
      EXPECT_EQ(image.carrier, Carrier::kpack);
      EXPECT_EQ(image.code_objects[0].size, build_code_object({.kernels = {"one", "two"}}).size());
      EXPECT_EQ(image.code_objects[0].kernels_known, !compressed);
    }
    EXPECT_EQ(code.images[0].code_objects[0].target.text(), "gfx942");
    // What is not compressed is looked at: the flags say that xnack may be anything.
    EXPECT_EQ(code.images[2].code_objects[0].target.text(), compressed ? "gfx942:xnack+" : "gfx942");
    EXPECT_EQ(code.images[2].code_objects[0].claimed, "hip-amdgcn-amd-amdhsa--gfx942:xnack+");
  }
}

TEST(Kpack, DeepLooksIntoCompressedCode) {
  Problems problems;
  DeviceCode code = read(archive(true), problems, true);
  EXPECT_EQ(messages(problems), "");
  EXPECT_TRUE(code.images[0].code_objects[0].kernels_known);
  EXPECT_EQ(code.images[0].kernel_names.size(), 2u);
}

// So do --kernels and extract; what the processor's code is, --deep tells or says that it cannot.
TEST(Kpack, WhateverAsksForTheCodeGetsIt) {
  Problems problems;
  std::string file = archive(true);
  DeviceLimits limits;
  limits.kernel_details = true;
  DeviceCode code = read_device_file(as_bytes(file), {}, limits, serial_for, problems);
  EXPECT_EQ(code.images.at(0).code_objects.at(0).kernel_details.size(), 2u);
  limits = {};
  std::vector<std::string> places;
  limits.sink = [&](const CodeObject &object, const Origin &where, const Bytes &content,
                    const std::vector<std::string_view> &kernels) {
    EXPECT_EQ(content.size(), object.size);
    EXPECT_EQ(kernels.size(), 2u);
    places.push_back(where.place);
  };
  read_device_file(as_bytes(file), {}, limits, serial_for, problems);
  EXPECT_EQ(places, (std::vector<std::string>{"lib/liba.so#0 gfx942", "lib/liba.so#1 gfx942", "lib/libb.so#0 gfx942:xnack+"}));
  EXPECT_EQ(messages(problems), "");
  limits = {};
  limits.verify_all = limits.decode = true;
  CodeObjectSpec old;
  old.flags = 0x22; // gfx700
  old.target = "amdgcn-amd-amdhsa--gfx700";
  file = build_kpack({{"lib/a.so#0", "gfx700", build_code_object(old)}}, true);
  read_device_file(as_bytes(file), {}, limits, serial_for, problems);
  EXPECT_NE(messages(problems).find("for gfx700 was not checked"), std::string::npos) << messages(problems);
}

TEST(Kpack, EveryTruncationIsTold) {
  for (bool compressed : {false, true}) {
    std::string whole = archive(compressed);
    for (size_t size = 4; size < whole.size(); ++size) {
      Problems problems;
      DeviceCode code = read(whole.substr(0, size), problems);
      EXPECT_FALSE(problems.empty()) << size;
      EXPECT_LE(code.images.size(), 3u);
    }
  }
}

TEST(Kpack, EveryByteMayLie) {
  for (bool compressed : {false, true}) {
    std::string whole = archive(compressed);
    for (size_t at = 4; at < whole.size(); ++at) {
      std::string lying = whole;
      lying[at] = char(0xff);
      Problems problems;
      EXPECT_LE(read(lying, problems).images.size(), 3u) << at;
    }
  }
}

DeviceCode read_host(const std::string &file, Problems &problems) {
  auto elf = llvm::cantFail(Elf::read(as_bytes(file)));
  return read_elf_device(elf, {0, "lib.so", "", 0}, {}, serial_for, problems);
}

TEST(Kpack, SplitLibraries) {
  Problems problems;
  std::string reference = build_kpack_reference("lib/liba.so", {"../.kpack/blas_@GFXARCH@.kpack", "b.kpack"});
  DeviceCode code = read_host(build_split_host(reference, {1, 0, 1}), problems);
  EXPECT_EQ(messages(problems), "");
  EXPECT_TRUE(code.empty());
  EXPECT_EQ(code.wrappers, 3u);
  ASSERT_TRUE(code.external);
  EXPECT_EQ(code.external->kernel_name, "lib/liba.so");
  EXPECT_EQ(code.external->search_paths, (std::vector<std::string>{"../.kpack/blas_@GFXARCH@.kpack", "b.kpack"}));
  EXPECT_EQ(code.external->indices, (std::vector<uint32_t>{0, 1}));
}

TEST(Kpack, DamagedReferencesAreTold) {
  std::string reference = build_kpack_reference("lib/liba.so", {"a.kpack"});
  for (size_t size = 0; size < reference.size(); ++size) {
    Problems problems;
    DeviceCode code = read_host(build_split_host(reference.substr(0, size), {0}), problems);
    EXPECT_TRUE(code.external) << size;
    EXPECT_EQ(problems.size(), 1u) << size;
  }
}

} // namespace
