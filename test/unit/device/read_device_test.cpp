#include "isa-audit/device/read_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "support/device_builder.h"

using namespace isa_audit;
using namespace isa_audit::test;

namespace {

struct Result {
  DeviceCode code;
  Problems problems;

  // "gfx942" → number of code objects, over images and loose ones.
  std::map<std::string, int> targets() const {
    std::map<std::string, int> out;
    for (const DeviceImage &image : code.images)
      for (const CodeObject &object : image.code_objects) ++out[object.target.text()];
    for (const CodeObject &object : code.loose) ++out[object.target.text()];
    return out;
  }
  std::string messages() const {
    std::string out;
    for (const Problem &p : problems) out += std::string(level_name(p.level)) + " " + p.origin.text() + ": " + p.message + "\n";
    return out;
  }
};

Bytes as_bytes(const std::string &text) {
  return Bytes::borrowed({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

Result read(const std::string &file, DeviceLimits limits = {}) {
  Result out;
  Origin origin{0, "file", "", 0};
  if (is_device_file(as_bytes(file))) {
    out.code = read_device_file(as_bytes(file), origin, limits, serial_for, out.problems);
    return out;
  }
  auto elf = Elf::read(as_bytes(file));
  EXPECT_TRUE(bool(elf));
  if (elf)
    out.code = read_elf_device(*elf, origin, limits, serial_for, out.problems);
  else
    llvm::consumeError(elf.takeError());
  return out;
}

std::string object_for(uint32_t flags, const std::string &target, std::vector<std::string> kernels = {"kernel_a"}) {
  CodeObjectSpec spec;
  spec.flags = flags;
  spec.target = "amdgcn-amd-amdhsa--" + target;
  spec.kernels = std::move(kernels);
  return build_code_object(spec);
}

std::string two_targets(uint64_t align = 4096) {
  return build_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx90a", object_for(0x53f, "gfx90a")},
                       {"hipv4-amdgcn-amd-amdhsa--gfx942", object_for(0x54c, "gfx942", {"kernel_a", "kernel_b"})}},
                      align);
}
std::string one_target() { return build_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx1100", object_for(0x41, "gfx1100")}}); }

using Targets = std::map<std::string, int>;

TEST(ReadDevice, PlainBundlesOneAfterTheOther) {
  ByteWriter fatbin;
  fatbin.raw(two_targets()).align(4096).raw(one_target()).align(4096).raw(two_targets());
  Result r = read(build_host(fatbin.bytes()));
  EXPECT_EQ(r.messages(), "");
  EXPECT_EQ(r.code.images.size(), 3u);
  EXPECT_EQ(r.targets(), (Targets{{"gfx1100", 1}, {"gfx90a", 2}, {"gfx942", 2}}));
  EXPECT_EQ(r.code.images[0].kernel_names.size(), 2u);
  EXPECT_EQ(r.code.images[0].code_objects[1].kernels.size(), 2u);
}

// Libraries linked from objects with and without --offload-compress.
TEST(ReadDevice, PlainAndCompressedMixed) {
  for (uint16_t version : {1, 2, 3})
    for (uint16_t method : {0, 1}) {
      ByteWriter fatbin;
      fatbin.raw(two_targets())
          .align(4096)
          .raw(build_ccob(one_target(), version, method))
          .align(64)
          .raw(two_targets())
          .align(4096);
      fatbin.raw(build_ccob(two_targets(), version, method));
      Result r = read(build_host(fatbin.bytes()));
      EXPECT_EQ(r.messages(), "") << version << method;
      EXPECT_EQ(r.code.images.size(), 4u) << version << method;
      EXPECT_EQ(r.targets(), (Targets{{"gfx1100", 1}, {"gfx90a", 3}, {"gfx942", 3}}));
    }
}

TEST(ReadDevice, UnpaddedBundlesAtOddPlacesInRodata) {
  ByteWriter rodata;
  rodata.raw(std::string(1237, 'x')).raw(two_targets(1)).raw("yz").raw(build_ccob(one_target(), 2, 1)).raw("tail");
  Result r = read(build_host("", rodata.bytes()));
  EXPECT_EQ(r.messages(), "");
  EXPECT_EQ(r.code.images.size(), 2u);
  EXPECT_EQ(r.targets(), (Targets{{"gfx1100", 1}, {"gfx90a", 1}, {"gfx942", 1}}));
}

TEST(ReadDevice, NakedImagesInRodata) {
  ByteWriter rodata;
  rodata.raw("some text").raw(object_for(0x54c, "gfx942")).raw("between").raw(object_for(0x53f, "gfx90a"));
  Result r = read(build_host("", rodata.bytes()));
  EXPECT_EQ(r.messages(), "");
  EXPECT_TRUE(r.code.images.empty());
  ASSERT_EQ(r.code.loose.size(), 2u);
  EXPECT_EQ(r.targets(), (Targets{{"gfx90a", 1}, {"gfx942", 1}}));
  EXPECT_EQ(r.code.loose[1].kernels.size(), 1u);
}

TEST(ReadDevice, MagicsInTextAreNoFindings) {
  using namespace std::string_literals;
  std::string rodata =
      "__CLANG_OFFLOAD_BUNDLE__ is the magic of a bundle\0CCOB\x02\0\1\0 and\0__CLANG_OFFLOAD_BUNDLE__\4\0\0\0\0\0\0\0"s +
      "\x7f"
      "ELF\2\1\1\x40"s +
      std::string(8, '\0') + "\3\0\xe0\0"s + std::string(100, 'x') + "\x10\xff\x10\xad\1\0\0\0"s + std::string(60, '\x7f');
  Result r = read(build_host("", rodata));
  EXPECT_EQ(r.messages(), "");
  EXPECT_TRUE(r.code.empty());
}

// zstd and zlib data hold the bytes of a magic by chance; the envelope says where it ends.
TEST(ReadDevice, MagicInsideCompressedBytes) {
  std::string noise;
  uint32_t state = 1;
  for (int i = 0; i < 20000; ++i) noise += char((state = state * 1664525 + 1013904223) >> 24);
  noise.replace(9000, 4, "CCOB");
  std::string object = object_for(0x54c, "gfx942");
  ByteWriter fatbin;
  std::string ccob = build_ccob(build_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", object + noise}}), 3, 1);
  ASSERT_NE(ccob.find("CCOB", 4), std::string::npos);
  fatbin.raw(ccob).align(4096).raw(one_target());
  Result r = read(build_host(fatbin.bytes()));
  EXPECT_EQ(r.code.images.size(), 2u) << r.messages();
  EXPECT_EQ(r.targets(), (Targets{{"gfx1100", 1}, {"gfx942", 1}}));
}

struct FlagsCase {
  uint32_t flags;
  uint8_t version;
  const char *target;
};
constexpr FlagsCase kFlags[] = {
    {0x54c, 6, "gfx942"},
    {0x54c, 4, "gfx942"},
    {0x74c, 5, "gfx942:xnack+"},
    {0x64c, 6, "gfx942:xnack-"},
    {0x53f, 4, "gfx90a"},
    {0xb3f, 5, "gfx90a:sramecc-:xnack+"},
    {0xe3f, 5, "gfx90a:sramecc+:xnack-"},
    {0x540, 5, "gfx940"},
    {0x54b, 5, "gfx941"},
    {0x12c, 6, "gfx900"},
    {0x52f, 6, "gfx906"},
    {0x36, 6, "gfx1030"},
    {0x01000054, 6, "gfx11-generic"},
    {0x0100055f, 6, "gfx9-4-generic"},
    {0x549, 6, "gfx1250"},
    {0x749, 6, "gfx1250"},
    {0x6a, 6, "mach-0x6a"},
    // Version 3 has two states: a bare processor means off.
    {0x12f, 3, "gfx906:sramecc-:xnack+"},
    {0x2c, 3, "gfx900:xnack-"},
    {0x22f, 3, "gfx906:sramecc+:xnack-"},
    {0x36, 3, "gfx1030"},
};

TEST(ReadDevice, ElfFlags) {
  for (const FlagsCase &c : kFlags) {
    CodeObjectSpec spec;
    spec.flags = c.flags;
    spec.version = c.version;
    Result r = read(build_code_object(spec));
    ASSERT_EQ(r.code.loose.size(), 1u) << c.target;
    EXPECT_EQ(r.code.loose[0].target.text(), c.target);
    EXPECT_EQ(r.code.loose[0].object_version, c.version);
    EXPECT_TRUE(r.code.standalone);
  }
}

TEST(ReadDevice, VersionTwoNamesItsTargetInANote) {
  CodeObjectSpec spec;
  spec.flags = 0;
  spec.version = 2;
  spec.metadata = false;
  spec.kernels = {"a", "b", "c"};
  Result r = read(build_code_object(spec));
  ASSERT_EQ(r.code.loose.size(), 1u) << r.messages();
  EXPECT_EQ(r.code.loose[0].target.text(), "gfx803");
  EXPECT_EQ(r.code.loose[0].kernels.size(), 3u);
}

// ROCR-Runtime, libamdhsacode/amd_hsa_code.cpp: an odd stepping stands for xnack on.
TEST(ReadDevice, VersionTwoSteppings) {
  struct Row {
    uint32_t steps[3];
    const char *target;
  };
  for (const Row &row :
       {Row{{7, 0, 0}, "gfx700"}, Row{{8, 0, 0}, "gfx802"}, Row{{8, 0, 1}, "gfx801:xnack+"}, Row{{8, 0, 2}, "gfx802"},
        Row{{8, 0, 3}, "gfx803"}, Row{{8, 0, 4}, "gfx803"}, Row{{8, 1, 0}, "gfx810:xnack+"}, Row{{9, 0, 0}, "gfx900:xnack-"},
        Row{{9, 0, 1}, "gfx900:xnack+"}, Row{{9, 0, 2}, "gfx902:xnack-"}, Row{{9, 0, 3}, "gfx902:xnack+"},
        Row{{9, 0, 4}, "gfx904:xnack-"}, Row{{9, 0, 5}, "gfx904:xnack+"}, Row{{9, 0, 6}, "gfx906:sramecc-:xnack-"},
        Row{{9, 0, 7}, "gfx906:sramecc-:xnack+"}, Row{{9, 0, 12}, "gfx90c:xnack-"}}) {
    CodeObjectSpec spec;
    spec.version = 2;
    spec.metadata = false;
    spec.flags = 0x2f; // a machine number, of which the lowest bit was xnack once
    std::copy(std::begin(row.steps), std::end(row.steps), spec.steps);
    Result r = read(build_code_object(spec));
    ASSERT_EQ(r.code.loose.size(), 1u) << row.target << r.messages();
    EXPECT_EQ(r.code.loose[0].target.text(), row.target);
    EXPECT_EQ(r.code.loose[0].object_version, 2);
  }
}

// gfx125x has its settings fixed on: what compilers write for them is kept apart.
TEST(ReadDevice, FixedSettings) {
  for (auto [flags, fixed] :
       {std::pair{0x49u, false}, std::pair{0x549u, false}, std::pair{0x749u, true}, std::pair{0x35au, true}}) {
    Result r = read(object_for(flags, "gfx1250"));
    EXPECT_EQ(r.code.loose.at(0).target.text(), (flags & 0xff) == 0x49 ? "gfx1250" : "gfx1251") << flags;
    EXPECT_EQ(r.code.loose.at(0).fixed_xnack, fixed) << flags;
  }
  EXPECT_FALSE(read(object_for(0x74c, "gfx942:xnack+")).code.loose.at(0).fixed_xnack);
}

// Objects of the graphics stacks are not the HSA loader's.
TEST(ReadDevice, ObjectsOfOtherRuntimes) {
  std::string object = object_for(0x41, "gfx1100");
  object[7] = 65; // ELFOSABI_AMDGPU_PAL
  Result r = read(object);
  ASSERT_EQ(r.code.loose.size(), 1u);
  EXPECT_FALSE(r.code.loose[0].loadable);
}

TEST(ReadDevice, KernelDetailsOnRequest) {
  std::string object = object_for(0x54c, "gfx942", {"b", "a"});
  EXPECT_TRUE(read(object).code.loose.at(0).kernel_details.empty());
  DeviceLimits limits;
  limits.kernel_details = true;
  Result r = read(object, limits);
  const auto &details = r.code.loose.at(0).kernel_details;
  ASSERT_EQ(details.size(), 2u);
  EXPECT_EQ(r.code.loose_kernel_names.at(details[0].name), "b");
  for (const KernelDetails &d : details) {
    EXPECT_EQ(d.wavefront, 64u);
    EXPECT_EQ(d.vgprs, 24u);
    EXPECT_EQ(d.lds, 100u);
    EXPECT_EQ(d.sgprs, 0u);
  }
}

TEST(ReadDevice, ClaimsAreComparedWithFlags) {
  std::string object = object_for(0x54c, "gfx942");
  Result r = read(build_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", object},
                                {"hipv4-amdgcn-amd-amdhsa--gfx90a", object},
                                {"hip-amdgcn-amd-amdhsa-unknown--gfx942", object},
                                {"hip-amdgpu9.4-amd-amdhsa-unknown-gfx942", object}}));
  std::vector<bool> differs;
  for (const CodeObject &o : r.code.images.at(0).code_objects) differs.push_back(o.claim_differs);
  EXPECT_EQ(differs, (std::vector<bool>{false, true, false, false}));
}

TEST(ReadDevice, TheSinkGetsEveryObject) {
  std::string a = object_for(0x54c, "gfx942", {"one", "two"}), b = object_for(0x41, "gfx1100", {"three"});
  std::string bundle = build_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", a}, {"hipv4-amdgcn-amd-amdhsa--gfx1100", b}});
  DeviceLimits limits;
  std::vector<std::string> seen;
  limits.sink = [&](const CodeObject &object, const Origin &where, const Bytes &content,
                    const std::vector<std::string_view> &kernels) {
    EXPECT_TRUE(content.text() == a || content.text() == b);
    seen.push_back(where.place + " " + object.target.text() + " " + std::to_string(kernels.size()));
  };
  read(build_host(build_ccob(bundle, 2, 1), a), limits);
  std::ranges::sort(seen);
  EXPECT_EQ(seen, (std::vector<std::string>{".hip_fatbin+0x0 entry 1 gfx942 2", ".hip_fatbin+0x0 entry 2 gfx1100 1",
                                            ".rodata+0x0 gfx942 2"}));
}

TEST(ReadDevice, KernelsFromDescriptorsWithoutMetadata) {
  CodeObjectSpec spec;
  spec.metadata = false;
  spec.kernels = {"a", "b"};
  Result r = read(build_code_object(spec));
  ASSERT_EQ(r.code.loose.size(), 1u);
  EXPECT_EQ(r.code.loose[0].kernels.size(), 2u);
  std::vector<std::string> names = r.code.loose_kernel_names;
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
}

TEST(ReadDevice, WavefrontSizes) {
  for (auto [size, bits] : {std::pair{32u, 1}, std::pair{64u, 2}}) {
    CodeObjectSpec spec;
    spec.wavefront = size;
    EXPECT_EQ(read(build_code_object(spec)).code.loose[0].wavefront_sizes, bits);
  }
}

// A damaged piece is told with its place, and the others are there.
TEST(ReadDevice, DamageHidesNothingElse) {
  std::string unknown_version = build_ccob(one_target(), 3, 1), unknown_method = unknown_version, bad_hash = unknown_version;
  unknown_version[4] = 4;
  unknown_method[6] = 7;
  bad_hash[25] ^= 1;
  std::string lying = build_ccob(one_target(), 2, 1);
  lying.replace(12, 4, "\xf0\xff\xff\xff");
  std::string outside = two_targets();
  outside.replace(32 + 24 + 30, 8, std::string(8, '\xff')); // offset of the second entry
  struct Case {
    std::string bytes;
    const char *message;
    Level level;
    Targets targets;
  };
  Targets rest = {{"gfx90a", 1}, {"gfx942", 1}}, all = {{"gfx1100", 1}, {"gfx90a", 1}, {"gfx942", 1}};
  for (const Case &c : {Case{unknown_version, "unknown CCOB version 4", Level::error, rest},
                        Case{unknown_method, "unknown compression method 7", Level::error, rest},
                        Case{bad_hash, "MD5 mismatch", Level::warning, all},
                        Case{lying, "header claims 4294967280 uncompressed bytes", Level::warning, all},
                        Case{outside, "outside of the", Level::error, {{"gfx90a", 1}, {"gfx942", 2}}}}) {
    ByteWriter fatbin;
    fatbin.raw(c.bytes).align(4096).raw(two_targets());
    Result r = read(build_host(fatbin.bytes()));
    EXPECT_EQ(r.targets(), c.targets) << c.message << "\n" << r.messages();
    ASSERT_EQ(r.problems.size(), 1u) << c.message << "\n" << r.messages();
    EXPECT_NE(r.problems[0].message.find(c.message), std::string::npos) << r.messages();
    EXPECT_EQ(r.problems[0].level, c.level);
    EXPECT_TRUE(r.problems[0].origin.place.starts_with(".hip_fatbin+0x0")) << r.messages();
  }
}

TEST(ReadDevice, GapsAreTold) {
  ByteWriter fatbin;
  fatbin.raw(one_target()).align(4096).raw("leftover bytes").align(4096).raw(one_target());
  Result r = read(build_host(fatbin.bytes()));
  EXPECT_EQ(r.code.images.size(), 2u);
  ASSERT_EQ(r.problems.size(), 1u) << r.messages();
  EXPECT_EQ(r.problems[0].level, Level::warning);
}

TEST(ReadDevice, BombIsCapped) {
  DeviceLimits limits;
  limits.max_bundle = 1000;
  Result r = read(build_ccob(two_targets(), 3, 1), limits);
  EXPECT_TRUE(r.code.empty());
  EXPECT_NE(r.messages().find("beyond the limit"), std::string::npos);
}

// Whatever is cut off: never more facts than the whole file has, and never silence about what is lost.
TEST(ReadDevice, EveryTruncation) {
  for (const std::string &whole :
       {two_targets(1), build_ccob(two_targets(1), 3, 1), build_ccob(two_targets(1), 1, 0), object_for(0x54c, "gfx942")}) {
    Targets all = read(whole).targets();
    for (size_t size = 24; size < whole.size(); ++size) {
      std::string cut = whole.substr(0, size);
      if (!is_device_file(as_bytes(cut))) continue;
      Result r = read(cut);
      for (auto &[target, count] : r.targets()) EXPECT_LE(count, all[target]) << size;
      EXPECT_FALSE(r.problems.empty() && r.targets() != all) << size;
    }
  }
}

TEST(ReadDevice, SameForAnyOrderOfThreads) {
  ByteWriter fatbin;
  for (int i = 0; i < 20; ++i) fatbin.raw(i % 3 ? build_ccob(two_targets(), 2, 1) : one_target()).align(4096);
  std::string file = build_host(fatbin.bytes());
  auto reversed = [](size_t n, const std::function<void(size_t)> &body) {
    for (size_t i = n; i > 0; --i) body(i - 1);
  };
  auto elf = llvm::cantFail(Elf::read(as_bytes(file)));
  Problems problems;
  DeviceCode a = read_elf_device(elf, {}, {}, serial_for, problems), b = read_elf_device(elf, {}, {}, reversed, problems);
  ASSERT_EQ(a.images.size(), b.images.size());
  for (size_t i = 0; i < a.images.size(); ++i) {
    EXPECT_EQ(a.images[i].place, b.images[i].place);
    EXPECT_EQ(a.images[i].kernel_names, b.images[i].kernel_names);
  }
}

std::string file_text(const std::string &path) {
  std::ifstream in(std::string(ISA_AUDIT_TESTDATA) + "/device/" + path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

struct SampleCase {
  const char *file;
  size_t images, loose;
  Targets targets;
  const char *message; // a part of one, or empty for a clean file
};

TEST(ReadDevice, Samples) {
  const SampleCase kSamples[] = {
      {"ok/ab.so", 2, 0, {{"gfx11-generic", 2}, {"gfx90a:xnack+", 2}, {"gfx90a:xnack-", 2}, {"gfx942", 2}}, ""},
      {"ok/abc.so", 2, 0, {{"gfx90a", 2}, {"gfx942", 2}}, ""},
      {"ok/mix1.so",
       2,
       0,
       {{"gfx11-generic", 1}, {"gfx90a", 1}, {"gfx90a:xnack+", 1}, {"gfx90a:xnack-", 1}, {"gfx942", 2}},
       ""},
      {"ok/mix2.so",
       2,
       0,
       {{"gfx11-generic", 1}, {"gfx90a", 1}, {"gfx90a:xnack+", 1}, {"gfx90a:xnack-", 1}, {"gfx942", 2}},
       ""},
      {"ok/ob.bin", 0, 2, {{"gfx90a", 1}, {"gfx942", 1}}, ""},
      {"ok/ar.o", 0, 2, {{"gfx90a", 1}, {"gfx942", 1}}, ""},
      {"ok/anr.o", 0, 2, {{"gfx90a", 1}, {"gfx942", 1}}, ""},
      {"ok/k_gfx1250.o", 0, 1, {{"gfx1250", 1}}, ""},
      {"hostile/rc.hipfb", 0, 0, {}, "holds no code object that can be recognised"},
      {"hostile/x_badhash.fb", 1, 0, {{"gfx90a", 1}}, "MD5 mismatch"},
      {"hostile/x_bomb.fb", 1, 0, {{"gfx90a", 1}}, "header claims 4294967280"},
      {"hostile/x_hugeN.fb",
       1,
       0,
       {{"gfx11-generic", 1}, {"gfx90a:xnack+", 1}, {"gfx90a:xnack-", 1}, {"gfx942", 1}},
       "claims 68719476736 entries"},
      {"hostile/x_meth.fb", 0, 0, {}, "unknown compression method 7"},
      {"hostile/x_off.fb", 1, 0, {{"gfx90a:xnack+", 1}, {"gfx90a:xnack-", 1}, {"gfx942", 1}}, "outside of the 36864 bytes"},
      {"hostile/x_pad.fb", 1, 0, {{"gfx90a", 1}}, "4096 zero bytes before"},
      {"hostile/x_plainpad.fb", 1, 0, {{"gfx11-generic", 1}, {"gfx90a:xnack+", 1}, {"gfx90a:xnack-", 1}, {"gfx942", 1}}, ""},
      {"hostile/x_short.fb", 0, 0, {}, "cut off inside its header (5 bytes)"},
      {"hostile/x_tailpad.fb", 1, 0, {{"gfx90a", 1}}, ""},
      {"hostile/x_trunc.fb", 0, 0, {}, "claims 902 bytes, 30 are there"},
      {"hostile/x_v1.fb", 1, 0, {{"gfx90a", 1}}, ""},
      {"hostile/x_v4.fb", 0, 0, {}, "unknown CCOB version 4"},
  };
  for (const SampleCase &c : kSamples) {
    Result r = read(file_text(c.file));
    EXPECT_EQ(r.code.images.size(), c.images) << c.file;
    EXPECT_EQ(r.code.loose.size(), c.loose) << c.file;
    EXPECT_EQ(r.targets(), c.targets) << c.file;
    if (*c.message)
      EXPECT_NE(r.messages().find(c.message), std::string::npos) << c.file << "\n" << r.messages();
    else
      EXPECT_EQ(r.messages(), "") << c.file;
  }
}

} // namespace
