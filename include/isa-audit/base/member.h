// A member is a file that can be looked at: a file of the file system or a member of an archive. Sources and containers
// make members; nothing is read or inflated until `head` or `open` is called.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "isa-audit/base/bytes.h"
#include "isa-audit/base/origin.h"
#include "isa-audit/base/problem.h"

namespace isa_audit {

struct Member {
  Origin origin;
  uint64_t size = 0;      // bytes when opened
  uint64_t anonymous = 0; // bytes of anonymous memory that `open` takes: 0 for a mapped file or a stored zip member
  bool is_input = false;  // the member is itself what the user named, not something inside it
  // What makes two members the same without opening them: device and inode of a file, empty where unknown.
  std::string identity;
  // The mapped bytes the member is made from (compressed bytes of a zip member, the file's own otherwise), if they cost
  // nothing to look at; two members of equal `size`, `encoding` and equal raw bytes have equal content.
  std::function<llvm::Expected<Bytes>()> raw;
  std::string encoding; // "stored", "deflate"; empty for a file
  // At most the first `limit` bytes (limit is at most 64 KiB), cheap. Not checked against a checksum.
  std::function<llvm::Expected<Bytes>(uint64_t limit)> head;
  // The whole content, checksum verified where the container has one.
  std::function<llvm::Expected<Bytes>()> open;
};

// Sink of sources and containers.
struct Feed {
  std::function<void(Member)> member;
  std::function<void(Problem)> problem;
};

} // namespace isa_audit
