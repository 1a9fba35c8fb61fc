// Environments hold the same library several times: hard links of a package manager's store, a wheel next to what was installed
// from it, one runtime bundled by three packages. Only members of equal size are compared, by what lies mapped already (the
// compressed bytes of a zip member), and byte by byte in the end, so that no crafted checksum hides a file.
#include "twins.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/xxhash.h"

namespace isa_audit {

std::vector<size_t> find_twins(const std::vector<KnownMember> &members, Pool &pool) {
  std::vector<size_t> first(members.size());
  std::map<std::pair<uint64_t, std::string>, std::vector<size_t>> groups;
  for (size_t i = 0; i < members.size(); ++i) {
    first[i] = i;
    const Member &member = members[i].member;
    if (member.raw) groups[{member.size, member.encoding}].push_back(i);
  }
  std::vector<size_t> candidates;
  for (auto &[key, group] : groups)
    if (group.size() > 1) candidates.insert(candidates.end(), group.begin(), group.end());
  std::vector<Bytes> raw(candidates.size());
  std::vector<uint64_t> hash(candidates.size());
  pool.for_each(candidates.size(), [&](size_t i) {
    auto bytes = members[candidates[i]].member.raw();
    if (!bytes) return llvm::consumeError(bytes.takeError()); // opening it will tell
    raw[i] = *bytes;
    hash[i] = llvm::xxh3_64bits(llvm::ArrayRef<uint8_t>(raw[i].data(), raw[i].size()));
  });
  std::map<std::tuple<uint64_t, std::string, uint64_t>, std::vector<size_t>> equal;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (raw[i].empty()) continue;
    const Member &member = members[candidates[i]].member;
    auto &leaders = equal[{member.size, member.encoding, hash[i]}];
    auto leader = std::ranges::find_if(leaders, [&](size_t j) {
      return raw[j].size() == raw[i].size() && std::memcmp(raw[j].data(), raw[i].data(), raw[i].size()) == 0;
    });
    if (leader == leaders.end())
      leaders.push_back(i);
    else
      first[candidates[i]] = candidates[*leader];
  }
  return first;
}

} // namespace isa_audit
