// Checks that test less than the code behind them uses: AVX2 is tested, FMA runs.
#pragma once

#include <vector>

#include "reach.h"

namespace isa_audit::host {

// Code behind a check, the features that were proven on the way, and those that it uses beyond them.
struct Gap {
  Node node = kNoNode;
  uint32_t offset = 0; // of the first instruction that was not tested for
  Node guard = kNoNode;
  IsaSet tested, missing;
};

// The gaps of `file`, one for each guard and set of missing features, by address. What the file needs without any check is
// never missing, nor what every CPU with the tested features has (tested.h). Where some check on the way was not understood,
// nothing is said.
class GapFinder {
public:
  GapFinder(const Graph &graph, Guards &guards, const Reach &reach);
  std::vector<Gap> find(size_t file, const IsaSet &baseline) const;

private:
  struct Fact {
    bool known = false; // all that is proven on some way here is in `set`
    IsaSet set;
    Node guard = kNoNode;
  };
  void spread();
  void look(Node node, const Fact &at_entry, const IsaSet &baseline, std::vector<Gap> &gaps) const;

  const Graph &graph_;
  Guards &guards_;
  const Reach &reach_;
  std::unordered_map<Node, Fact> entry_; // of functions behind a check
};

} // namespace isa_audit::host
