// Kernel folders of ROCm's libraries, against the GPUs of each machine and against --require. How bad a hole is depends on the
// library: rocBLAS aborts the process, MIOpen and rocFFT compile at first use. Sources: each library's loader, and what its
// users report.
#include <algorithm>
#include <array>

#include "advice.h"
#include "court.h"
#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/side_cars.h"

namespace isa_audit {
namespace {

// '@' stands for the processor, '#' for what stands behind its "gfx".
struct Behaviour {
  SideLibrary library;
  Level missing;
  std::string_view made_for;    // processors the library is made for, blank-separated; empty: all
  std::string_view expected;    // what is looked for
  std::string_view consequence; // of having nothing for the GPU
  std::string_view elsewhere;   // of the same, for a processor the library is not made for
  std::string_view fix;         // what helps besides another build
};

constexpr std::array kBehaviours = {
    Behaviour{SideLibrary::rocblas, Level::error, "", "TensileLibrary_lazy_@.dat",
              "rocBLAS aborts the process at its first matrix product (\"rocBLAS error: Cannot read TensileLibrary.dat: … for "
              "GPU arch : @\")",
              "", "ROCBLAS_TENSILE_LIBPATH can name another rocblas/library folder, one that has @"},
    Behaviour{SideLibrary::hipblaslt, Level::error,
              "gfx908 gfx90a gfx942 gfx950 gfx1100 gfx1101 gfx1103 gfx1150 gfx1151 gfx1200 gfx1201 gfx1250",
              "TensileLibrary_lazy_@.dat",
              "matrix products through hipBLASLt fail (\"rocblaslt error: Cannot read TensileLibrary_lazy_@.dat\")",
              "PyTorch says \"Attempting to use hipBLASLt on an unsupported architecture!\" and uses rocBLAS instead",
              "TORCH_BLAS_PREFER_HIPBLASLT=0 makes PyTorch use rocBLAS"},
    Behaviour{SideLibrary::hipsparselt, Level::error, "gfx942 gfx950", "TensileLibrary_lazy_@.dat",
              "hipSPARSELt fails at its first call (semi-structured sparsity)",
              "hipSPARSELt is not made for @: semi-structured sparsity is not available", ""},
    Behaviour{SideLibrary::miopen, Level::note, "", "a database whose name starts with @",
              "MIOpen compiles and tunes its kernels at first use: the first run is slow, nothing fails (\"Missing system "
              "database file\")",
              "", "a package of MIOpen kernels for @ (miopen-hip-@kdb) saves the first run"},
    Behaviour{SideLibrary::rocfft, Level::note, "", "kernels for @ in rocfft_kernel_cache.db",
              "rocFFT compiles its kernels at first use: the first run is slow, nothing fails", "", ""},
    Behaviour{
        SideLibrary::aotriton, Level::warning, "", "images for @",
        "flash and memory-efficient attention are not available: PyTorch computes attention by its slower math kernels, and "
        "fails where one of the two is asked for",
        "", ""},
    Behaviour{SideLibrary::aiter, Level::error, "", "a folder of code objects for @",
              "AITER's assembly kernels cannot be loaded: attention, MoE and matrix products that use them fail", "",
              "VLLM_ROCM_USE_AITER=0 makes vLLM go without"},
    Behaviour{SideLibrary::device_libs, Level::warning, "", "oclc_isa_version_#.bc",
              "nothing can be compiled for @ by hipcc or at run time (hiprtc)", "", "install the ROCm that knows @"},
};

const Behaviour &behaviour_of(SideLibrary library) { return *std::ranges::find(kBehaviours, library, &Behaviour::library); }

std::string filled(std::string_view text, const std::string &processor) {
  std::string out;
  for (char c : text) out += c == '@' ? processor : c == '#' ? processor.substr(3) : std::string(1, c);
  return out;
}

bool is_made_for(const Behaviour &behaviour, std::string_view processor) {
  if (behaviour.made_for.empty()) return true;
  for (std::string_view rest = behaviour.made_for; !rest.empty();) {
    size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == processor) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// A GPU of a machine, or a target of the gate.
struct Judged {
  int machine = -1;
  TargetId target;
  const Gpu *gpu = nullptr;
  std::string required; // the gate's target as it was asked for
  const std::string &processor() const { return target.processor; }
};

std::string few(const std::vector<std::string> &names) {
  constexpr size_t kShown = 3;
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) out += (i ? ", " : "") + names[i];
  if (names.size() > kShown) out += " and " + std::to_string(names.size() - kShown) + " more";
  return out;
}

// MIOpen's databases are for a processor and a number of compute units: "gfx942 (228, 304 CUs)".
std::string with_details(const SideCar &car, const std::string &target) {
  std::vector<std::string> units;
  for (const SideFile *file : car.files) {
    if (file->part != SidePart::database || file->detail.empty() || file->targets != std::vector{target}) continue;
    std::string count = file->detail.substr(0, file->detail.find(' '));
    if (std::ranges::find(units, count) == units.end()) units.push_back(count);
  }
  if (units.empty()) return target;
  std::ranges::sort(units, [](const auto &a, const auto &b) { return std::pair(a.size(), a) < std::pair(b.size(), b); });
  std::string out = target + " (";
  for (size_t i = 0; i < units.size(); ++i) out += (i ? ", " : "") + units[i];
  return out + " CUs)";
}

std::string held(const SideCar &car) {
  std::vector<std::string> targets = startable_targets(car);
  if (targets.empty()) return "nothing";
  if (car.library == SideLibrary::miopen)
    for (std::string &target : targets) target = with_details(car, target);
  return join_targets(targets);
}

class SideCarJudge {
public:
  SideCarJudge(Court &court, std::vector<SideCar> cars) : court_(court), cars_(std::move(cars)) {
    units_ = device_units(court.inventory);
    std::erase_if(units_, [](const DeviceUnit &unit) { return unit.set || unit.of_libraries; });
  }

  const std::vector<SideCar> &cars() const { return cars_; }

  void judge(const SideCar &car, const Judged &judged) {
    const Behaviour &behaviour = behaviour_of(car.library);
    SideState state = side_state(car, judged.target);
    Finding finding = make_finding("sidecar-missing", car.origin, car.distribution);
    finding.machine = judged.machine;
    finding.subject = judged.gpu ? judged.processor() : judged.required;
    if (!serves(car, judged.target)) return tell_loss(car, behaviour, state, judged, std::move(finding));
    if (tell_holes(car, behaviour, judged, finding)) return;
    court_.count(Side::gpu, Fate::served, car.origin.input, car.distribution);
    tell_thin(car, state, judged, std::move(finding));
  }

  // A library that loads from a folder beside it, with no such folder anywhere.
  void judge_alone(const Binary &library, SideLibrary which, const Judged &judged) {
    const Behaviour &behaviour = behaviour_of(which);
    if (!is_made_for(behaviour, judged.processor())) return;
    Finding finding = make_finding("sidecar-missing", library.origin, library.distribution);
    finding.machine = judged.machine;
    finding.subject = judged.gpu ? judged.processor() : judged.required;
    finding.holds = "none";
    finding.message = std::string(side_library_title(which)) + " loads its kernels from the folder " +
                      side_library_name(which) + "/library beside it, which is not among the inputs: without " +
                      filled(behaviour.expected, judged.processor()) + " there, " +
                      filled(behaviour.consequence, judged.processor());
    finding.fix = "install its kernel files too, or name their folder as well if they are elsewhere";
    rule(behaviour.missing, std::move(finding));
  }

private:
  void rule(Level level, Finding finding) {
    finding.level = level;
    Fate fate = level == Level::error ? Fate::failed : level == Level::warning ? Fate::partial : Fate::served;
    court_.rule_on(Side::gpu, fate, std::move(finding));
  }

  std::string fix(const SideCar &car, const Behaviour &behaviour, const Judged &judged) const {
    const std::string &processor = judged.processor();
    std::string out, extra = filled(behaviour.fix, processor);
    // Nobody builds a library anew for a slow first run, or a compiler for its bitcode.
    if (behaviour.missing != Level::note && car.library != SideLibrary::device_libs) {
      Project project = find_project(court_.inventory, car.origin, car.distribution);
      std::string what = project.name.empty() ? side_library_title(car.library) : project.name;
      if (project.name.empty()) project.name = side_library_name(car.library);
      std::vector<std::string> holds = startable_targets(car);
      if (!judged.gpu)
        out = build_advice(project, processor, holds);
      else
        out = "install a build of " + what + " for " + processor + ", or " +
              build_advice(project, processor, {}, "build it with ") + override_advice(*judged.gpu, holds);
    }
    if (!extra.empty()) out += (out.empty() ? "" : "; ") + extra;
    return out + other_copy(car, judged);
  }

  // Where else the same library has what this side-car lacks.
  std::string other_copy(const SideCar &car, const Judged &judged) const {
    for (const SideCar &other : cars_) {
      if (&other == &car || !serves(other, judged.target)) continue;
      bool same = other.library == car.library;
      if (!same && (car.library != SideLibrary::rocblas || other.library != SideLibrary::hipblaslt)) continue;
      return same ? "; another copy (" + other.origin.path + ") has " + judged.processor()
                  : "; hipBLASLt has " + judged.processor() + ": ROCBLAS_USE_HIPBLASLT=1 makes rocBLAS use it";
    }
    return "";
  }

  void tell_loss(const SideCar &car, const Behaviour &behaviour, const SideState &state, const Judged &judged,
                 Finding finding) {
    const std::string &processor = judged.processor();
    bool made_for = is_made_for(behaviour, processor);
    std::string consequence = filled(made_for ? behaviour.consequence : behaviour.elsewhere, processor);
    std::string expected = filled(behaviour.expected, processor), title = side_library_title(car.library);
    finding.holds = held(car);
    if (state.kernels && !state.index) {
      finding.rule = "sidecar-incomplete";
      finding.message = counted(state.kernels, "kernel file") + " for " + processor + " but no index (" + expected + "): ";
    } else if (state.other_settings) {
      finding.rule = "sidecar-incomplete";
      finding.message = "kernel files for " + processor + " but for other settings than " + judged.target.text() + ": ";
    } else if (state.index && has_index(car.library)) {
      finding.rule = "sidecar-incomplete";
      finding.message = "an index but no kernel file for " + processor + ": ";
    } else {
      finding.message = "nothing for " + processor + " here that " + title + " can use (looked for: " + expected + "): ";
    }
    finding.message += consequence + code_elsewhere(judged);
    finding.fix = made_for ? fix(car, behaviour, judged) : "";
    // The gate asks for code objects whatever the library makes of their lack.
    bool gate = !judged.gpu && !car.kernels.empty() && state.kernels == 0;
    if (gate) finding.rule = "required-target-missing";
    rule(gate ? Level::error : made_for ? behaviour.missing : Level::note, std::move(finding));
  }

  // "the code of 3 other files for gfx1103 does not help".
  std::string code_elsewhere(const Judged &judged) const {
    uint64_t files = 0;
    for (const DeviceUnit &unit : units_) files += cover(unit, {&judged.target, 1}, Spirv::counts).complete();
    if (files == 0) return "";
    return ", although " + counted(files, "other file") + (files == 1 ? " has code for " : " have code for ") +
           judged.processor();
  }

  // Files that are named but not there. True if there are any.
  bool tell_holes(const SideCar &car, const Behaviour &behaviour, const Judged &judged, Finding finding) {
    std::vector<std::string> missing = missing_names(car, judged.target);
    bool named = !missing.empty();
    if (!named && has_index(car.library)) missing = missing_fallbacks(car, judged.target);
    if (missing.empty()) return tell_builds(car, std::move(finding));
    finding.rule = "sidecar-incomplete";
    finding.holds = "all but " + counted(missing.size(), "file");
    if (named)
      finding.message = std::string("files that its ") + (has_index(car.library) ? "index for " : "tables for ") +
                        judged.processor() + (has_index(car.library) ? " names" : " name") + " are not there: " + few(missing);
    else
      finding.message =
          "fallback kernels that other processors have are not there for " + judged.processor() + ": " + few(missing);
    finding.message += "; the first call that needs one fails";
    finding.fix = "install the files of one build together: " + fix(car, behaviour, judged);
    finding.level = behaviour.missing;
    court_.rule_on(Side::gpu, behaviour.missing == Level::note ? Fate::served : Fate::partial, std::move(finding));
    return true;
  }

  // AOTriton's images are of one build, which the library checks for none of them.
  bool tell_builds(const SideCar &car, Finding finding) {
    std::vector<std::string> builds;
    for (const SideFile *file : car.files)
      if (file->part == SidePart::signature && !file->detail.empty() && std::ranges::find(builds, file->detail) == builds.end())
        builds.push_back(file->detail);
    if (builds.size() < 2) return false;
    finding.rule = "sidecar-incomplete";
    finding.subject = builds.front().substr(0, 8);
    finding.message = "images of different builds of AOTriton (" + few(builds) +
                      ") lie together: attention may fail (hipErrorInvalidValue) or give wrong results";
    finding.fix = "install the images of the build that libaotriton is from";
    rule(Level::warning, std::move(finding));
    return true;
  }

  void tell_thin(const SideCar &car, const SideState &state, const Judged &judged, Finding finding) {
    auto [sibling, most] = fullest_sibling(car, judged.target);
    if (state.kernels * 2 >= most) return;
    finding.rule = "sidecar-incomplete";
    finding.level = Level::note;
    finding.holds = counted(state.kernels, "file");
    finding.message = "far fewer kernel files for " + judged.processor() + " than for " + sibling + " (" +
                      std::to_string(most) + "): kernels tuned for it may be missing, and calls slow";
    court_.add(std::move(finding));
  }

  Court &court_;
  std::vector<SideCar> cars_;
  std::vector<DeviceUnit> units_;
};

// librocblas.so.4, rocblas.dll.
std::optional<SideLibrary> library_of(const Binary &binary) {
  std::string_view name = binary.origin.path;
  if (size_t slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  for (SideLibrary library : {SideLibrary::rocblas, SideLibrary::hipblaslt}) {
    std::string base = side_library_name(library);
    if (name.starts_with("lib" + base + ".so") || name == base + ".dll" || name == "lib" + base + ".dll") return library;
  }
  return std::nullopt;
}

// Of the GPUs that a required target stands for, the first that the side-car does not serve, or the first of all.
Judged required_of(const SideCar &car, const TargetId &target) {
  std::vector<TargetId> gpus = gpus_of(target);
  auto at = std::ranges::find_if_not(gpus, [&](const TargetId &gpu) { return serves(car, gpu); });
  return {-1, at == gpus.end() ? gpus.front() : *at, nullptr, target.text()};
}

void judge_alone(Court &court, SideCarJudge &judge, const Judged &judged) {
  for (const Binary &binary : court.inventory.binaries) {
    auto library = library_of(binary);
    if (!library || binary.origin.input >= court.inventory.inputs.size()) continue;
    // A file by itself says nothing of its surroundings; the kernels of a split library come with its device package.
    const std::string &kind = court.inventory.inputs[binary.origin.input].kind;
    if (kind == "elf" || kind == "pe" || (binary.device && binary.device->external)) continue;
    if (std::ranges::find(judge.cars(), *library, &SideCar::library) == judge.cars().end())
      judge.judge_alone(binary, *library, judged);
  }
}

} // namespace

void judge_sidecars(Court &court) {
  SideCarJudge judge(court, side_cars(court.inventory));
  for (size_t i = 0; i < court.machines.size(); ++i) {
    const Machine &machine = court.machines[i];
    if (!machine.judge_gpus) continue;
    std::vector<const Gpu *> gpus = judged_gpus(machine);
    for (const SideCar &car : judge.cars())
      if (gpus.empty()) court.count(Side::gpu, Fate::open, car.origin.input, car.distribution);
    for (const Gpu *gpu : gpus) {
      if (gpu->loader_target().vendor != Vendor::amd) continue;
      Judged judged{static_cast<int>(i), gpu->loader_target(), gpu, ""};
      for (const SideCar &car : judge.cars()) judge.judge(car, judged);
      judge_alone(court, judge, judged);
    }
  }
  for (const TargetId &target : court.policy.required) {
    if (target.kind != TargetKind::native || target.vendor != Vendor::amd) continue;
    for (const SideCar &car : judge.cars()) judge.judge(car, required_of(car, target));
    judge_alone(court, judge, {-1, gpus_of(target).front(), nullptr, target.text()});
  }
}

} // namespace isa_audit
