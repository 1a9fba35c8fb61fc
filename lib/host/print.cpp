#include "print.h"

#include <mutex>

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

namespace isa_audit::host {

namespace {

constexpr unsigned kIntelSyntax = 1;

// LLVM's registry of targets is global and not locked.
const llvm::Target *x86_target(const llvm::Triple &triple) {
  static std::once_flag once;
  static const llvm::Target *target = nullptr;
  std::call_once(once, [&] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    std::string error;
    target = llvm::TargetRegistry::lookupTarget(triple, error);
  });
  return target;
}

} // namespace

struct Printer::Parts {
  llvm::Triple triple{"x86_64-unknown-linux-gnu"};
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembler;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

Printer::Printer() : parts_(std::make_unique<Parts>()) {
  Parts &p = *parts_;
  const llvm::Target *target = x86_target(p.triple);
  if (!target) return;
  p.registers.reset(target->createMCRegInfo(p.triple));
  p.assembler.reset(target->createMCAsmInfo(*p.registers, p.triple, p.options));
  p.instructions.reset(target->createMCInstrInfo());
  p.subtarget.reset(target->createMCSubtargetInfo(p.triple, "", ""));
  p.context = std::make_unique<llvm::MCContext>(p.triple, p.assembler.get(), p.registers.get(), p.subtarget.get());
  p.disassembler.reset(target->createMCDisassembler(*p.subtarget, *p.context));
  p.printer.reset(target->createMCInstPrinter(p.triple, kIntelSyntax, *p.assembler, *p.instructions, *p.registers));
  if (p.printer) p.printer->setPrintImmHex(true);
}

Printer::~Printer() = default;

std::string Printer::print(std::span<const uint8_t> bytes, uint64_t address) {
  if (!parts_->disassembler || !parts_->printer) return {};
  llvm::MCInst instruction;
  uint64_t size = 0;
  const auto status =
      parts_->disassembler->getInstruction(instruction, size, {bytes.data(), bytes.size()}, address, llvm::nulls());
  if (status != llvm::MCDisassembler::Success) return {};
  std::string text, line;
  llvm::raw_string_ostream out(text);
  parts_->printer->printInst(&instruction, address, "", *parts_->subtarget, out);
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n';
    if (!space)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

} // namespace isa_audit::host
