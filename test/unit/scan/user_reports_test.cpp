// What users reported, each kind small: made-up trees through the whole pipeline, and what the report must say. The numbers are
// those of the collection of reports the kinds were taken from.
#include <gtest/gtest.h>

#include <algorithm>

#include "isa-audit/device/processors.h"
#include "isa-audit/machine/detect.h"
#include "isa-audit/report/report.h"
#include "isa-audit/scan/scan.h"
#include "support/device_builder.h"
#include "unit/container/zip_writer.h"
#include "unit/host/assemble.h"
#include "unit/machine/tree.h"
#include "unit/source/temp_folder.h"

using namespace isa_audit;
using namespace isa_audit::test;

namespace {

using Targets = std::vector<std::string>;

std::string code_object(const std::string &target) {
  TargetId id = llvm::cantFail(parse_target_id(target));
  const Processor *processor = find_processor(id.processor);
  auto bits = [](Setting s) { return s == Setting::any ? 1u : s == Setting::off ? 2u : s == Setting::on ? 3u : 0u; };
  CodeObjectSpec spec;
  spec.flags = processor->mach | bits(id.xnack) << 8 | bits(id.sramecc) << 10;
  spec.version = 5;
  spec.target = "amdgcn-amd-amdhsa--" + target;
  spec.wavefront = processor->wavefront;
  return build_code_object(spec);
}

std::string bundle(const Targets &targets) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const std::string &target : targets) entries.emplace_back("hipv4-amdgcn-amd-amdhsa--" + target, code_object(target));
  return build_bundle(entries);
}

std::string library(const Targets &targets) { return build_host(bundle(targets)); }

// A folder of site-packages, a ROCm tree, a release's folder.
class Place : public TempFolder {
public:
  void install(const std::string &name, const std::string &version, const std::map<std::string, std::string> &files,
               const std::string &more_metadata = "") const {
    std::string record, info = name + "-" + version + ".dist-info/";
    for (const auto &[file, content] : files) {
      write(file, content);
      record += file + ",,\n";
    }
    write(info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n" + more_metadata);
    write(info + "RECORD", record + info + "METADATA,,\n" + info + "RECORD,,\n");
  }

  // rocBLAS' or hipBLASLt's folder with what each processor needs.
  void kernels(const std::string &folder, const Targets &targets) const {
    for (const std::string &target : targets) {
      write(folder + "/TensileLibrary_lazy_" + target + ".dat", "\x90");
      write(folder + "/Kernels.so-000-" + target + ".hsaco", code_object(target));
    }
  }
};

struct Result {
  std::string text, json;
  Judgement judgement;
  std::string problems;
};

Result audit(const std::vector<std::string> &paths, const std::vector<Machine> &machines, const Policy &policy = {}) {
  ScanOptions options;
  options.paths = paths;
  options.jobs = 1;
  Inventory inventory = scan(options);
  Report report;
  report.version = "0.1.0";
  report.machines = machines;
  report.inventory = &inventory;
  report.policy = policy;
  report.judgement = judge(inventory, machines, policy);
  TextStyle style;
  style.verbose = true;
  Result out{write_text(report, style), write_json(report), report.judgement, ""};
  for (const Problem &problem : inventory.problems) out.problems += problem.origin.text() + ": " + problem.message + "\n";
  return out;
}

Machine gpu(const std::string &list) { return llvm::cantFail(make_machine({list, "none", ""}, {})); }

// A machine whose KFD shows GPUs with the property files of real ones.
Machine kfd(const std::vector<std::string> &names, const Environment &environment = {}, bool devices = true) {
  Tree tree;
  tree.node(0, "0\n", read_testdata("kfd/cpu_node.properties"));
  for (size_t i = 0; i < names.size(); ++i) {
    std::string properties = read_testdata("kfd/" + names[i] + ".properties");
    tree.node(static_cast<unsigned>(i + 1), std::to_string(100 + i) + "\n", properties);
    size_t at = properties.find("drm_render_minor ");
    if (devices && at != std::string::npos) tree.devices({static_cast<unsigned>(std::stoul(properties.substr(at + 17)))});
    if (!devices) tree.write("dev/null", "");
  }
  return llvm::cantFail(make_machine({"auto", "none", tree.folder()}, environment));
}

Policy require(const std::string &list) {
  Policy out;
  out.required = llvm::cantFail(parse_target_list(list));
  return out;
}

size_t count(const Judgement &judgement, std::string_view rule, Level level) {
  return static_cast<size_t>(
      std::ranges::count_if(judgement.findings, [&](const Finding &f) { return f.rule == rule && f.level == level; }));
}

testing::AssertionResult says(const Result &result, const std::string &words) {
  if (result.text.find(words) != std::string::npos) return testing::AssertionSuccess() << result.text;
  return testing::AssertionFailure() << "nothing of \"" << words << "\" in\n" << result.text << result.problems;
}

const Targets kOldWheel = {"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100"};

TEST(UserReports, R1_R2_StrixHaloWithAWheelForItsNeighbours) {
  Place place;
  place.install("torch", "2.10.0+rocm7.0", {{"torch/lib/libtorch_hip.so", build_host(bundle(kOldWheel) + bundle(kOldWheel))}});
  Result result = audit({place.path()}, {kfd({"radeon8060s_gfx1151_DERIVED"})});
  EXPECT_EQ(result.judgement.verdict, Verdict::not_served);
  EXPECT_EQ(count(result.judgement, "gpu-target-missing", Level::error), 1u);
  EXPECT_TRUE(says(result, "no code for gfx1151"));
  EXPECT_TRUE(says(result, "nearest is gfx1100, another ISA (11.0, not 11.5)"));
  EXPECT_TRUE(says(result, "PYTORCH_ROCM_ARCH='gfx1151'"));
  EXPECT_TRUE(says(result, "-/2"));
}

TEST(UserReports, R3_ASmallerGpuOfTheGeneration) {
  Place place;
  place.install("torch", "2.6.0+rocm6.2", {{"torch/lib/libtorch_hip.so", library(kOldWheel)}});
  Result result = audit({place.path()}, {gpu("gfx1102")});
  EXPECT_TRUE(says(result, "no code for gfx1102"));
  EXPECT_TRUE(says(result, "gfx11-generic covers gfx1102 too"));
}

TEST(UserReports, R4_AnOverrideWithinTheFamily) {
  Place place;
  place.install("torch", "2.1.0+rocm5.7", {{"torch/lib/libtorch_hip.so", library(kOldWheel)}});
  Result result = audit({place.path()}, {kfd({"rx6700xt_gfx1031_DERIVED"})});
  EXPECT_TRUE(says(result, "no code for gfx1031"));
  EXPECT_TRUE(says(result, "nearest is gfx1030, of the same family (10.3)"));
  EXPECT_TRUE(
      says(result, "HSA_OVERRIDE_GFX_VERSION=10.3.0 makes it pose as gfx1030, which is of the same family, but unsupported"));
}

TEST(UserReports, R5_TheSideCarHasWhatTheLibraryLacks) {
  Place place;
  place.install("torch", "2.5.1+rocm6.2", {{"torch/lib/libtorch_hip.so", library(kOldWheel)}});
  place.kernels("torch/lib/rocblas/library", {"gfx1010", "gfx1030"});
  Result result = audit({place.path()}, {gpu("gfx1010")});
  EXPECT_TRUE(says(result, "gpu-target-missing"));
  EXPECT_TRUE(says(result, "the kernels of rocBLAS beside it (torch/lib/rocblas/library) do have gfx1010"));
  EXPECT_FALSE(says(result, "sidecar-missing"));
}

TEST(UserReports, R6_TheLibraryHasWhatTheSideCarLacks) {
  Place place;
  place.write("libggml-hip.so", library({"gfx1103"}));
  place.kernels("rocblas/library", {"gfx900", "gfx908", "gfx90a", "gfx1030", "gfx1100", "gfx1101", "gfx1102"});
  Result result = audit({place.path()}, {kfd({"radeon780m_gfx1103_DERIVED"})});
  EXPECT_EQ(result.judgement.verdict, Verdict::partly_served);
  EXPECT_EQ(count(result.judgement, "sidecar-missing", Level::error), 1u);
  EXPECT_EQ(count(result.judgement, "gpu-target-missing", Level::error), 0u);
  EXPECT_TRUE(says(result, "rocblas/library has nothing for gfx1103"));
  EXPECT_TRUE(says(result, "although 1 other file has code for gfx1103"));
  EXPECT_TRUE(says(result, "gfx900 gfx908 gfx90a gfx1030 gfx1100 gfx1101 gfx1102"));
}

TEST(UserReports, R7_R8_TheFileThatIsExpectedAndThoseThatAreThere) {
  Place place;
  place.kernels("lib/rocblas/library", {"gfx1030", "gfx1100"});
  for (const char *missing : {"gfx1201", "gfx1031", "gfx1101"}) {
    Result result = audit({place.path()}, {gpu(missing)});
    EXPECT_TRUE(says(result, "TensileLibrary_lazy_" + std::string(missing) + ".dat"));
    EXPECT_TRUE(says(result, "rocBLAS error: Cannot read TensileLibrary.dat"));
    EXPECT_TRUE(says(result, "gfx1030 gfx1100"));
    EXPECT_EQ(result.judgement.exit_code, 1);
  }
  // The folder itself, as its path stands in the message.
  EXPECT_TRUE(says(audit({place / "lib/rocblas/library"}, {gpu("gfx1201")}), "TensileLibrary_lazy_gfx1201.dat"));
}

std::string split_library() {
  return build_split_host(build_kpack_reference("torch/lib/libtorch_hip.so", {"../.kpack/torch_@GFXARCH@.kpack"}), {0});
}
constexpr const char *kExtras = "Requires-Dist: amd-torch-device-gfx1151; extra == 'device-gfx1151'\n"
                                "Requires-Dist: amd-torch-device-gfx942==2.11.0; extra == 'device-gfx942'\n"
                                "Requires-Dist: amd-torch-device-gfx11==2.11.0; extra == 'device-gfx11xx'\n";

TEST(UserReports, R10_ASplitWheelWithoutItsDevicePackage) {
  Place place;
  place.install("torch", "2.11.0+rocm7.14", {{"torch/lib/libtorch_hip.so", split_library()}}, kExtras);
  Result result = audit({place.path()}, {gpu("gfx1151")});
  EXPECT_EQ(count(result.judgement, "gpu-code-external", Level::error), 1u);
  EXPECT_TRUE(says(result, "torch/.kpack/torch_gfx1151.kpack"));
  EXPECT_TRUE(says(result, "pip install \"torch[device-gfx1151]\""));
  EXPECT_TRUE(says(result, "amd-torch-device-gfx1151"));
}

TEST(UserReports, R12_R13_AFolderOfWheelsThatLacksADeviceWheel) {
  Place place;
  auto wheel = [&](const std::string &name, const std::string &file, const std::string &content, const std::string &extras) {
    std::string info = name + "-2.11.0.dist-info/";
    return place.write(name + "-2.11.0-py3-none-linux_x86_64.whl",
                       make_zip({{.name = file, .content = content},
                                 {.name = info + "METADATA",
                                  .content = "Metadata-Version: 2.1\nName: " + name + "\nVersion: 2.11.0\n" + extras},
                                 {.name = info + "RECORD", .content = file + ",,\n"}}));
  };
  std::string base = wheel("torch", "torch/lib/libtorch_hip.so", split_library(), kExtras);
  std::string archive = build_kpack({{"torch/lib/libtorch_hip.so#0", "gfx942", code_object("gfx942")}}, true);
  std::string device = wheel("amd_torch_device_gfx942", "torch/.kpack/torch_gfx942.kpack", archive, "");
  EXPECT_EQ(audit({base, device}, {}, require("gfx942")).judgement.exit_code, 0);
  Result result = audit({base, device}, {}, require("gfx942,gfx1101"));
  EXPECT_EQ(result.judgement.exit_code, 1);
  EXPECT_TRUE(says(result, "amd-torch-device-gfx11"));
  EXPECT_TRUE(says(result, "not among the inputs"));
}

TEST(UserReports, R15_AnIntegratedGpuBeforeTheOther) {
  Place place;
  place.write("libtorch_hip.so", library({"gfx1030", "gfx1032"}));
  Result result = audit({place.path()}, {gpu("gfx902,gfx1032")});
  EXPECT_EQ(count(result.judgement, "gpu-mixed-machine", Level::warning), 1u);
  EXPECT_TRUE(says(result, "HIP stops at gfx902"));
  EXPECT_TRUE(says(result, "HIP_VISIBLE_DEVICES"));
}

TEST(UserReports, R18_TheTargetsThatWereReallyBuilt) {
  Place place;
  place.write("libggml-hip.so", library({"gfx906"}));
  Result result = audit({place.path()}, {gpu("gfx1100")});
  EXPECT_TRUE(says(result, "libggml-hip.so  gfx1100  gfx906"));
  EXPECT_TRUE(says(result, "-DGPU_TARGETS='gfx1100'"));
}

TEST(UserReports, R19_AWindowsReleaseThatLacksBoth) {
  Place place;
  place.write("ggml-hip.dll", build_pe({{".hip_fat", bundle({"gfx1100", "gfx1101"})}}));
  place.kernels("rocblas/library", {"gfx1100", "gfx1101"});
  Result result = audit({place.path()}, {kfd({"rx9070xt_gfx1201"})});
  EXPECT_EQ(count(result.judgement, "gpu-target-missing", Level::error), 1u);
  EXPECT_EQ(count(result.judgement, "sidecar-missing", Level::error), 1u);
  EXPECT_EQ(result.judgement.verdict, Verdict::not_served);
}

TEST(UserReports, R20_R21_R28_R30_TheVariableOfTheProject) {
  struct Case {
    const char *distribution, *held, *wanted, *advice;
  };
  for (const Case &c : {Case{"llama_cpp_python", "gfx906", "gfx1100", "CMAKE_ARGS='-DGGML_HIP=on -DGPU_TARGETS=gfx1100'"},
                        Case{"bitsandbytes", "gfx90a", "gfx1100", "-DBNB_ROCM_ARCH='gfx1100'"},
                        Case{"jax_rocm60_plugin", "gfx908", "gfx90a", "TF_ROCM_AMDGPU_TARGETS='gfx90a'"},
                        Case{"onnxruntime_rocm", "gfx906", "gfx1100", "-DCMAKE_HIP_ARCHITECTURES='gfx1100'"},
                        Case{"xformers", "gfx90a", "gfx942", "HIP_ARCHITECTURES='gfx942'"},
                        Case{"vllm", "gfx90a", "gfx942", "PYTORCH_ROCM_ARCH='gfx942'"},
                        Case{"amd_aiter", "gfx950", "gfx942", "GPU_ARCHS='gfx942'"}}) {
    Place place;
    place.install(c.distribution, "1.0", {{std::string(c.distribution) + "/lib.so", library({c.held})}});
    Result result = audit({place.path()}, {gpu(c.wanted)});
    EXPECT_TRUE(says(result, std::string("no code for ") + c.wanted));
    EXPECT_TRUE(says(result, c.advice));
    EXPECT_TRUE(says(result, c.held));
  }
}

std::string nvidia_library() {
  ByteWriter entry, container;
  entry.le(uint16_t(2)).le(uint16_t(0x101)).le(uint32_t(64)).le(uint64_t(24)).le(uint64_t(0)).le(uint32_t(0)).le(uint32_t(80));
  entry.pad_to(64 + 24);
  container.le(uint32_t(0xba55ed50)).le(uint16_t(1)).le(uint16_t(16)).le(uint64_t(entry.size())).raw(entry.bytes());
  ElfSpec spec;
  spec.sections.push_back({".nv_fatbin", 1, 2, container.bytes(), 8});
  return build_elf(spec);
}

TEST(UserReports, R22_OnlyNvidiasLibraryInThePackage) {
  Place place;
  place.install("bitsandbytes", "0.45.0", {{"bitsandbytes/libbitsandbytes_cuda126.so", nvidia_library()}});
  Result result = audit({place.path()}, {gpu("gfx1151")});
  EXPECT_EQ(count(result.judgement, "gpu-vendor-mismatch", Level::warning), 1u);
  EXPECT_TRUE(says(result, "built for NVIDIA GPUs"));
  EXPECT_TRUE(says(result, "none for AMD (no HIP library in it)"));
}

TEST(UserReports, R23_R25_R49_PackagesOfOneEnvironmentDiffer) {
  Place place;
  place.install("torch", "2.7.0+rocm6.3", {{"torch/lib/libtorch_hip.so", library({"gfx908", "gfx942"})}});
  place.install("vllm", "0.9", {{"vllm/_C.abi3.so", library({"gfx90a", "gfx942"})}}, "Requires-Dist: torch\n");
  place.install("flash_attn", "2.8", {{"flash_attn_2_cuda.so", library({"gfx942"})}}, "Requires-Dist: torch\n");
  Result result = audit({place.path()}, {gpu("gfx908")});
  EXPECT_EQ(count(result.judgement, "gpu-target-missing", Level::error), 2u);
  EXPECT_TRUE(says(result, "torch has gfx908 in this environment, vllm lacks it"));
  EXPECT_TRUE(says(result, "torch has gfx908 in this environment, flash_attn lacks it"));
  EXPECT_TRUE(says(result, "gfx targets"));
  result = audit({place.path()}, {gpu("gfx942")});
  EXPECT_EQ(result.judgement.verdict, Verdict::served);
  result = audit({place.path()}, {gpu("gfx906")});
  EXPECT_EQ(count(result.judgement, "gpu-target-missing", Level::error), 3u);
}

TEST(UserReports, R24_TheGateForWhatWasDroppedWithoutAWord) {
  Place place;
  std::string wheel = place.write(
      "vllm-0.9-cp312-cp312-linux_x86_64.whl",
      make_zip({{.name = "vllm/_C.abi3.so", .content = library({"gfx1100", "gfx1151"})},
                {.name = "vllm-0.9.dist-info/METADATA", .content = "Metadata-Version: 2.1\nName: vllm\nVersion: 0.9\n"}}));
  Result result = audit({wheel}, {}, require("gfx1151,gfx1152"));
  EXPECT_EQ(result.judgement.exit_code, 1);
  EXPECT_EQ(count(result.judgement, "required-target-missing", Level::error), 1u);
  EXPECT_TRUE(says(result, "PYTORCH_ROCM_ARCH='gfx1100;gfx1151;gfx1152'"));
  result = audit({wheel}, {}, require("gfx1250"));
  EXPECT_TRUE(says(result, "HIP_SUPPORTED_ARCHS"));
}

TEST(UserReports, R26_ProcessorsThatAProjectDoesNotTake) {
  Place place;
  place.install("flash_attn", "2.8", {{"flash_attn_2_cuda.so", library({"gfx90a", "gfx942"})}});
  Result result = audit({place.path()}, {gpu("gfx1100")});
  EXPECT_TRUE(says(result, "One of GPU archs of"));
  EXPECT_TRUE(says(result, "FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE"));
  EXPECT_FALSE(says(result, "GPU_ARCHS='gfx1100'"));
}

TEST(UserReports, R31_OldRuntimesAbortAtLoad) {
  Place place;
  place.write("libtensorflow_framework.so", library({"gfx900", "gfx906"}));
  Machine machine = gpu("gfx803");
  EXPECT_TRUE(says(audit({place.path()}, {machine}), "hipErrorNoBinaryForGpu"));
  EXPECT_FALSE(says(audit({place.path()}, {machine}), "aborts already when the file is loaded"));
  machine.rocm = {"4.3.1"};
  EXPECT_TRUE(says(audit({place.path()}, {machine}), "aborts already when the file is loaded"));
}

TEST(UserReports, R32_AForgottenOverrideAcrossFamilies) {
  Place place;
  place.write("lib.so", library({"gfx1030", "gfx90a"}));
  Result result = audit({place.path()}, {kfd({"mi210_gfx90a"}, {{"HSA_OVERRIDE_GFX_VERSION", "10.3.0"}})});
  EXPECT_EQ(count(result.judgement, "gpu-override-active", Level::warning), 1u);
  EXPECT_TRUE(says(result, "the GPU is gfx90a but poses as gfx1030"));
  EXPECT_TRUE(says(result, "whose wavefronts have 32 lanes and not 64"));
  EXPECT_TRUE(says(result, "fix  unset HSA_OVERRIDE_GFX_VERSION"));
}

TEST(UserReports, R33_AnOverrideWithinTheFamilyIsNotOverclaimed) {
  Place place;
  place.write("lib.so", library({"gfx1030"}));
  Result result = audit({place.path()}, {kfd({"rx6700xt_gfx1031_DERIVED"}, {{"HSA_OVERRIDE_GFX_VERSION", "10.3.0"}})});
  EXPECT_EQ(result.judgement.exit_code, 0);
  EXPECT_TRUE(says(result, "may fault, hang or compute wrong results"));
  EXPECT_FALSE(says(result, "certain"));
}

TEST(UserReports, R34_HipblasltWithoutTheProcessor) {
  Place place;
  place.kernels("torch/lib/hipblaslt/library", {"gfx90a", "gfx942"});
  Result result = audit({place.path()}, {gpu("gfx1103")});
  EXPECT_EQ(count(result.judgement, "sidecar-missing", Level::error), 1u);
  EXPECT_TRUE(says(result, "nothing for gfx1103 here that hipBLASLt can use"));
  EXPECT_TRUE(says(result, "TORCH_BLAS_PREFER_HIPBLASLT=0"));
  result = audit({place.path()}, {gpu("gfx1030")});
  EXPECT_EQ(result.judgement.exit_code, 0);
  EXPECT_TRUE(says(result, "Attempting to use hipBLASLt on an unsupported architecture"));
}

TEST(UserReports, R35_DatabasesOfMiopenAreNotesOfASlowFirstRun) {
  Place place;
  for (const char *name : {"gfx90a68.db.txt", "gfx90a6e.db.txt", "gfx942130.db.txt", "gfx1030_36.db.txt"})
    place.write("share/miopen/db/" + std::string(name), "1x1=1");
  Result result = audit({place.path()}, {gpu("gfx1100")});
  EXPECT_EQ(result.judgement.exit_code, 0);
  EXPECT_EQ(count(result.judgement, "sidecar-missing", Level::note), 1u);
  EXPECT_TRUE(says(result, "the first run is slow, nothing fails"));
  EXPECT_TRUE(says(result, "gfx90a (104, 110 CUs) gfx942 (304 CUs) gfx1030 (36 CUs)"));
  EXPECT_EQ(count(audit({place.path()}, {gpu("gfx1030")}).judgement, "sidecar-missing", Level::note), 0u);
}

TEST(UserReports, R38_ApusAndPinnedXnack) {
  Place place;
  place.write("pinned.so", library({"gfx90c:xnack-"}));
  place.write("open.so", library({"gfx90c"}));
  Result result = audit({place / "open.so"}, {gpu("gfx90c:xnack+"), gpu("gfx90c:xnack-")});
  EXPECT_EQ(result.judgement.exit_code, 0);
  result = audit({place / "pinned.so"}, {gpu("gfx90c:xnack+")});
  EXPECT_EQ(count(result.judgement, "gpu-feature-mismatch", Level::error), 1u);
  EXPECT_TRUE(says(result, "build the target without settings"));
}

TEST(UserReports, R41_TheListThatOllamaMakesOfFileNames) {
  Place place;
  place.write("lib/ollama/rocm/libggml-hip.so", library({"gfx1030", "gfx1100", "gfx1103"}));
  place.kernels("lib/ollama/rocm/rocblas/library", {"gfx1030", "gfx1100"});
  Result result = audit({place.path()}, {gpu("gfx1103")});
  EXPECT_TRUE(says(result, "gfx1030 gfx1100"));
  EXPECT_TRUE(says(result, "although 1 other file has code for gfx1103"));
  EXPECT_NE(result.json.find("\"library\": \"rocblas\""), std::string::npos);
}

TEST(UserReports, R42_AGpuThatThisUserMayNotOpen) {
  Machine machine = kfd({"rx7900xtx_gfx1100"}, {}, false);
  ASSERT_EQ(machine.gpus.size(), 1u);
  EXPECT_FALSE(machine.gpus[0].visible);
  Place place;
  place.write("lib.so", library({"gfx1100"}));
  Result result = audit({place.path()}, {machine});
  EXPECT_EQ(result.judgement.verdict, Verdict::served) << "not a question of the ISA";
  EXPECT_TRUE(says(result, "/dev/dri/renderD128 does not exist"));
}

TEST(UserReports, R44_ARocmBuildInACudaEnvironment) {
  Place place;
  place.install("torch", "2.9.0",
                {{"torch/lib/libtorch_cuda.so", nvidia_library()},
                 {"torch/version.py", "__version__ = '2.9.0+cu128'\ncuda = '12.8'\nhip = None\n"}});
  place.install("ctranslate2", "4.6", {{"ctranslate2/lib.so", library({"gfx1100"})}});
  Result result = audit({place.path()}, {});
  EXPECT_EQ(count(result.judgement, "gpu-vendor-mismatch", Level::warning), 1u);
  EXPECT_TRUE(says(result, "ctranslate2 is built for AMD GPUs, torch beside it for NVIDIA GPUs"));
  EXPECT_TRUE(says(audit({place.path()}, {gpu("gfx1100")}), "built for NVIDIA GPUs"));
}

TEST(UserReports, R46_ImagesOfAotritonFromAnotherBuild) {
  Place place;
  const std::string folder = "torch/lib/aotriton.images/";
  auto fill = [&](const std::string &family, const std::string &target, int images, const std::string &build) {
    for (int i = 0; i < images; ++i)
      place.write(folder + family + "/flash/attn_fwd/k" + std::to_string(i) + "___" + target + ".aks2",
                  build_aks2({{"attn_fwd", code_object(target)}}));
    place.write(folder + family + "/__signature__", "{\"AOTRITON_GIT_SHA1\": \"" + build + "\"}");
  };
  fill("amd-gfx11xx", "gfx1100", 5, "dd1b68b604b5258e");
  fill("amd-gfx115x", "gfx1151", 1, "dd1b68b604b5258e");
  Result result = audit({place.path()}, {gpu("gfx1151")});
  EXPECT_EQ(result.problems, "");
  EXPECT_TRUE(says(result, "far fewer kernel files for gfx1151 than for gfx1100 (5)"));
  EXPECT_EQ(count(result.judgement, "sidecar-incomplete", Level::warning), 0u);
  fill("amd-gfx942", "gfx942", 1, "33fb6bd5290b2e9e");
  result = audit({place.path()}, {gpu("gfx1151")});
  EXPECT_TRUE(says(result, "images of different builds of AOTriton"));
  EXPECT_TRUE(says(audit({place.path()}, {gpu("gfx1201")}), "flash and memory-efficient attention are not available"));
}

TEST(UserReports, R50_WavefrontSizesOfEachTarget) {
  Place place;
  place.write("lib.so", library({"gfx90a", "gfx1100"}));
  std::string json = audit({place.path()}, {gpu("gfx90a")}).json;
  json.erase(std::remove_if(json.begin(), json.end(), [](char c) { return c == ' ' || c == '\n'; }), json.end());
  EXPECT_NE(json.find("\"wavefront_sizes\":[32]"), std::string::npos);
  EXPECT_NE(json.find("\"wavefront_sizes\":[64]"), std::string::npos);
}

Machine cpu(const std::string &name) { return llvm::cantFail(make_machine({"none", name, ""}, {})); }

std::string assembled(const std::string &text) {
  Library made = assemble(text);
  return {made.bytes.begin(), made.bytes.end()};
}

TEST(UserReports, X2_AnExtensionThatTheCpuLacks) {
  if (!can_assemble()) GTEST_SKIP() << "clang-22 and lld-22 build the library and are not installed";
  Place place;
  place.write("kern.so", assembled(".globl PyInit_kern\n.type PyInit_kern,@function\nPyInit_kern:\n"
                                   "vpaddd ymm0, ymm0, ymm1\nret\n.size PyInit_kern, .-PyInit_kern\n"));
  Result result = audit({place.path()}, {cpu("x86-64-v2")});
  EXPECT_EQ(result.judgement.exit_code, 1);
  EXPECT_TRUE(says(result, "cpu-feature-missing"));
  EXPECT_TRUE(says(result, "avx2"));
  EXPECT_EQ(audit({place.path()}, {cpu("x86-64-v3")}).judgement.exit_code, 0);
}

TEST(UserReports, X3_CodeBehindACheckIsNoNeed) {
  if (!can_assemble()) GTEST_SKIP() << "clang-22 and lld-22 build the library and are not installed";
  Place place;
  place.write("kern.so", assembled(".globl PyInit_kern\n.type PyInit_kern,@function\nPyInit_kern:\n"
                                   "push rbx\nmov eax, 7\nxor ecx, ecx\ncpuid\ntest ebx, 32\nje 1f\nvpaddd ymm0, ymm0, ymm1\n"
                                   "1: pop rbx\nret\n.size PyInit_kern, .-PyInit_kern\n"));
  Result result = audit({place.path()}, {cpu("x86-64-v2")});
  EXPECT_EQ(result.judgement.exit_code, 0);
  EXPECT_EQ(count(result.judgement, "cpu-feature-missing", Level::error), 0u);
}

TEST(UserReports, TypedNamesThatAreNoProcessor) {
  auto machine = make_machine({"gfx94", "none", ""}, {});
  ASSERT_FALSE(machine);
  EXPECT_NE(llvm::toString(machine.takeError()).find("did you mean gfx942"), std::string::npos);
  auto list = parse_target_list("gfx90a,gfx110");
  ASSERT_FALSE(list);
  EXPECT_NE(llvm::toString(list.takeError()).find("did you mean gfx1100"), std::string::npos);
}

} // namespace
