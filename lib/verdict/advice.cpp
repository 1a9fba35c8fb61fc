// One row a project: the variable that lists its gfx targets. Sources: the projects' own build files and documentation
// (setup.py, CMakeLists.txt, build scripts) as of 2025.
#include "advice.h"

#include <algorithm>

#include "isa-audit/device/processors.h"
#include "isa-audit/source/distribution.h"
#include "isa-audit/verdict/target_order.h"

namespace isa_audit {
namespace {

struct BuildRow {
  std::string_view name;   // normalized distribution name; with a '*' at the end, the start of one
  std::string_view before; // what to write before the list of targets
  char separator;
  std::string_view after;
  // Processors that the project's build takes, blank-separated (empty: it does not look), and what to do with others.
  std::string_view takes = {};
  std::string_view otherwise = {};
  bool closed = false; // others cannot be had by any value of the variable
};

constexpr std::string_view kAiterTakes = "gfx942 gfx950";
constexpr std::string_view kAiterOtherwise =
    "AITER is made for gfx942 and gfx950 only: VLLM_ROCM_USE_AITER=0 makes vLLM go without";

constexpr BuildRow kBuildRows[] = {
    {"aiter", "GPU_ARCHS='", ';', "'", kAiterTakes, kAiterOtherwise, true},
    {"amd-aiter", "GPU_ARCHS='", ';', "'", kAiterTakes, kAiterOtherwise, true},
    {"aotriton", "-DAOTRITON_TARGET_ARCH='", ';', "' (CMake)"},
    {"apex", "PYTORCH_ROCM_ARCH='", ';', "'"},
    {"bitsandbytes", "-DBNB_ROCM_ARCH='", ';', "' (CMake)"},
    {"composable-kernel", "-DGPU_TARGETS='", ';', "' (CMake)"},
    {"ctranslate2", "-DCMAKE_HIP_ARCHITECTURES='", ';', "' (CMake)"},
    {"cupy*", "HCC_AMDGPU_TARGET='", ',', "'"},
    {"deepspeed", "PYTORCH_ROCM_ARCH='", ';', "'"},
    {"flash-attn", "GPU_ARCHS='", ';', "', or use its Triton backend (FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE)",
     "gfx90a gfx942 gfx950",
     "its CK kernels are made for gfx90a, gfx942 and gfx950 only (\"One of GPU archs of … is invalid\"): use its Triton "
     "backend, "
     "FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE",
     true},
    {"hipblaslt", "-DGPU_TARGETS='", ';', "' (CMake)"},
    {"hipsparselt", "-DGPU_TARGETS='", ';', "' (CMake)"},
    {"jax*", "TF_ROCM_AMDGPU_TARGETS='", ',', "'"},
    {"llama-cpp", "-DGGML_HIP=ON -DGPU_TARGETS='", ';', "' (CMake)"},
    {"llama-cpp-python", "CMAKE_ARGS='-DGGML_HIP=on -DGPU_TARGETS=", ';', "'"},
    {"ollama", "-DAMDGPU_TARGETS='", ';', "' (CMake)"},
    {"onnxruntime*", "-DCMAKE_HIP_ARCHITECTURES='", ';', "' (CMake)"},
    {"rocblas", "-DGPU_TARGETS='", ';', "' (CMake)"},
    {"tensorflow*", "TF_ROCM_AMDGPU_TARGETS='", ',', "'"},
    {"torch*", "PYTORCH_ROCM_ARCH='", ';', "'"},
    {"vllm*", "PYTORCH_ROCM_ARCH='", ';', "'",
     "gfx906 gfx908 gfx90a gfx942 gfx950 gfx1030 gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 gfx1200 "
     "gfx1201",
     "add it to HIP_SUPPORTED_ARCHS in vLLM's CMakeLists.txt as well: what is not listed there is dropped without a word"},
    {"xformers", "HIP_ARCHITECTURES='", ' ', "'"},
};
constexpr BuildRow kAnyProject = {"", "-DCMAKE_HIP_ARCHITECTURES='", ';', "' (CMake), or --offload-arch for each (hipcc)"};

// Files of projects that are met without a distribution: what a part of the path says.
struct FileRow {
  std::string_view part, project;
};
constexpr FileRow kFileRows[] = {
    {"libbitsandbytes_", "bitsandbytes"},
    {"libtorch_hip.", "torch"},
    {"ggml-hip.", "llama-cpp"},
    {"flash_attn", "flash-attn"},
    {"vllm/", "vllm"},
    {"libctranslate2.", "ctranslate2"},
    {"libonnxruntime", "onnxruntime"},
    {"xformers/", "xformers"},
    {"librocblas.", "rocblas"},
    {"libhipblaslt.", "hipblaslt"},
    {"libhipsparselt.", "hipsparselt"},
};

constexpr BuildRow kTorchExtension = {"", "PYTORCH_ROCM_ARCH='", ';', "'"};

const BuildRow &build_row(const Project &project) {
  std::string name = normalized_name(project.name);
  for (const BuildRow &row : kBuildRows) {
    bool prefix = row.name.ends_with('*');
    if (prefix ? std::string_view(name).starts_with(row.name.substr(0, row.name.size() - 1)) : name == row.name) return row;
  }
  return project.uses_torch ? kTorchExtension : kAnyProject;
}

bool takes(const BuildRow &row, std::string_view processor) {
  if (row.takes.empty()) return true;
  for (std::string_view rest = row.takes; !rest.empty();) {
    size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == processor) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// gfx90a → "9.0.10": the decimal fields of HSA_OVERRIDE_GFX_VERSION. Empty for names of another form.
std::string override_value(std::string_view processor) {
  if (!processor.starts_with("gfx") || processor.size() < 6 || processor.find('-') != std::string_view::npos) return "";
  std::string_view digits = processor.substr(3);
  auto hex = [](char c) { return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c - '0'; };
  std::string minor = std::to_string(hex(digits[digits.size() - 2])), step = std::to_string(hex(digits.back()));
  return std::string(digits.substr(0, digits.size() - 2)) + "." + minor + "." + step;
}

// The held processor that `gpu` can pose as with some hope: of its generic family and its major and minor version; gfx9-generic
// covers processors that differ too much (gfx906 has instructions that gfx900 lacks), only the APUs resemble gfx900.
std::string poses_as(std::string_view gpu, const std::vector<std::string> &holds) {
  const Processor *processor = find_processor(gpu);
  if (!processor || processor->generic.empty()) return "";
  bool apu = gpu == "gfx902" || gpu == "gfx909" || gpu == "gfx90c";
  if (processor->generic == "gfx9-generic" && !apu) return "";
  for (const std::string &held : holds) {
    const Processor *other = find_processor(held);
    if (!other || other->is_generic || other->generic != processor->generic || held == gpu) continue;
    if (held.substr(0, held.size() - 1) != gpu.substr(0, gpu.size() - 1)) continue;
    if (apu && held != "gfx900") continue;
    return held;
  }
  return "";
}

} // namespace

Project find_project(const Inventory &inventory, const Origin &origin, const std::string &distribution) {
  const uint32_t input = origin.input;
  Project out;
  out.name = distribution;
  if (distribution.empty())
    for (const FileRow &row : kFileRows)
      if (out.name.empty() && origin.path.find(row.part) != std::string::npos) out.name = row.project;
  for (const Distribution &d : inventory.distributions) {
    if (d.input != input || d.name != distribution) continue;
    for (const std::string &requirement : d.requires_dist) {
      std::string_view name = std::string_view(requirement).substr(0, requirement.find_first_of(" \t;<>=!~([@"));
      out.uses_torch |= normalized_name(name) == "torch";
    }
  }
  return out;
}

std::string build_advice(const Project &project, const std::string &wanted, const std::vector<std::string> &holds,
                         std::string_view verb) {
  const BuildRow &row = build_row(project);
  const bool taken = takes(row, std::string_view(wanted).substr(0, wanted.find(':')));
  if (!taken && row.closed) return std::string(row.otherwise);
  std::vector<std::string> targets = holds;
  if (std::ranges::find(targets, wanted) == targets.end()) targets.push_back(wanted);
  std::ranges::sort(targets, TargetOrder());
  std::string out(verb);
  out += row.before;
  bool first = true;
  for (const std::string &target : targets) {
    if (!target.starts_with("gfx")) continue; // SPIR-V and other vendors are not in these lists
    if (!first) out += row.separator;
    out += target;
    first = false;
  }
  out += row.after;
  return taken ? out : out + ", and " + std::string(row.otherwise);
}

std::string gpu_advice(const Project &project, const Gpu &gpu, const std::vector<std::string> &holds) {
  const std::string &processor = gpu.loader_target().processor;
  std::string what = project.name.empty() ? "a build" : "a build of " + project.name;
  std::string out;
  if (gpu.effective && gpu.effective->processor != gpu.target.processor)
    out = "unset HSA_OVERRIDE_GFX_VERSION: the GPU is " + gpu.target.processor + " and only poses as " + processor + "; or ";
  const BuildRow &build = build_row(project);
  if (!build.closed || takes(build, processor)) out += "install " + what + " for " + processor + ", or ";
  out += build_advice(project, processor, {}, "build it with ");
  const Processor *row = find_processor(processor);
  if (row && !row->generic.empty()) out += "; " + std::string(row->generic) + " covers " + processor + " too";
  return out + override_advice(gpu, holds);
}

std::string override_advice(const Gpu &gpu, const std::vector<std::string> &holds) {
  std::string model = gpu.effective ? "" : poses_as(gpu.loader_target().processor, holds);
  if (model.empty()) return "";
  return "; HSA_OVERRIDE_GFX_VERSION=" + override_value(model) + " makes it pose as " + model +
         ", which is of the same family, but unsupported: kernels may fault";
}

} // namespace isa_audit
