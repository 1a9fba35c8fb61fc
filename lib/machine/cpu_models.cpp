// CPUs by name.
//
// LLVM's lists (llvm/TargetParser/X86TargetParser) name a CPU's features as a compiler wants them: not closed under
// implication (x86-64-v3 lacks AVX), without CMOV for every AMD CPU, without what a compiler never emits on its own (RDTSCP,
// 3DNow!), without AES for Westmere to Broadwell because some of those were sold without it. So the lists are closed here,
// joined with x86-64-v1, and completed from kCompletions.
//
// QEMU's models (target/i386/cpu.c, QEMU 9; cumulative rows) are what virtual machines show. Proxmox VE's x86-64-v2-AES is
// QEMU's qemu64 with flags added (PVE/QemuServer/CPUConfig.pm).
#include <algorithm>
#include <map>

#include "isa-audit/machine/cpu.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/X86TargetParser.h"

namespace isa_audit {

namespace {

using enum Feature;
using llvm::StringRef;

struct Completion {
  std::vector<StringRef> cpus;
  IsaSet features;
};

// What LLVM does not model. RDTSCP: Intel since Nehalem and Silvermont, AMD since family 10h. AVX512ER, PF, 4FMAPS, 4VNNIW
// and PREFETCHWT1 left LLVM together with its support for Xeon Phi.
const std::vector<Completion> &completions() {
  static const std::vector<Completion> kCompletions = {
      {{"k8", "athlon64", "athlon-fx", "opteron", "k8-sse3", "athlon64-sse3", "opteron-sse3"},
       {threednow, threednowa, mmx_ext}},
      {{"amdfam10", "barcelona"}, {threednow, threednowa, mmx_ext, rdtscp}},
      {{"btver1", "btver2", "bdver1", "bdver2", "bdver3", "bdver4", "znver1", "znver2", "znver3", "znver4", "znver5"},
       {mmx_ext, rdtscp}},
      {{"knl"}, {avx512er, avx512pf, prefetchwt1}},
      {{"knm"}, {avx512er, avx512pf, prefetchwt1, avx512_4fmaps, avx512_4vnniw}},
  };
  return kCompletions;
}

constexpr std::string_view kWithoutRdtscp[] = {"nocona", "core2", "penryn", "bonnell", "atom"};
constexpr std::string_view kSoldWithAndWithoutAes[] = {"westmere",   "sandybridge", "corei7-avx", "ivybridge",
                                                       "core-avx-i", "haswell",     "core-avx2",  "broadwell"};
// APX is one CPUID flag, but eight features of LLVM; EGPR alone tells it.
constexpr StringRef kApxInLlvm = "egpr";

bool is_one_of(std::string_view name, llvm::ArrayRef<std::string_view> names) { return llvm::is_contained(names, name); }

llvm::SmallVector<StringRef, 128> llvm_names() {
  llvm::SmallVector<StringRef, 128> names;
  llvm::X86::fillValidCPUArchList(names, /*Only64Bit=*/true);
  // The levels are the psABI's, not LLVM's.
  llvm::erase_if(names, [](StringRef name) { return name.starts_with("x86-64-v"); });
  return names;
}

CpuModel llvm_model(StringRef name) {
  CpuModel model{name.str(), psabi_level(1), {}};
  llvm::SmallVector<StringRef, 128> features;
  llvm::X86::getFeaturesForCPU(name, features);
  llvm::StringMap<bool> closed;
  for (StringRef feature : features) {
    closed[feature] = true;
    llvm::X86::updateImpliedFeatures(feature, true, closed);
  }
  for (const auto &entry : closed) {
    if (!entry.second) continue;
    if (std::optional<Feature> feature = find_feature(std::string_view(entry.first()))) model.features.insert(*feature);
    if (entry.first() == kApxInLlvm) model.features.insert(apx);
  }
  bool is_amd = false;
  for (const Completion &row : completions())
    if (llvm::is_contained(row.cpus, name)) {
      model.features |= row.features;
      is_amd |= row.features.contains(mmx_ext);
    }
  if (name != "x86-64" && !is_amd && !is_one_of(name, kWithoutRdtscp)) model.features.insert(rdtscp);
  if (is_one_of(name, kSoldWithAndWithoutAes))
    model.note = "some CPUs of this generation have no AES, so it is left out: " + model.name + "+aes adds it";
  return model;
}

struct QemuRow {
  std::string_view name, base; // features of `base` and these, without those
  IsaSet adds, lacks;
};

const std::vector<QemuRow> &qemu_rows() {
  static const std::vector<QemuRow> kRows = {
      {"qemu64", "", {sse3, cx16, sahf, svm}, {}},
      {"kvm64", "", {sse3, cx16}, {}},
      {"x86-64-v2-AES", "", psabi_level(2) | IsaSet{aes}, {}},
      {"phenom", "", {sse3, cx16, popcnt, monitor, threednow, threednowa, mmx_ext, rdtscp, sahf, svm, lzcnt, sse4a}, {}},
      {"core2duo", "", {sse3, ssse3, cx16, monitor, sahf}, {}},
      {"Conroe", "", {sse3, ssse3, sahf}, {}},
      {"Penryn", "Conroe", {sse4_1, cx16}, {}},
      {"Nehalem", "Penryn", {sse4_2, popcnt}, {}},
      {"Westmere", "Nehalem", {aes, pclmul}, {}},
      {"SandyBridge", "Westmere", {avx, xsave, xsaveopt, rdtscp}, {}},
      {"IvyBridge", "SandyBridge", {f16c, rdrnd, fsgsbase}, {}},
      {"Haswell", "IvyBridge", {avx2, fma, movbe, bmi, bmi2, lzcnt, invpcid, rtm}, {}},
      {"Broadwell", "Haswell", {rdseed, adx, prfchw}, {}},
      {"Skylake-Client", "Broadwell", {xsavec}, {}},
      {"Skylake-Server", "Skylake-Client", {clwb, clflushopt, pku, avx512f, avx512bw, avx512cd, avx512dq, avx512vl}, {}},
      {"Cascadelake-Server", "Skylake-Server", {avx512vnni}, {}},
      {"Cooperlake", "Cascadelake-Server", {avx512bf16}, {}},
      {"Icelake-Server",
       "Cascadelake-Server",
       {avx512ifma, avx512vbmi, avx512vbmi2, avx512bitalg, avx512vpopcntdq, gfni, vaes, vpclmulqdq, wbnoinvd},
       {}},
      {"SapphireRapids",
       "Icelake-Server",
       {sha, rdpid, xsaves, avxvnni, avx512bf16, avx512fp16, amx_tile, amx_int8, amx_bf16, serialize, tsxldtrk},
       {}},
      {"GraniteRapids", "SapphireRapids", {amx_fp16, prefetchi}, {}},
      {"Denverton",
       "Westmere",
       {movbe, monitor, rdrnd, rdseed, xsave, xsaveopt, xsavec, xsaves, fsgsbase, clflushopt, sha, rdtscp, prfchw},
       {}},
      {"Snowridge", "Denverton", {gfni, cldemote, movdiri, movdir64b, clwb}, {}},
      {"SierraForest",
       "Snowridge",
       {avx,  avx2,       fma,   f16c,      bmi,     bmi2,    lzcnt,        adx,         invpcid,   pku,
        vaes, vpclmulqdq, rdpid, serialize, avxvnni, avxifma, avxneconvert, avxvnniint8, cmpccxadd, wbnoinvd},
       {}},
      {"KnightsMill",
       "Broadwell",
       {avx512f, avx512cd, avx512er, avx512pf, avx512_4fmaps, avx512_4vnniw, avx512vpopcntdq},
       {rtm, invpcid}},
      {"Opteron_G1", "", {sse3}, {}},
      {"Opteron_G2", "Opteron_G1", {cx16, sahf, svm}, {}},
      {"Opteron_G3", "Opteron_G2", {popcnt, monitor, rdtscp, lzcnt, sse4a}, {}},
      {"Opteron_G4", "Opteron_G3", {ssse3, sse4_1, sse4_2, aes, pclmul, avx, xsave, fma4, xop, prfchw}, {monitor}},
      {"Opteron_G5", "Opteron_G4", {f16c, fma, tbm}, {}},
      {"EPYC",
       "",
       psabi_level(3) | IsaSet{rdrnd, aes, monitor, pclmul, fsgsbase, rdseed, adx, clflushopt, sha, xsaveopt, xsavec, prfchw,
                               sse4a, svm, mmx_ext, rdtscp},
       {}},
      {"EPYC-Rome", "EPYC", {clwb, rdpid, wbnoinvd, clzero, xsaves}, {}},
      {"EPYC-Milan", "EPYC-Rome", {pku, invpcid}, {}},
      {"EPYC-Genoa",
       "EPYC-Milan",
       {vaes, vpclmulqdq, gfni, avx512f, avx512bw, avx512cd, avx512dq, avx512vl, avx512ifma, avx512vbmi, avx512vbmi2,
        avx512vnni, avx512bitalg, avx512vpopcntdq, avx512bf16},
       {}},
      {"EPYC-Turin", "EPYC-Genoa", {avxvnni, movdiri, movdir64b, avx512vp2intersect, prefetchi}, {}},
      {"Dhyana", "EPYC", {}, {sha, aes, pclmul}},
  };
  return kRows;
}

IsaSet qemu_features(std::string_view name) {
  const std::vector<QemuRow> &rows = qemu_rows();
  auto row = std::find_if(rows.begin(), rows.end(), [&](const QemuRow &r) { return r.name == name; });
  IsaSet base = row->base.empty() ? psabi_level(1) : qemu_features(row->base);
  return (base | row->adds) - row->lacks;
}

// "Haswell-noTSX-IBRS" and "Haswell-v4" are the model "Haswell": the suffixes change mitigations, and TSX.
std::optional<CpuModel> qemu_model(StringRef text, bool fold_case) {
  StringRef base = text;
  bool no_tsx = false;
  auto drop = [&](StringRef suffix) { return fold_case ? base.consume_back_insensitive(suffix) : base.consume_back(suffix); };
  for (bool dropped = true; dropped;) {
    dropped = drop("-IBRS") || drop("-IBPB");
    if (drop("-noTSX")) no_tsx = dropped = true;
    size_t dash = base.rfind('-');
    if (dash != StringRef::npos && base.size() == dash + 3 && llvm::toLower(base[dash + 1]) == 'v' &&
        llvm::isDigit(base[dash + 2]) && !base.starts_with_insensitive("x86-64")) {
      base = base.take_front(dash);
      dropped = true;
    }
  }
  for (const QemuRow &row : qemu_rows()) {
    StringRef name(row.name);
    if (fold_case ? !name.equals_insensitive(base) : name != base) continue;
    CpuModel model{name.str() + text.drop_front(base.size()).str(), qemu_features(row.name), {}};
    if (no_tsx) model.features.erase(rtm);
    return model;
  }
  return std::nullopt;
}

std::optional<CpuModel> special_model(StringRef text) {
  for (int level = 1; level <= 4; ++level) {
    std::string name = "x86-64-v" + std::to_string(level);
    if (text.equals_insensitive(name)) return CpuModel{name, psabi_level(level), {}};
  }
  // Measured on Apple silicon: everything up to SSE4.2, and AES. Since macOS 15 AVX and AVX2 run as well, where the virtual
  // machine or the tool that starts the program asks for them.
  if (text.equals_insensitive("rosetta2"))
    return CpuModel{"rosetta2", psabi_level(2) | IsaSet{aes, pclmul},
                    "Rosetta 2 as before macOS 15, without AVX; from macOS 15 on rosetta2+avx2+fma+f16c+bmi+bmi2+movbe+lzcnt"};
  return std::nullopt;
}

} // namespace

std::optional<CpuModel> find_cpu_model(std::string_view name) {
  StringRef text(name);
  if (std::optional<CpuModel> model = special_model(text)) return model;
  const llvm::SmallVector<StringRef, 128> llvm_cpus = llvm_names();
  if (llvm::is_contained(llvm_cpus, text)) return llvm_model(text);
  if (std::optional<CpuModel> model = qemu_model(text, false)) return model;
  std::string lower = text.lower();
  if (llvm::is_contained(llvm_cpus, StringRef(lower))) return llvm_model(lower);
  return qemu_model(text, true);
}

std::vector<std::string> cpu_model_names() {
  std::vector<std::string> names = {"rosetta2"};
  for (int level = 1; level <= 4; ++level) names.push_back("x86-64-v" + std::to_string(level));
  for (StringRef name : llvm_names()) names.push_back(name.str());
  for (const QemuRow &row : qemu_rows()) names.emplace_back(row.name);
  return names;
}

} // namespace isa_audit
