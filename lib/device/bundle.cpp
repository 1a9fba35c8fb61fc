// Plain bundles (clang/docs/ClangOffloadBundler): 24 bytes of magic, u64 count, then for each entry u64 offset, u64 size, u64
// length of the id, the id. No total size and no checksum: a bundle ends where its last entry does. HIP pads the header and
// every code object to 4096 bytes; hand-made bundles do not pad. Zero-size host entries share an offset with the first device
// entry. Every number is the file's word and is held against the bytes there are.
#include "bundle.h"

#include <algorithm>

#include "isa-audit/base/problem.h"
#include "isa-audit/device/target_id.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

constexpr uint64_t kFixedHeader = 32, kFixedEntry = 24;
// Longest id that any producer writes is below 100 bytes.
constexpr uint64_t kMaxIdLength = 4096;
constexpr uint64_t kMaxPlausibleEntries = 4096;

bool valid_id(std::string_view id) {
  auto parsed = parse_entry_id(id);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return false;
  }
  return true;
}

} // namespace

BundleHeader parse_bundle_header(const Bytes &bytes) {
  BundleHeader out;
  if (!bytes.text().starts_with(kBundleMagic)) {
    out.errors.push_back("no bundle magic");
    return out;
  }
  if (bytes.size() < kFixedHeader) {
    out.end = bytes.size();
    out.errors.push_back("bundle cut off inside its header");
    return out;
  }
  out.claimed = read_le<uint64_t>(bytes.data() + 24);
  out.end = kFixedHeader;
  uint64_t fit = (bytes.size() - kFixedHeader) / kFixedEntry;
  if (out.claimed > fit)
    out.errors.push_back(llvm::formatv("bundle claims {0} entries, where at most {1} fit", out.claimed, fit).str());
  uint64_t at = kFixedHeader;
  for (uint64_t i = 0; i < std::min(out.claimed, fit); ++i) {
    if (!bytes.contains(at, kFixedEntry)) {
      out.errors.push_back(llvm::formatv("bundle cut off inside its header, at entry {0}", i).str());
      break;
    }
    BundleEntry entry;
    entry.index = i;
    entry.offset = read_le<uint64_t>(bytes.data() + at);
    entry.size = read_le<uint64_t>(bytes.data() + at + 8);
    uint64_t length = read_le<uint64_t>(bytes.data() + at + 16);
    if (length > kMaxIdLength || !bytes.contains(at + kFixedEntry, length)) {
      out.errors.push_back(
          llvm::formatv("entry {0} claims an id of {1} bytes; it and what follows cannot be read", i, length).str());
      break;
    }
    entry.id = bytes.text().substr(at + kFixedEntry, length);
    if (!valid_id(entry.id)) {
      out.errors.push_back(llvm::formatv("entry {0} has no valid id; it and what follows cannot be read", i).str());
      break;
    }
    at += kFixedEntry + length;
    out.end = std::max(out.end, at);
    if (!bytes.contains(entry.offset, entry.size)) {
      out.errors.push_back(llvm::formatv("entry {0} ({1}) claims {2} bytes at {3:x}, outside of the {4} bytes there are", i,
                                         entry.id, entry.size, entry.offset, bytes.size())
                               .str());
      continue;
    }
    out.end = std::max(out.end, entry.offset + entry.size);
    out.entries.push_back(entry);
  }
  return out;
}

bool plausible_bundle(const Bytes &bytes) {
  if (bytes.size() < kFixedHeader + kFixedEntry || !bytes.text().starts_with(kBundleMagic)) return false;
  uint64_t count = read_le<uint64_t>(bytes.data() + 24), length = read_le<uint64_t>(bytes.data() + 48);
  if (count == 0 || count > kMaxPlausibleEntries || length == 0 || length > kMaxIdLength || !bytes.contains(56, length))
    return false;
  return valid_id(bytes.text().substr(56, length));
}

} // namespace isa_audit
