// A read-only view of bytes together with whatever keeps them alive (a file mapping, an inflated member, a decompressed
// bundle). `slice` is the only way to cut a view, so that every offset that comes from a file passes one bounds check.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "llvm/Support/Error.h"

namespace isa_audit {

class Bytes {
public:
  Bytes() = default;
  Bytes(std::span<const uint8_t> view, std::shared_ptr<const void> owner) : view_(view), owner_(std::move(owner)) {}

  // Bytes that outlive every user of the result (string literals, test data): nothing is kept alive.
  static Bytes borrowed(std::span<const uint8_t> view) { return Bytes(view, nullptr); }

  const uint8_t *data() const { return view_.data(); }
  uint64_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  std::span<const uint8_t> view() const { return view_; }
  std::string_view text() const { return {reinterpret_cast<const char *>(view_.data()), view_.size()}; }
  const std::shared_ptr<const void> &owner() const { return owner_; }

  // The `length` bytes at `offset`, or an error that names both and the size when they do not lie inside.
  llvm::Expected<Bytes> slice(uint64_t offset, uint64_t length) const;

  // At most the first `limit` bytes; never fails.
  Bytes prefix(uint64_t limit) const { return Bytes(view_.first(limit < view_.size() ? limit : view_.size()), owner_); }

  // True if `length` bytes at `offset` lie inside; safe for any pair of values.
  bool contains(uint64_t offset, uint64_t length) const { return offset <= size() && length <= size() - offset; }

private:
  std::span<const uint8_t> view_;
  std::shared_ptr<const void> owner_;
};

// The little-endian integer at `at`; the caller has checked the bounds. (x86-64 is the only host the tool builds for.)
template <typename T> T read_le(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// The little-endian integer at `offset`, bounds checked.
template <typename T> llvm::Expected<T> read_le(const Bytes &bytes, uint64_t offset) {
  auto part = bytes.slice(offset, sizeof(T));
  if (!part) return part.takeError();
  return read_le<T>(part->data());
}

// `value` rounded up to a multiple of `alignment` (a power of two); UINT64_MAX when the sum does not fit.
constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return value > UINT64_MAX - (alignment - 1) ? UINT64_MAX : (value + alignment - 1) & ~(alignment - 1);
}

} // namespace isa_audit
