#include "isa-audit/device/target_id.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "isa-audit/device/processors.h"
#include "support/device_builder.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace isa_audit;

namespace {

struct IdCase {
  const char *id, *kind, *triple, *target;
};

// One line a spelling that producers write (formats: ClangOffloadBundler; HIP, HCC and OpenMP of all ages).
constexpr IdCase kIds[] = {
    {"host-x86_64-unknown-linux-gnu-", "host", "x86_64-unknown-linux-gnu-", ""},
    {"host-x86_64-unknown-linux", "host", "x86_64-unknown-linux", ""},
    {"host-x86_64-unknown-linux--", "host", "x86_64-unknown-linux--", ""},
    {"host-x86_64-pc-windows-msvc", "host", "x86_64-pc-windows-msvc", ""},
    {"hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "hipv4", "amdgcn-amd-amdhsa", "gfx90a:sramecc+:xnack-"},
    {"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", "hipv4", "amdgcn-amd-amdhsa", "gfx90a:xnack-"},
    {"hip-amdgcn-amd-amdhsa--gfx942", "hip", "amdgcn-amd-amdhsa", "gfx942"},
    {"hip-amdgcn-amd-amdhsa-gfx906", "hip", "amdgcn-amd-amdhsa", "gfx906"},
    {"hip-amdgcn-amd-amdhsa--gfx900+xnack", "hip", "amdgcn-amd-amdhsa", "gfx900:xnack+"},
    {"hip-amdgcn-amd-amdhsa--gfx906+sram-ecc-xnack", "hip", "amdgcn-amd-amdhsa", "gfx906:sramecc+:xnack-"},
    {"hip-amdgcn-amd-amdhsa--gfx906-sram-ecc+xnack", "hip", "amdgcn-amd-amdhsa", "gfx906:sramecc-:xnack+"},
    {"hcc-amdgcn-amd-amdhsa--gfx803", "hcc", "amdgcn-amd-amdhsa", "gfx803"},
    {"openmp-amdgcn-amd-amdhsa--gfx90a", "openmp", "amdgcn-amd-amdhsa", "gfx90a"},
    {"openmp-nvptx64-nvidia-cuda-sm_80", "openmp", "nvptx64-nvidia-cuda", "sm_80"},
    {"hip-spirv64-amd-amdhsa--amdgcnspirv", "hip", "spirv64-amd-amdhsa", "amdgcnspirv"},
    {"hip-spirv64-amd-amdhsa-unknown-amdgcnspirv", "hip", "spirv64-amd-amdhsa", "amdgcnspirv"},
    {"hipv4-amdgcn-amd-amdhsa--gfx11-generic", "hipv4", "amdgcn-amd-amdhsa", "gfx11-generic"},
    {"hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:sramecc+:xnack-", "hipv4", "amdgcn-amd-amdhsa", "gfx9-4-generic:sramecc+:xnack-"},
    {"hip-amdgcn-amd-amdhsa-unknown-gfx1100", "hip", "amdgcn-amd-amdhsa", "gfx1100"},
    {"hipv4-amdgcn-amd-amdhsa-unknown--gfx942", "hipv4", "amdgcn-amd-amdhsa", "gfx942"},
    {"hip-amdgcn-amd-amdhsa-amdgiz-gfx90a:xnack-", "hip", "amdgcn-amd-amdhsa", "gfx90a:xnack-"},
    {"hip-amdgpu10.3-amd-amdhsa-unknown-gfx10-3-generic", "hip", "amdgpu10.3-amd-amdhsa", "gfx10-3-generic"},
};

TEST(EntryId, AllSpellings) {
  for (const IdCase &c : kIds) {
    auto id = parse_entry_id(c.id);
    ASSERT_TRUE(bool(id)) << c.id << ": " << llvm::toString(id.takeError());
    EXPECT_EQ(id->kind, c.kind) << c.id;
    EXPECT_EQ(id->triple, c.triple) << c.id;
    EXPECT_EQ(id->target ? id->target->text() : "", c.target) << c.id;
  }
}

TEST(EntryId, Refused) {
  for (const char *id :
       {"", "host", "gfx942", "hip-", "hip-x86_64-linux", "cuda-amdgcn-amd-amdhsa--gfx90a", "hip-amdgcn-amd-amdhsa--gfx\x01"}) {
    auto parsed = parse_entry_id(id);
    EXPECT_FALSE(bool(parsed)) << id;
    if (!parsed) llvm::consumeError(parsed.takeError());
  }
}

TEST(TargetId, RoundTrip) {
  for (const char *text : {"gfx942", "gfx90a:xnack-", "gfx90a:sramecc+:xnack-", "gfx906:sramecc-", "gfx11-generic",
                           "gfx9-4-generic:xnack+", "gfx1030", "amdgcnspirv"}) {
    auto id = parse_target_id(text);
    ASSERT_TRUE(bool(id)) << text;
    EXPECT_EQ(id->text(), text);
  }
  auto any_order = parse_target_id("gfx90a:xnack-:sramecc+");
  ASSERT_TRUE(bool(any_order));
  EXPECT_EQ(any_order->text(), "gfx90a:sramecc+:xnack-");
}

TEST(TargetId, Errors) {
  auto message = [](const char *text) {
    auto id = parse_target_id(text);
    return id ? std::string("accepted") : llvm::toString(id.takeError());
  };
  EXPECT_NE(message("gfx943").find("did you mean gfx942"), std::string::npos) << message("gfx943");
  EXPECT_NE(message("gfx94").find("did you mean gfx942"), std::string::npos) << message("gfx94");
  EXPECT_NE(message("gfx90").find("did you mean gfx90a"), std::string::npos) << message("gfx90");
  EXPECT_NE(message("gfx110").find("did you mean gfx1100"), std::string::npos) << message("gfx110");
  EXPECT_NE(message("gxf942").find("did you mean gfx942"), std::string::npos);
  EXPECT_NE(message("gfx1030:xnack+").find("has no xnack"), std::string::npos);
  EXPECT_NE(message("gfx1100:sramecc+").find("has no sramecc"), std::string::npos);
  EXPECT_NE(message("gfx90a:xnack+:xnack-").find("twice"), std::string::npos);
  EXPECT_NE(message("gfx90a:xnack").find("no feature"), std::string::npos);
  EXPECT_NE(message("sm_80").find("not a known"), std::string::npos);
}

// Machine numbers that LLVM 22 does not know; it aborts when asked for one.
bool unknown_to_llvm(unsigned mach) {
  constexpr unsigned kUnknown[] = {0x40, 0x4b, 0x50, 0x57, 0x5b, 0x5c, 0x5d, 0x5e, 0x62, 0x63, 0xeb};
  return std::ranges::find(kUnknown, mach) != std::end(kUnknown);
}

TEST(Processors, AgreeWithLLVM) {
  unsigned agreed = 0;
  for (const Processor &p : processors()) {
    if (unknown_to_llvm(p.mach)) continue;
    test::ElfSpec spec;
    spec.os_abi = 64;
    spec.abi_version = 4;
    spec.machine = 224;
    spec.flags = p.mach;
    std::string bytes = test::build_elf(spec);
    auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "object"));
    ASSERT_TRUE(bool(object));
    EXPECT_EQ(p.name, (*object)->tryGetCPUName().value_or("").str());
    ++agreed;
  }
  EXPECT_GE(agreed, 50u);
}

TEST(Processors, GenericsExistAndCoverOnlyNatives) {
  for (const Processor &p : processors()) {
    EXPECT_EQ(find_processor(p.name), &p);
    EXPECT_EQ(find_processor_by_mach(p.mach), &p);
    if (p.generic.empty()) continue;
    const Processor *generic = find_processor(p.generic);
    ASSERT_NE(generic, nullptr) << p.generic;
    EXPECT_TRUE(generic->is_generic);
    EXPECT_FALSE(p.is_generic);
  }
}

} // namespace
