// From Zydis' ISA sets to CPUID features.
//
// A suffix _128 or _256 means AVX512VL as well; _128N, _SCALAR and _KOP do not. TZCNT is in the BMI1 set and ENDBR and RDSSP
// are in CET: both run, as BSF and as no-ops, where the feature is missing. XGETBV and CPUID are how programs ask: no need.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "generate.h"

namespace isa_audit::host {

namespace {

using enum Feature;

IsaSet evex_features(std::string_view set) {
  struct Row {
    std::string_view prefix;
    IsaSet features;
  };
  // Longer prefixes first.
  static const Row kRows[] = {
      {"AVX512BW_", {avx512bw}},
      {"AVX512CD_", {avx512cd}},
      {"AVX512DQ_", {avx512dq}},
      {"AVX512ER_", {avx512er}},
      {"AVX512PF_", {avx512pf}},
      {"AVX512F_", {}},
      {"AVX512_4FMAPS_", {avx512_4fmaps}},
      {"AVX512_4VNNIW_", {avx512_4vnniw}},
      {"AVX512_BF16_", {avx512bf16}},
      {"AVX512_BITALG_", {avx512bitalg}},
      {"AVX512_FP16_", {avx512fp16}},
      {"AVX512_GFNI_", {gfni}},
      {"AVX512_IFMA_", {avx512ifma}},
      {"AVX512_VAES_", {vaes}},
      {"AVX512_VBMI2_", {avx512vbmi2}},
      {"AVX512_VBMI_", {avx512vbmi}},
      {"AVX512_VNNI_", {avx512vnni}},
      {"AVX512_VP2INTERSECT_", {avx512vp2intersect}},
      {"AVX512_VPCLMULQDQ_", {vpclmulqdq}},
      {"AVX512_VPOPCNTDQ_", {avx512vpopcntdq}},
  };
  for (const Row &row : kRows) {
    if (!set.starts_with(row.prefix)) continue;
    IsaSet features = row.features | IsaSet{avx512f};
    const std::string_view tail = set.substr(row.prefix.size());
    if (tail == "128" || tail == "256") features.insert(avx512vl);
    return features;
  }
  std::fprintf(stderr, "ISA set %.*s is not known\n", static_cast<int>(set.size()), set.data());
  std::exit(1);
}

IsaSet legacy_features(const ZydisDecodedInstruction &insn) {
  const bool vex = insn.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;
  switch (insn.meta.isa_set) {
  case ZYDIS_ISA_SET_ADOX_ADCX: return {adx};
  case ZYDIS_ISA_SET_AES: return {aes};
  case ZYDIS_ISA_SET_AVXAES: return {avx, aes};
  case ZYDIS_ISA_SET_AMD3DNOW: return {threednow};
  case ZYDIS_ISA_SET_AMX_BF16: return {amx_bf16};
  case ZYDIS_ISA_SET_AMX_INT8: return {amx_int8};
  case ZYDIS_ISA_SET_AMX_TILE: return {amx_tile};
  case ZYDIS_ISA_SET_AVX: return insn.mnemonic == ZYDIS_MNEMONIC_VPCLMULQDQ ? IsaSet{avx, pclmul} : IsaSet{avx};
  case ZYDIS_ISA_SET_AVX2:
  case ZYDIS_ISA_SET_AVX2GATHER: return {avx2};
  case ZYDIS_ISA_SET_AVX_GFNI: return {avx, gfni};
  case ZYDIS_ISA_SET_AVX_VNNI: return {avxvnni};
  case ZYDIS_ISA_SET_BMI1: return {bmi};
  case ZYDIS_ISA_SET_BMI2: return {bmi2};
  case ZYDIS_ISA_SET_CLFLUSHOPT: return {clflushopt};
  case ZYDIS_ISA_SET_CLWB: return {clwb};
  case ZYDIS_ISA_SET_CLZERO: return {clzero};
  case ZYDIS_ISA_SET_FCMOV:
  case ZYDIS_ISA_SET_CMOV: return {cmov};
  case ZYDIS_ISA_SET_CMPXCHG16B: return {cx16};
  case ZYDIS_ISA_SET_ENQCMD: return {enqcmd};
  case ZYDIS_ISA_SET_F16C: return {f16c};
  case ZYDIS_ISA_SET_FMA: return {fma};
  case ZYDIS_ISA_SET_FMA4: return {fma4};
  case ZYDIS_ISA_SET_FXSAVE:
  case ZYDIS_ISA_SET_FXSAVE64: return {fxsr};
  case ZYDIS_ISA_SET_GFNI: return {gfni};
  case ZYDIS_ISA_SET_HRESET: return {hreset};
  case ZYDIS_ISA_SET_INVPCID: return {invpcid};
  case ZYDIS_ISA_SET_KEYLOCKER: return {kl};
  case ZYDIS_ISA_SET_KEYLOCKER_WIDE: return {widekl};
  case ZYDIS_ISA_SET_LAHF: return {sahf};
  case ZYDIS_ISA_SET_LWP: return {lwp};
  case ZYDIS_ISA_SET_MONITOR: return {monitor};
  case ZYDIS_ISA_SET_MONITORX: return {mwaitx};
  case ZYDIS_ISA_SET_MOVBE: return {movbe};
  case ZYDIS_ISA_SET_MOVDIR: return insn.mnemonic == ZYDIS_MNEMONIC_MOVDIR64B ? IsaSet{movdir64b} : IsaSet{movdiri};
  case ZYDIS_ISA_SET_PCLMULQDQ: return {pclmul};
  case ZYDIS_ISA_SET_PENTIUMMMX: return {mmx};
  case ZYDIS_ISA_SET_PENTIUMREAL: return insn.mnemonic == ZYDIS_MNEMONIC_CMPXCHG8B ? IsaSet{cx8} : IsaSet{};
  case ZYDIS_ISA_SET_PKU: return {pku};
  case ZYDIS_ISA_SET_POPCNT: return {popcnt};
  case ZYDIS_ISA_SET_PT: return {ptwrite};
  case ZYDIS_ISA_SET_RDPID: return {rdpid};
  case ZYDIS_ISA_SET_RDPRU: return {rdpru};
  case ZYDIS_ISA_SET_RDRAND: return {rdrnd};
  case ZYDIS_ISA_SET_RDSEED: return {rdseed};
  case ZYDIS_ISA_SET_RDTSCP: return {rdtscp};
  case ZYDIS_ISA_SET_RDWRFSGS: return {fsgsbase};
  case ZYDIS_ISA_SET_RTM: return {rtm};
  case ZYDIS_ISA_SET_SERIALIZE: return {serialize};
  case ZYDIS_ISA_SET_SGX:
  case ZYDIS_ISA_SET_SGX_ENCLV: return {sgx};
  case ZYDIS_ISA_SET_SHA: return {sha};
  case ZYDIS_ISA_SET_SSE:
  case ZYDIS_ISA_SET_SSEMXCSR: return vex ? IsaSet{avx} : IsaSet{sse};
  case ZYDIS_ISA_SET_SSE2:
  case ZYDIS_ISA_SET_SSE2MMX: return {sse2};
  case ZYDIS_ISA_SET_SSE3:
  case ZYDIS_ISA_SET_SSE3X87: return {sse3};
  case ZYDIS_ISA_SET_SSE4: return {sse4_1};
  case ZYDIS_ISA_SET_SSE42: return {sse4_2};
  case ZYDIS_ISA_SET_SSE4A: return {sse4a};
  case ZYDIS_ISA_SET_SSSE3:
  case ZYDIS_ISA_SET_SSSE3MMX: return {ssse3};
  case ZYDIS_ISA_SET_SVM: return {svm};
  case ZYDIS_ISA_SET_TBM: return {tbm};
  case ZYDIS_ISA_SET_TSX_LDTRK: return {tsxldtrk};
  case ZYDIS_ISA_SET_UINTR: return {uintr};
  case ZYDIS_ISA_SET_VAES: return {vaes};
  case ZYDIS_ISA_SET_VMFUNC:
  case ZYDIS_ISA_SET_VTX: return {vmx};
  case ZYDIS_ISA_SET_VPCLMULQDQ: return {vpclmulqdq};
  case ZYDIS_ISA_SET_WAITPKG: return {waitpkg};
  case ZYDIS_ISA_SET_X87: return {x87};
  case ZYDIS_ISA_SET_XOP: return {xop};
  case ZYDIS_ISA_SET_XSAVE: return insn.mnemonic == ZYDIS_MNEMONIC_XGETBV ? IsaSet{} : IsaSet{xsave};
  case ZYDIS_ISA_SET_XSAVEC: return {xsavec};
  case ZYDIS_ISA_SET_XSAVEOPT: return {xsaveopt};
  case ZYDIS_ISA_SET_XSAVES: return {xsaves};
  case ZYDIS_ISA_SET_CET:
    switch (insn.mnemonic) {
    case ZYDIS_MNEMONIC_ENDBR32:
    case ZYDIS_MNEMONIC_ENDBR64:
    case ZYDIS_MNEMONIC_RDSSPD:
    case ZYDIS_MNEMONIC_RDSSPQ: return {};
    default: return {shstk};
    }
  default: return {}; // in every x86-64 CPU, a hint, or for the kernel
  }
}

} // namespace

InsnClass class_of(const ZydisDecodedInstruction &insn) {
  if (insn.mnemonic == ZYDIS_MNEMONIC_LZCNT) return {{}, {lzcnt}};
  if (insn.mnemonic == ZYDIS_MNEMONIC_TZCNT) return {{}, {bmi}};
  const std::string_view set = ZydisISASetGetString(insn.meta.isa_set);
  if (set.starts_with("AVX512")) return {evex_features(set), {}};
  return {legacy_features(insn), {}};
}

bool zydis_knows(Map map) {
  switch (map) {
  case Map::vex5:
  case Map::vex7:
  case Map::evex4: return false;
  default: return true;
  }
}

} // namespace isa_audit::host
