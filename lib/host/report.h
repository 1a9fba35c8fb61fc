// From what is reached to what is reported: the sets of features and the evidence of each file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reach.h"
#include "underchecked.h"

namespace isa_audit::host {

// Fills everything of `host` but notes and byte counts. `variant_of` names the file that this one is a build of for other
// CPUs, empty if it is none.
class Reporter {
public:
  Reporter(const Graph &graph, Guards &guards, Reach &reach);
  void report(size_t file, const std::string &variant_of, HostCode &host);

private:
  struct Use { // an instruction that needs a feature
    Node node = kNoNode;
    uint32_t offset = 0;
    Strength strength = Strength::unreached;
    Grade grade = Grade::possible;
    std::vector<Node> path; // callers, root first; `root` names what calls the first
    std::string root, guard;
    uint32_t doubt = 0; // steps that can be avoided, of uses at load and import
  };
  using Uses = std::map<Feature, Use>;                   // the first of each
  using FirstUses = std::map<Feature, std::vector<Use>>; // the first few of each, in the order in which they run

  void run_in_order();
  static void choose(std::vector<Use> &uses);
  std::vector<Node> path_to(Node node) const;
  void add_gaps(size_t file, const IsaSet &told, HostCode &host);
  std::string describe(const Reach::By &by) const;
  void add_call_uses(size_t file, HostCode &host, std::vector<std::pair<Feature, Use>> &out);
  void write(size_t file, const std::vector<std::pair<Feature, Use>> &uses, HostCode &host);

  const Graph &graph_;
  Guards &guards_;
  Reach &reach_;
  GapFinder gaps_;
  std::vector<FirstUses> load_, import_; // of each file
  std::vector<Node> transaction_check_;  // of each file, as find_transaction_check says
  std::vector<IsaSet> checked_;          // of each file: features whose every use is behind a check, whatever leads there
};

} // namespace isa_audit::host
