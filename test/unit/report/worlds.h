// The reports that goldens and the schema test share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isa-audit/report/report.h"
#include "unit/verdict/world.h"

namespace isa_audit::test {

struct Scene {
  std::string name; // of the golden files
  World world;
  std::vector<Machine> machines;
  Policy policy;
  TextStyle style;

  Report report() const {
    Report out;
    out.version = "0.1.0";
    out.llvm_version = "22.1.8";
    out.machines = machines;
    out.inventory = &world.inventory;
    out.policy = policy;
    out.judgement = judge(world.inventory, machines, policy);
    return out;
  }
};

inline TextStyle terminal() {
  TextStyle out;
  out.width = 80;
  out.seconds = 4.2;
  return out;
}

inline Machine workstation() {
  Machine out = gpus({"gfx1100", "gfx1100"});
  out.how = How::detected;
  out.cpu = make_cpu("znver3", level_set(3));
  out.gpus[0].name = out.gpus[1].name = "Radeon RX 7900 XTX";
  out.rocm = {"7.0.2"};
  out.driver = "6.14.0";
  return out;
}

inline Scene torch() {
  Scene out{"torch", World("lib/site-packages", "directory"), {workstation()}, {}, terminal()};
  out.world.distribution("torch", "2.9.0+rocm6.4");
  for (int i = 0; i < 8; ++i)
    out.world.device_file("torch/lib/lib" + std::to_string(i) + ".so", {image({"gfx90a", "gfx942", "gfx1100"})}, "torch");
  out.world.device_file("torch/lib/libaotriton_v2.so", {image({"gfx90a", "gfx942"})}, "torch");
  out.world.code_object("torch/lib/rocblas/library/K_gfx90a.co", "gfx90a", "torch");
  out.world.code_object("torch/lib/rocblas/library/K_gfx1100.co", "gfx1100", "torch");
  for (const char *target : {"gfx1100", "gfx90a"})
    out.world.side_file("torch/lib/rocblas/library/TensileLibrary_lazy_" + std::string(target) + ".dat", "torch");
  for (int i = 0; i < 10; ++i)
    out.world.host_file("torch/lib/x" + std::to_string(i) + ".so",
                        host(i % 3 ? IsaSet{Feature::sse4_2} : IsaSet{Feature::avx2, Feature::avx512f, Feature::amx_tile}),
                        "torch");
  return out;
}

inline std::vector<DeviceImage> holed_images() {
  std::vector<DeviceImage> images(237, image({"gfx90a", "gfx942"}, {"common"}));
  images[3] = image({"gfx942"}, {"_ZN5petit4gemmIiEEvPT_", "common", "second"});
  images[7] = image({"gfx942"}, {"third", "fourth", "fifth"});
  return images;
}

inline Scene partial() {
  Scene out{"partial",
            World("petit_kernel-0.0.5-cp312-manylinux_x86_64.whl", "wheel"),
            {gpus({"gfx90a:sramecc+:xnack-"})},
            {},
            terminal()};
  out.world.distribution("petit-kernel", "0.0.5").inventory.distributions[0].requires_dist = {"torch>=2.5"};
  out.world.device_file("petit_kernel/lib.abi3.so", holed_images(), "petit-kernel");
  out.world.inventory.binaries[0].host = host({Feature::avx, Feature::avx2});
  return out;
}

inline Scene gate() {
  Scene out{"gate", World("dist/kern-1.2-cp312-linux_x86_64.whl", "wheel"), {}, require({"gfx942"}), {}};
  out.policy.max_cpu = make_cpu("x86-64-v3", level_set(3));
  out.world.distribution("kern").device_file("kern/_C.so", {image({"gfx90a", "gfx1100"})}, "kern");
  out.world.inventory.binaries[0].host = host({Feature::avx512f});
  out.world.input("dist/kern_cpu-1.2-cp312-linux_x86_64.whl", "wheel")
      .distribution("kern_cpu")
      .host_file("kern/_C.so", host({}), "kern_cpu");
  out.world.input("dist/fine-1.2-cp312-linux_x86_64.whl", "wheel").device_file("fine/_C.so", {image({"gfx942"})});
  return out;
}

inline Scene no_gpu() {
  Scene out{"no_gpu", World("numpy", "directory"), {cpu("haswell", level_set(3))}, {}, terminal()};
  out.machines[0].judge_gpus = true;
  out.machines[0].how = How::detected;
  out.world.distribution("numpy", "2.1.0");
  HostCode code = host({Feature::avx2, Feature::avx512f});
  code.evidence[0] = {Feature::avx2,
                      Strength::unguarded,
                      Grade::possible,
                      0x3ef7d,
                      "npyv_dot(float const*, long)",
                      "c4e27d58c0",
                      "vpbroadcastd ymm0, xmm0",
                      {},
                      ""};
  out.world.host_file("numpy/_core/_multiarray_umath.cpython-312-x86_64-linux-gnu.so", code, "numpy");
  return out;
}

// Everything at once: hidden and overridden GPUs, NVIDIA code, damage, hostile names, evidence with paths.
inline Scene everything() {
  Scene out{
      "everything", World("in\xff/put", "directory"), {workstation(), gpus({"gfx1036", "gfx1100"})}, require({"gfx1100"}), {}};
  out.style.verbose = out.style.all = out.style.kernels = true;
  Machine &machine = out.machines[0];
  machine.gpus[0].effective = target("gfx1101");
  machine.gpus[1].visible = false;
  machine.gpus[1].notes = {"hidden by ROCR_VISIBLE_DEVICES"};
  machine.gpus[0].assumed = {"xnack", "sramecc"};
  machine.overrides = {{"HSA_OVERRIDE_GFX_VERSION", "11.0.1"}};
  machine.cpu->hypervisor = "KVM";
  machine.notes = {"2 GPUs found in /sys/class/kfd"};
  World &world = out.world;
  world.distribution("evil\x1b[2J", "1\n2").distribution("plain");
  world.device_file("evil\x1b[31m.so",
                    {image({"gfx1100", "gfx11-generic", "amdgcnspirv"}, {"k\x07rnel\xfe"}), image({"gfx11-generic"})},
                    "evil\x1b[2J");
  DeviceCode &device = *world.inventory.binaries[0].device;
  device.loose = {object("gfx90a:xnack+")};
  device.loose[0].claimed = "hipv4-amdgcn-amd-amdhsa--gfx942";
  device.loose_kernel_names = {"loose"};
  device.images[0].code_objects[0].wavefront_sizes = 3;
  Binary &cuda = world.file("plain/cuda.so", "plain");
  cuda.device = DeviceCode();
  cuda.device->loose = {CodeObject()};
  cuda.device->loose[0].target = {"sm_80", Setting::unsupported, Setting::unsupported, TargetKind::native, Vendor::nvidia};
  cuda.device->loose[0].carrier = Carrier::nv_fatbin;
  Binary &internal = world.file("plain/libhsa-runtime64.so.1", "plain");
  internal.device = standalone("gfx90a");
  internal.device->runtime_internal = true;
  HostCode code = host({Feature::avx});
  code.guards_analysed = true;
  code.needed_level = 3;
  code.used_level = 4;
  code.at_load = {Feature::avx2};
  code.at_import = {Feature::avx512f};
  code.at_call = {{"plain.dot", {Feature::fma}}};
  code.guarded = {Feature::amx_tile};
  code.silently_different = {Feature::lzcnt};
  code.used |= code.at_load | code.at_import | code.guarded;
  code.evidence.push_back({Feature::avx512f,
                           Strength::import,
                           Grade::certain,
                           0x10,
                           "",
                           "62f1",
                           "vaddps zmm0, zmm0, zmm1",
                           {"PyInit_plain", "init"},
                           ""});
  code.evidence.push_back(
      {Feature::amx_tile, Strength::guarded, Grade::likely, 0x20, "amx", "c4e2", "tilezero tmm0", {}, "cpuid 7.0 edx bit 24"});
  world.host_file("plain/_C.so", code, "plain");
  world.problem(Level::error, "plain/bad.so", "is cut short").problem(Level::warning, "plain/gap.so", "has a gap\x1b");
  world.inventory.problems[0].origin.place = ".hip_fatbin+0x1000";
  world.inventory.inputs[0].sha256 = std::string(64, 'a');
  return out;
}

inline std::vector<Scene> scenes() { return {torch(), partial(), gate(), no_gpu(), everything()}; }

} // namespace isa_audit::test
