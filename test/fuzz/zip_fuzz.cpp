// Any bytes as an archive, whatever they match: every member that is fed is looked at in all the ways there are. What is
// promised: sizes are those that are said, a head is the beginning of the content, paths are relative and differ.

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "isa-audit/container/container.h"

using namespace isa_audit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr uint64_t kOpenLimit = 1 << 20; // a sound ratio lets a small input ask for much
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  for (const ArchiveFormat &format : archive_formats()) {
    std::vector<Member> members;
    format.read(Bytes::borrowed({data, size}), 0, "x!",
                {[&](Member member) { members.push_back(std::move(member)); },
                 [&](const Problem &problem) { require(!problem.message.empty()); }});
    std::set<std::string> paths;
    for (const Member &member : members) {
      require(member.origin.path.starts_with("x!") && !member.origin.path.starts_with("x!/"));
      require(paths.insert(member.origin.path).second);
      auto head = member.head(100);
      auto raw = member.raw();
      require(bool(raw));
      if (member.size <= kOpenLimit) {
        if (auto content = member.open()) {
          require(content->size() == member.size);
          require(head && head->size() == std::min<uint64_t>(100, member.size));
          require(content->text().starts_with(head->text()));
        } else {
          llvm::consumeError(content.takeError());
        }
      }
      if (!head) llvm::consumeError(head.takeError());
    }
  }
  return 0;
}
