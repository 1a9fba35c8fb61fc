#include "isa-audit/base/bytes.h"

#include "isa-audit/base/problem.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

llvm::Expected<Bytes> Bytes::slice(uint64_t offset, uint64_t length) const {
  if (!contains(offset, length))
    return make_error(
        llvm::formatv("bytes {0:x} to {0:x}+{1:x} lie outside the {2:x} bytes there are", offset, length, size()).str());
  return Bytes(view_.subspan(offset, length), owner_);
}

llvm::Error make_error(std::string message) {
  return llvm::createStringError(std::move(message), llvm::inconvertibleErrorCode());
}

} // namespace isa_audit
