// x86-64 libraries: the program model and the analysis of their code.
#include "isa-audit/host/analyse.h"
#include "llvm/BinaryFormat/ELF.h"

using namespace isa_audit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto elf = Elf::read(Bytes::borrowed({data, size}));
  if (!elf) {
    llvm::consumeError(elf.takeError());
    return 0;
  }
  if (!elf->is_64() || elf->machine() != llvm::ELF::EM_X86_64) return 0;
  std::vector<std::string> problems;
  (void)analyse_host(*elf, serial_for, problems);
  return 0;
}
