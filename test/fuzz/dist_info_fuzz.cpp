// The input is cut at zero bytes into the files of two dist-info folders, one inside the other's tree, and into paths to ask
// for. What is promised: an owner is one of the distributions, and every distribution has a name unless its folder has none.

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "isa-audit/source/site_packages.h"
#include "isa-audit/source/walk.h"

using namespace isa_audit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  std::vector<std::string_view> parts;
  while (true) {
    const size_t cut = rest.find('\0');
    parts.push_back(rest.substr(0, cut));
    if (cut == std::string_view::npos) break;
    rest.remove_prefix(cut + 1);
  }
  DistributionIndex index;
  Problems problems;
  constexpr const char *kPaths[] = {"a-1.dist-info/METADATA",       "a-1.dist-info/RECORD", "w.whl!b-2.dist-info/METADATA",
                                    "a/_vendor/c.dist-info/RECORD", "d.egg-info",           "d.egg-info/installed-files.txt",
                                    "lib/e.egg/EGG-INFO/PKG-INFO"};
  for (size_t i = 0; i < std::size(kPaths) && i < parts.size(); ++i)
    index.add(0, kPaths[i], Bytes::borrowed({reinterpret_cast<const uint8_t *>(parts[i].data()), parts[i].size()}), problems);
  index.finish();
  for (const Distribution &distribution : index.distributions())
    if (distribution.name.empty()) std::abort();
  for (const std::string_view part : parts) {
    DistributionIndex::wants(part);
    const auto owner = index.owner(0, part.substr(0, 4096));
    if (owner && *owner >= index.distributions().size()) std::abort();
    glob_match(part.substr(0, 40), rest.substr(0, 200));
  }
  return 0;
}
