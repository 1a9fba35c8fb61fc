// Device code that lies in files beside the libraries: wheels and folders, through the whole pipeline.
#include <gtest/gtest.h>

#include <algorithm>

#include "isa-audit/scan/scan.h"
#include "isa-audit/verdict/external_code.h"
#include "support/device_builder.h"
#include "unit/container/zip_writer.h"
#include "unit/source/temp_folder.h"

using namespace isa_audit;
using namespace isa_audit::test;

namespace {

Inventory scan_paths(std::vector<std::string> paths) {
  ScanOptions options;
  options.paths = std::move(paths);
  options.jobs = 2;
  return scan(options);
}

const Binary *find(const Inventory &inventory, std::string_view path) {
  for (const Binary &binary : inventory.binaries)
    if (binary.origin.path == path) return &binary;
  return nullptr;
}

std::string all_problems(const Inventory &inventory) {
  std::string out;
  for (const Problem &p : inventory.problems) out += p.origin.text() + ": " + p.message + "\n";
  return out;
}

// The newer layout of AOTriton: a zip file of .aks2 members.
TEST(DeviceSets, KernelArchivesInsideAZipFile) {
  TempFolder folder;
  std::string kernels = build_aks2({{"attn_fwd", build_code_object({})}});
  folder.write("lib/aotriton.images/amd-gfx942/flash/attn_fwd.zip", make_zip({{.name = "a.aks2", .content = kernels}}));
  folder.write("lib/aotriton.images/amd-gfx942/flash/b.aks2", kernels);
  Inventory inventory = scan_paths({folder.path()});
  EXPECT_EQ(all_problems(inventory), "");
  for (const char *path :
       {"lib/aotriton.images/amd-gfx942/flash/attn_fwd.zip!a.aks2", "lib/aotriton.images/amd-gfx942/flash/b.aks2"}) {
    const Binary *binary = find(inventory, path);
    ASSERT_TRUE(binary) << path;
    EXPECT_EQ(binary->format, "aks2");
    EXPECT_EQ(binary->device->loose.at(0).target.text(), "gfx942");
  }
}

TEST(DeviceSets, ABaseWheelAndItsDeviceWheel) {
  TempFolder folder;
  std::string reference = build_kpack_reference("torch/lib/liba.so", {"../.kpack/torch_@GFXARCH@.kpack"});
  std::string base =
      folder.write("torch-2.whl", make_zip({{.name = "torch/lib/liba.so", .content = build_split_host(reference, {0})}}));
  std::string archive = build_kpack({{"torch/lib/liba.so#0", "gfx942", build_code_object({})}}, true);
  std::string device =
      folder.write("device-2.whl", make_zip({{.name = "torch/.kpack/torch_gfx942.kpack", .content = archive}}));
  Inventory inventory = scan_paths({base, device});
  EXPECT_EQ(all_problems(inventory), "");
  const Binary *library = find(inventory, "torch/lib/liba.so");
  ASSERT_TRUE(library && library->device && library->device->external);
  EXPECT_EQ(ExternalIndex(inventory).found_targets(*library, "../.kpack/torch_@GFXARCH@.kpack"),
            std::vector<std::string>{"gfx942"});
  Inventory alone = scan_paths({base});
  EXPECT_FALSE(ExternalIndex(alone).has_archives());
}

TEST(DeviceSets, BundlesWithTheNamesOfCodeObjects) {
  TempFolder folder;
  std::string bundle = build_bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", build_code_object({})}});
  folder.write("a.hsaco", bundle);
  folder.write("b.co", build_ccob(bundle, 3, 1));
  Inventory inventory = scan_paths({folder.path()});
  EXPECT_EQ(all_problems(inventory), "");
  for (const char *path : {"a.hsaco", "b.co"}) {
    const Binary *binary = find(inventory, path);
    ASSERT_TRUE(binary) << path;
    EXPECT_EQ(binary->format, "offload-bundle");
    EXPECT_EQ(binary->device->images.size(), 1u);
  }
}

TEST(DeviceSets, ObjectsOfStaticLibrariesCountForTheirDeviceCode) {
  ElfSpec plain, device;
  plain.type = device.type = 1;
  plain.sections.push_back({".text", 1, 6, std::string(16, '\x90'), 16});
  device.sections.push_back({"__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx942", 1, 0x80000000, "BC\xc0\xde", 8});
  auto member = [](std::string name, const std::string &content) {
    name.resize(48, ' ');
    std::string size = std::to_string(content.size());
    size.resize(10, ' ');
    std::string out = name;
    out += size;
    out += "`\n";
    out += content;
    return out;
  };
  TempFolder folder;
  std::string archive = "!<arch>\n";
  archive += member("plain.o/", build_elf(plain));
  archive += member("device.o/", build_elf(device));
  folder.write("lib.a", archive);
  Inventory inventory = scan_paths({folder.path()});
  EXPECT_EQ(all_problems(inventory), "");
  ASSERT_EQ(inventory.binaries.size(), 1u);
  EXPECT_EQ(inventory.binaries[0].origin.path, "lib.a!device.o");
  EXPECT_FALSE(inventory.binaries[0].device->loose.at(0).loadable);
}

} // namespace
