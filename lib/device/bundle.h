// Offload bundles: the header of a plain one, the envelope of a compressed one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/base/bytes.h"

namespace isa_audit {

inline constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
inline constexpr std::string_view kCcobMagic = "CCOB";

struct BundleEntry {
  size_t index = 0;    // in the header
  uint64_t offset = 0; // from the first byte of the bundle's magic
  uint64_t size = 0;
  std::string_view id;
};

struct BundleHeader {
  std::vector<BundleEntry> entries; // those that lie inside the bytes given
  uint64_t claimed = 0;             // the number of entries the header claims
  uint64_t end = 0;                 // one past the last byte of the header or of an entry
  std::vector<std::string> errors;  // what does not hold, one message each
};

// The header of a plain bundle at the start of `bytes` (which may go on behind it). Entries that do not lie inside `bytes`, or
// whose id cannot be one, are left out and told. Returns an empty header with an error when the magic is not there.
BundleHeader parse_bundle_header(const Bytes &bytes);

// True if the header at the start of `bytes` is one that a bundler writes and not the magic's text in a string table or in
// code: a believable count of entries, and a first id that parses.
bool plausible_bundle(const Bytes &bytes);

struct CcobHeader {
  uint16_t version = 0; // 1 … 3
  uint16_t method = 0;  // 0 zlib, 1 zstd
  uint64_t header_size = 0;
  uint64_t total_size = 0; // with the header; 0 in version 1, which does not say
  uint64_t uncompressed_size = 0;
  uint64_t hash = 0; // low 64 bits of the MD5 of the uncompressed bundle
};

// The envelope at the start of `bytes`. Error: cut off, an unknown version.
llvm::Expected<CcobHeader> parse_ccob_header(const Bytes &bytes);

// True if what stands at the start of `bytes` is an envelope and not the text "CCOB" by chance.
bool plausible_ccob(const Bytes &bytes);

// Bytes that the envelope and its payload take: what the header says (which may be more than there is), or in version 1 where
// the payload's own stream ends. Error: a total below the header's own size, a version 1 payload without an end.
llvm::Expected<uint64_t> ccob_extent(const Bytes &bytes, const CcobHeader &header);

// Memory that is used again from bundle to bundle; grows to the largest one. Never shrinks, is not filled with zeros.
class ScratchBuffer {
public:
  ScratchBuffer() = default;
  ~ScratchBuffer();
  ScratchBuffer(const ScratchBuffer &) = delete;
  ScratchBuffer &operator=(const ScratchBuffer &) = delete;
  // `size` writable bytes with whatever they hold; nullptr when the system has no such memory.
  uint8_t *reserve(uint64_t size);

private:
  uint8_t *data_ = nullptr;
  uint64_t capacity_ = 0;
};

struct Decompressed {
  Bytes bundle;                      // valid until the scratch buffer is used again
  uint64_t compressed_size = 0;      // of the payload alone, as the frame itself ends
  std::vector<std::string> warnings; // sizes or hash that do not agree
};

// Decompresses the payload of the envelope at the start of `bytes`. At most `limit` bytes come out. `verify`: hold the MD5
// against the header. Error: damaged or cut payload, unknown method, beyond the limit.
llvm::Expected<Decompressed> decompress_ccob(const Bytes &bytes, const CcobHeader &header, uint64_t limit, bool verify,
                                             ScratchBuffer &scratch);

} // namespace isa_audit
