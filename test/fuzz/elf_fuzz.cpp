// ELF files: headers, notes, symbols, and the device code found inside.
#include "isa-audit/device/read_device.h"
#include "isa-audit/elf/elf.h"

using namespace isa_audit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto elf = Elf::read(Bytes::borrowed({data, size}));
  if (!elf) {
    llvm::consumeError(elf.takeError());
    return 0;
  }
  (void)elf->needed();
  (void)elf->code_ranges();
  (void)elf->offset_of(size);
  DeviceLimits limits;
  limits.max_bundle = 1u << 24;
  Problems problems;
  read_elf_device(*elf, {}, limits, serial_for, problems);
  return 0;
}
