// What reading an archive feeds, kept for a test to look at.
#pragma once

#include <string>
#include <vector>

#include "isa-audit/container/container.h"

namespace isa_audit {

struct ReadArchive {
  std::string bytes; // of the archive; the members point into it
  std::vector<Member> members;
  Problems problems;

  const Member *find(const std::string &path) const {
    for (const Member &member : members)
      if (member.origin.path == path) return &member;
    return nullptr;
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (const Member &member : members) paths.push_back(member.origin.path);
    return paths;
  }
  std::vector<std::string> messages() const {
    std::vector<std::string> messages;
    for (const Problem &problem : problems)
      messages.push_back(std::string(level_name(problem.level)) + " " + problem.origin.text() + ": " + problem.message);
    return messages;
  }
};

inline std::string text_of(llvm::Expected<Bytes> bytes) {
  if (!bytes) return "error: " + llvm::toString(bytes.takeError());
  return std::string(bytes->text());
}

// Reads `bytes` as the format says its head is; nothing is fed when there is none.
inline std::unique_ptr<ReadArchive> read_archive(std::string bytes, const std::string &prefix = "") {
  auto read = std::make_unique<ReadArchive>();
  read->bytes = std::move(bytes);
  const Bytes file = Bytes::borrowed({reinterpret_cast<const uint8_t *>(read->bytes.data()), read->bytes.size()});
  const ArchiveFormat *format = find_archive_format(file.prefix(65536), "");
  if (!format) return read;
  format->read(file, 3, prefix,
               {[&](Member member) { read->members.push_back(std::move(member)); },
                [&](Problem problem) { read->problems.push_back(std::move(problem)); }});
  return read;
}

} // namespace isa_audit
