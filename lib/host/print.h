// Prints one instruction in Intel syntax, by LLVM's disassembler. Only for evidence: it costs a thousand times what decode()
// does.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace isa_audit::host {

class Printer {
public:
  Printer();
  ~Printer();
  Printer(const Printer &) = delete;
  Printer &operator=(const Printer &) = delete;

  // "vpbroadcastd ymm0, xmm0", with single spaces; empty when LLVM does not know the bytes.
  std::string print(std::span<const uint8_t> bytes, uint64_t address);

private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

} // namespace isa_audit::host
