// The table of rules. Names and levels are the contract with users, who suppress, deny and search by them.
#include <algorithm>

#include "isa-audit/verdict/finding.h"

namespace isa_audit {
namespace {

// By name.
constexpr Rule kRules[] = {
    {"cpu-feature-guarded", Level::note, "code for a missing CPU feature is behind a run-time check",
     "The file holds instructions that the CPU lacks, and every way to them tests the CPU first. Nothing to do."},
    {"cpu-feature-missing", Level::error, "code needs a CPU feature that the machine lacks",
     "Running such an instruction raises SIGILL (\"Illegal instruction\"). The strength says when: while the file is loaded, "
     "while the module is imported, at the call of a named function, or somewhere without a check that was found. Error when "
     "it is certain or likely at load or import; warning when it is possible. Use a build for an older CPU, or rebuild with a "
     "lower -march. When a hypervisor hides the feature, choose a CPU type that passes it through."},
    {"cpu-guard-insufficient", Level::warning, "a run-time check tests less than the guarded code uses",
     "The code behind the check uses a feature that the check does not test: a CPU that has one but not the other raises "
     "SIGILL. Report it to the project."},
    {"cpu-level-exceeded", Level::error, "code needs more of the CPU than --max-cpu allows",
     "The gate of --max-cpu. Code behind a run-time check never counts. Rebuild with a lower -march, or put the code behind a "
     "check."},
    {"cpu-silently-different", Level::warning, "code gives other results on this CPU, without any error",
     "LZCNT runs as BSR on a CPU without it and TZCNT as BSF: no fault, another result. Rebuild without -mlzcnt or -mbmi."},
    {"gpu-code-external", Level::error, "the device code is in kpack archives beside the file",
     "Split ROCm wheels keep device code in .kpack archives that other distributions install. Error when the archive for a GPU "
     "of the machine is absent: install the device wheel or the device extra of the project, and audit both as one set."},
    {"gpu-feature-mismatch", Level::error, "code for the processor, but for the other setting of xnack or sramecc",
     "The loader takes a code object that pins xnack or sramecc only on a GPU with the same setting. Build the target without "
     "the setting, or for both; xnack can be turned on for a process with HSA_XNACK=1 where the GPU supports it."},
    {"gpu-generic-only", Level::note, "served by a generic processor only",
     "Code for a generic processor (gfx11-generic) runs on every processor it covers, slower than native code where those "
     "differ. In a bundle it needs ROCm 6.4 or newer, as a file of its own ROCm 6.2."},
    {"gpu-kernels-missing", Level::warning, "a target lacks kernels that other targets of the file have",
     "A launch of one of these kernels fails with \"invalid device function\" on that target only."},
    {"gpu-mixed-machine", Level::warning, "one visible GPU without code takes it from others",
     "HIP up to ROCm 7.14 goes through the visible GPUs in order and stops at the first one that an image has no code for: "
     "that "
     "GPU and those after it lose the image; if it is the first, all do. Runtimes newer than ROCm 10.0 pass over such a GPU. "
     "Hide the GPU with HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES."},
    {"gpu-object-mislabelled", Level::error, "a code object is not what its bundle entry says",
     "The runtime chooses an entry by its id, the loader then checks the ELF flags of the code object and refuses it. Rebuild "
     "the file; a difference of spelling only is a note."},
    {"gpu-override-active", Level::warning, "HSA_OVERRIDE_GFX_VERSION makes a GPU pose as another",
     "The runtime believes the override and loads code for the other processor. Within one family that often works, though "
     "nobody supports it; across families kernels fault, hang or compute wrong results. Unset it when native code is there."},
    {"gpu-runtime-compiled", Level::note, "served by SPIR-V only",
     "The runtime compiles SPIR-V for the GPU at first use, which takes time and needs ROCm 6.4 or newer with comgr and the "
     "device libraries installed."},
    {"gpu-runtime-dependent", Level::note, "ROCm releases differ in whether they load the code",
     "The code is right for the GPU, but its form (code object version, generic processor, compressed bundle, SPIR-V, an xnack "
     "setting) is known to some ROCm releases only. The finding lists them; where no source says, it says so. A warning when "
     "the ROCm found on the machine is one that refuses it; a package that brings its own runtime is not concerned."},
    {"gpu-target-missing", Level::error, "no code for a GPU of the machine",
     "No device image of the file serves the GPU. The first launch fails with hipErrorNoBinaryForGpu (\"no kernel image is "
     "available for execution on the device\"), hipErrorInvalidDeviceFunction (\"invalid device function\") or "
     "hipErrorInvalidImage. Install a build for the GPU, or build with its target."},
    {"gpu-target-partial", Level::warning, "some device images of the file do not serve a GPU of the machine",
     "HIP loads images when a kernel of theirs is first used, and many healthy builds leave out images for processors that "
     "cannot run them, so this is a warning: the kernels that are named fail with \"invalid device function\"."},
    {"gpu-vendor-mismatch", Level::warning, "a build for no GPU or for another vendor's on an AMD machine",
     "The package was built for CPU only or for CUDA. Install its ROCm build."},
    {"input-incomplete", Level::warning, "not everything could be read",
     "Something that could not be read may change the verdict. The problems say what and where. Error when nothing at all "
     "could be read."},
    {"no-device-code", Level::note, "an input without GPU code",
     "Nothing in the input is for an AMD GPU. Error under --require; relax it with --allow no-device-code for inputs that "
     "need none."},
    {"no-local-gpu", Level::note, "no GPU was found on this machine",
     "GPU code was not judged. Name the GPU to judge for with --gpu, for example --gpu gfx942, or say --gpu none."},
    {"required-target-missing", Level::error, "a target of --require is missing",
     "The gate of --require: every device image of every file with device code must match each target. A generic processor "
     "that covers the target counts, and so do kpack archives among the inputs; SPIR-V and the runtime's internal code do not. "
     "A target without settings (gfx90a) must "
     "be served whatever the GPU's xnack and sramecc are."},
    {"sidecar-incomplete", Level::error, "a kernel library beside the file lacks parts for a GPU",
     "An index without kernels, kernels without an index, names of files that are not there. As bad as it is for the library: "
     "an "
     "error for rocBLAS, which aborts, a note for MIOpen and rocFFT, which compile."},
    {"sidecar-missing", Level::error, "a kernel library beside the file has nothing for a GPU",
     "Libraries such as rocBLAS load kernels from folders beside them and abort, or fall back to slow code, when there are "
     "none for the GPU: an error, a warning (AOTriton, device libraries) or a note (MIOpen, rocFFT) as the library behaves. "
     "Install the files of one build together."},
    {"stale-build", Level::warning, "left-over build products disagree with what is installed",
     "Delete build folders, caches and old wheels, and build again."},
};

static_assert(std::ranges::is_sorted(kRules, {}, &Rule::name));

} // namespace

std::span<const Rule> rules() { return kRules; }

const Rule *find_rule(std::string_view name) {
  auto at = std::ranges::lower_bound(kRules, name, {}, &Rule::name);
  return at != std::end(kRules) && at->name == name ? at : nullptr;
}

} // namespace isa_audit
