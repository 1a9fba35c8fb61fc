// LLVM MC as the other decoder of x86-64: what ours is held against, and measured beside.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

namespace isa_audit {

class LlvmX86 {
public:
  LlvmX86() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    std::string error;
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple_, error);
    registers_.reset(target->createMCRegInfo(triple_));
    assembler_.reset(target->createMCAsmInfo(*registers_, triple_, options_));
    instructions_.reset(target->createMCInstrInfo());
    subtarget_.reset(target->createMCSubtargetInfo(triple_, "", ""));
    context_ = std::make_unique<llvm::MCContext>(triple_, assembler_.get(), registers_.get(), subtarget_.get());
    disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
  }
  // Bytes of the instruction at the front of `code`, 0 for none; its name in LLVM's tables where `name` is given.
  uint64_t length(std::span<const uint8_t> code, std::string *name = nullptr) const {
    llvm::MCInst insn;
    uint64_t size = 0;
    const auto status = disassembler_->getInstruction(insn, size, {code.data(), code.size()}, 0, llvm::nulls());
    if (status != llvm::MCDisassembler::Success) return 0;
    if (name) *name = instructions_->getName(insn.getOpcode()).str();
    return size;
  }

private:
  llvm::Triple triple_{"x86_64-unknown-linux-gnu"};
  llvm::MCTargetOptions options_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembler_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
};

} // namespace isa_audit
