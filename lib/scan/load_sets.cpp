#include "load_sets.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace isa_audit {

namespace {

// The model of a set's code takes about as much memory as the code; a tree of everything a system has is no set anyway.
constexpr uint64_t kMaxSetSize = uint64_t{1} << 30;

LoadSet set_of(const std::vector<KnownMember> &members, std::vector<size_t> indices) {
  LoadSet out;
  for (size_t i : indices) {
    out.size += members[i].member.size;
    out.anonymous += members[i].member.anonymous;
  }
  out.members = std::move(indices);
  return out;
}

} // namespace

std::vector<LoadSet> load_sets(const Collected &collected, const std::vector<size_t> &first, uint64_t memory) {
  const std::vector<KnownMember> &members = collected.binaries;
  using Key = std::tuple<uint32_t, size_t, std::string>;
  std::map<Key, std::vector<size_t>> groups;
  std::vector<LoadSet> out;
  for (size_t i = 0; i < members.size(); ++i) {
    if (first[i] != i) continue;
    if (members[i].kind != MemberKind::elf) {
      out.push_back(set_of(members, {i}));
      continue;
    }
    const Origin &origin = members[i].member.origin;
    auto owner = collected.distributions.owner(origin.input, origin.path);
    size_t archive = origin.path.rfind('!');
    groups[{origin.input, owner ? *owner : SIZE_MAX, archive == std::string::npos ? "" : origin.path.substr(0, archive)}]
        .push_back(i);
  }
  for (auto &[key, indices] : groups) {
    LoadSet whole = set_of(members, indices);
    if (whole.size <= kMaxSetSize && whole.anonymous <= memory) {
      out.push_back(std::move(whole));
      continue;
    }
    for (size_t i : indices) out.push_back(set_of(members, {i}));
  }
  std::ranges::sort(
      out, [](const LoadSet &a, const LoadSet &b) { return std::tie(b.size, a.members) < std::tie(a.size, b.members); });
  return out;
}

} // namespace isa_audit
