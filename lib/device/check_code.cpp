// Flags are a claim too: a tool that patches them, or a linker that merges objects, leaves code that its processor takes for
// other instructions. LLVM's disassembler is the judge, as in llvm-objdump -d, with what it leaves to its user:
// - from gfx10 on a kernel is compiled for waves of 32 or of 64, which changes what registers are legal: code that either of
//   them can decode is right;
// - from gfx11 on 16-bit operands may name half registers (v_mov_b16). The feature real-true16 decodes these and the older
//   form as well; LLVM 22 has it on for some processors only, while compilers write such code for all.
// - gfx950's v_mfma_f32_16x16x128_f8f6f4 and v_mfma_f32_32x32x64_f8f6f4 take fewer source registers for 4- and 6-bit formats.
//   LLVM 22 decodes them as if they were 8 and refuses those that would end above register 255: 8 bytes, taken as right.
// LLVM 22 has no gfx940 and gfx941; their instructions are those of gfx942. It cannot decode for gfx6 and gfx7 at all.
// A function is left at its first bad instruction: where the next one starts is not known.
#include "check_code.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "isa-audit/device/processors.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"

namespace isa_audit {

namespace {

// An LLVM context keeps what it makes for literals until it ends.
constexpr uint64_t kBytesOfOneContext = uint64_t{32} << 20;

const llvm::Triple &amdgpu_triple() {
  static const llvm::Triple triple("amdgcn-amd-amdhsa");
  return triple;
}

const llvm::Target *amdgpu_target() {
  static std::once_flag once;
  static const llvm::Target *target = nullptr;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    std::string error;
    target = llvm::TargetRegistry::lookupTarget(amdgpu_triple(), error);
  });
  return target;
}

// The name under which LLVM decodes for a processor; empty when it cannot. It prints a warning and goes on when it is asked for
// one that it lacks, and ends the process when its disassembler cannot decode for one: ask first.
std::string llvm_processor(const llvm::Target &target, const std::string &processor) {
  if (processor.starts_with("gfx6") || processor.starts_with("gfx7")) return "";
  std::string name = processor == "gfx940" || processor == "gfx941" ? "gfx942" : processor;
  std::unique_ptr<llvm::MCSubtargetInfo> any(target.createMCSubtargetInfo(amdgpu_triple(), "", ""));
  return any && any->isCPUStringValid(name) ? name : "";
}

// The size of an instruction that exists, though LLVM 22 does not decode it; 0 for any other.
uint64_t size_unknown_to_llvm(const std::string &processor, llvm::ArrayRef<uint8_t> code) {
  constexpr uint16_t kMfma16x16x128 = 0xd3ad, kMfma32x32x64 = 0xd3ae;
  if (processor != "gfx950" || code.size() < 8) return 0;
  uint16_t encoding = read_le<uint16_t>(code.data() + 2);
  return encoding == kMfma16x16x128 || encoding == kMfma32x32x64 ? 8 : 0;
}

// Instructions of 4 and of 8 bytes that were decoded before: LLVM takes a microsecond for one, and code repeats itself. What an
// instruction of that size is, its own bytes say.
class Seen {
public:
  // The size of the instruction at `code` if it was seen; 0 otherwise.
  uint64_t find(llvm::ArrayRef<uint8_t> code) const {
    if (code.size() < 8) return 0;
    uint64_t both = read_le<uint64_t>(code.data()), first = both & 0xffffffff;
    return words_[slot(first)] == first + 1 ? 4 : both && pairs_[slot(both)] == both ? 8 : 0;
  }
  void add(llvm::ArrayRef<uint8_t> code, uint64_t size) {
    if (size == 4)
      words_[slot(read_le<uint32_t>(code.data()))] = uint64_t{read_le<uint32_t>(code.data())} + 1; // 0 stands for none
    else if (size == 8)
      pairs_[slot(read_le<uint64_t>(code.data()))] = read_le<uint64_t>(code.data());
  }

private:
  static constexpr unsigned kBits = 14;
  static size_t slot(uint64_t bytes) { return (bytes * 0x9e3779b97f4a7c15) >> (64 - kBits); }
  // Zero bytes are never an instruction of 8 bytes, so that 0 stands for none here too.
  std::vector<uint64_t> words_ = std::vector<uint64_t>(size_t{1} << kBits), pairs_ = words_;
};

class Decoder {
public:
  Decoder(const llvm::Target &target, const std::string &processor, const std::string &features) : processor_(processor) {
    const llvm::Triple &triple = amdgpu_triple();
    registers_.reset(target.createMCRegInfo(triple));
    assembler_.reset(target.createMCAsmInfo(*registers_, triple, options_));
    subtarget_.reset(target.createMCSubtargetInfo(triple, processor, features));
    context_ = std::make_unique<llvm::MCContext>(triple, assembler_.get(), registers_.get(), subtarget_.get());
    disassembler_.reset(target.createMCDisassembler(*subtarget_, *context_));
  }

  // Offset of the first instruction that cannot be decoded; the size of `code` when there is none.
  uint64_t first_bad(const Bytes &code, uint64_t address) {
    uint64_t at = 0;
    llvm::MCInst instruction;
    while (at < code.size()) {
      instruction.clear();
      uint64_t size = 0;
      auto rest = llvm::ArrayRef(code.data() + at, code.size() - at);
      if (uint64_t known = seen_.find(rest)) {
        at += known;
        continue;
      }
      decoded_ += sizeof(uint64_t);
      auto status = disassembler_->getInstruction(instruction, size, rest, address + at, llvm::nulls());
      if (status == llvm::MCDisassembler::Fail) size = size_unknown_to_llvm(processor_, rest);
      if (size == 0) break;
      seen_.add(rest, size);
      at += size;
    }
    return at;
  }

  bool is_worn() const { return decoded_ > kBytesOfOneContext; }

private:
  std::string processor_;
  llvm::MCTargetOptions options_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembler_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
  Seen seen_;
  uint64_t decoded_ = 0; // bytes, about
};

// The ways in which the code of a processor may have been written; one decoder each, the usual way first.
class Decoders {
public:
  explicit Decoders(const std::string &processor) {
    const llvm::Target *target = amdgpu_target();
    if (target) name_ = llvm_processor(*target, processor);
    if (name_.empty()) return;
    std::unique_ptr<llvm::MCSubtargetInfo> plain(target->createMCSubtargetInfo(amdgpu_triple(), name_, ""));
    std::string base = plain->checkFeatures("+true16") ? "+real-true16" : "";
    features_.push_back(base);
    const Processor *row = find_processor(processor);
    if (row && row->wavefront == 32 && !processor.starts_with("gfx125"))
      features_.push_back(base + (base.empty() ? "" : ",") + "-wavefrontsize32,+wavefrontsize64");
    made_.resize(features_.size());
  }

  bool any() const { return !features_.empty(); }

  uint64_t first_bad(const Bytes &code, uint64_t address) {
    uint64_t reached = 0;
    for (size_t i = 0; i < features_.size() && reached < code.size(); ++i) {
      std::unique_ptr<Decoder> &decoder = made_[i];
      if (!decoder || decoder->is_worn()) decoder = std::make_unique<Decoder>(*amdgpu_target(), name_, features_[i]);
      reached = std::max(reached, decoder->first_bad(code, address));
    }
    return reached;
  }

private:
  std::string name_;
  std::vector<std::string> features_;
  std::vector<std::unique_ptr<Decoder>> made_;
};

// Kept by each thread, for an LLVM context belongs to one.
Decoders &decoders_for(const std::string &processor) {
  thread_local std::map<std::string, Decoders> kept;
  return kept.try_emplace(processor, processor).first->second;
}

struct Function {
  uint64_t address = 0, size = 0;
  std::string_view name;
};

std::vector<Function> functions_of(const Elf &elf) {
  std::vector<Function> out;
  for (bool dynamic : {false, true}) {
    elf.for_each_symbol(dynamic, [&](const ElfSymbol &symbol) {
      if (symbol.type == llvm::ELF::STT_FUNC && symbol.section != llvm::ELF::SHN_UNDEF && symbol.size)
        out.push_back({symbol.value, symbol.size, symbol.name});
    });
    if (!out.empty()) break;
  }
  std::ranges::sort(out, {}, [](const Function &f) { return std::tie(f.address, f.size, f.name); });
  auto [first, last] = std::ranges::unique(out, {}, &Function::address);
  out.erase(first, last);
  return out;
}

} // namespace

void check_code(const Elf &elf, CodeObject &object) {
  if (!object.loadable) return;
  CodeCheck &check = object.code;
  Decoders &decoders = decoders_for(object.target.processor);
  check.state = decoders.any() ? CodeCheck::State::checked : CodeCheck::State::unsupported;
  if (!decoders.any()) return;
  // Functions do not overlap; a crafted table of symbols must not make the work a square of the file's size.
  uint64_t left = elf.file().size();
  for (const Function &function : functions_of(elf)) {
    std::optional<uint64_t> offset = elf.offset_of(function.address);
    if (!offset || !elf.file().contains(*offset, function.size)) continue;
    ++check.functions;
    if (function.size > left) {
      if (check.bad++ == 0) check.first_bad = llvm::formatv("{0}, which overlaps other functions", function.name).str();
      break;
    }
    left -= function.size;
    Bytes code = llvm::cantFail(elf.file().slice(*offset, function.size));
    uint64_t reached = decoders.first_bad(code, function.address);
    if (reached >= code.size()) continue;
    if (check.bad++ == 0) check.first_bad = llvm::formatv("{0}+{1:x}", function.name, reached).str();
  }
}

} // namespace isa_audit
