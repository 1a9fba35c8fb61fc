#include <cstdio>

#include "isa-audit/base/bytes.h"

int main() {
  auto part = isa_audit::Bytes().slice(1, 2);
  std::printf("%s\n", llvm::toString(part.takeError()).c_str());
}
