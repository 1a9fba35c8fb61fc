// How each function of a set of files is reached, and on what terms.
//
// load and import: over unguarded calls and jumps only, from the loader's and the interpreter's entries. The grade of a
// function is that of the best path: certain if no step can be avoided on the way to a return, likely if the path is one of
// several, possible if it leads through code that only runs on an error (it cannot return, or it sets a Python exception).
// unguarded: over all edges, addresses taken and tables of pointers included. guarded: all that is left and reached.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "guards.h"
#include "isa-audit/host/host_code.h"
#include "roots.h"

namespace isa_audit::host {

class Reach {
public:
  Reach(Graph &graph, Guards &guards);

  struct Visit {
    Strength strength = Strength::unreached;
    Grade grade = Grade::possible;
    Node parent = kNoNode; // kNoNode: `root` says where the path starts
    uint32_t root = 0;     // index of root_name()
    uint32_t doubt = 0;    // steps of the path that can be avoided
  };
  const Visit &visit(Node node) const { return visits_[node]; }
  const std::string &root_name(uint32_t root) const { return root_names_[root]; }
  const Roots &roots(size_t file) const { return roots_[file]; }
  // Functions of Python's method tables in `file`.
  const std::vector<PythonFunction> &python_functions(size_t file) const { return python_[file]; }
  // Nodes reached at load or import, in the order of reaching them.
  const std::vector<Node> &entered() const { return entered_; }

  // The grade within its function of what happens at `offset`. `use`: an instruction rather than a call; code that only runs
  // for many elements at a time is possible at most.
  Grade grade_at(Node node, uint32_t offset, bool use = false);
  // The grade of an instruction of a function reached at load or import: of the path to it and of its place there. A path on
  // which many steps can be avoided is possible at most.
  Grade grade_of_use(Node node, uint32_t offset);
  // How many steps on the way to it and to its place there can be avoided.
  uint32_t doubt_of_use(Node node, uint32_t offset) { return visits_[node].doubt + doubt_at(node, offset, true); }
  // True if the file asks the CPU, or checks what another one asked.
  bool dispatches(size_t file) const { return dispatches_[file]; }
  // True if unguarded edges of any kind lead from an entry, an exported function or a Python function to `node`.
  bool is_open(Node node) const { return open_[node]; }
  // True if the node is not open, but a guarded edge leads to it, or to one that leads to it.
  bool is_behind_guard(Node node) const { return behind_[node]; }
  // For a node behind a guard: the function whose check protects it, or which chooses it by what looks like one.
  struct By {
    Node node = kNoNode;
    bool pattern = false; // only what looks like a check
    bool build = false;   // it is one of several builds by its name; `node` is another one
  };
  By guard_of(Node node) const {
    const auto it = guard_.find(node);
    return it == guard_.end() ? By{} : it->second;
  }
  // Faulting features of `node` and of all that it calls over unguarded calls and jumps that look like no choice by the CPU.
  IsaSet transitive(Node node);
  // The functions that `node` calls so, with the place of the call, in that order.
  std::vector<std::pair<uint32_t, Node>> callees(Node node) const;
  // The same without those that look like a choice by the CPU.
  std::vector<std::pair<uint32_t, Node>> plain_callees(Node node);

private:
  struct Paths { // what is known of a function's blocks
    struct Block {
      uint32_t start;       // offset in the function
      bool certain, likely; // on every, on some way to a return
      bool few;             // likely, also when all counts are small
      bool plain;           // likely, also without a switch
    };
    std::vector<Block> blocks; // by start
    uint32_t switch_doubt = 1; // what its largest switch is worth
  };

  void enter();
  void grade(Strength strength);
  void spread();
  void spread_open(const std::vector<std::pair<Node, Node>> &kernels, std::vector<std::pair<Node, Node>> &chosen);
  void spread_behind(const std::vector<std::pair<Node, Node>> &starts, bool by_pattern);
  std::vector<std::pair<Node, Node>> find_builds() const;
  void find_guarded_data(size_t file, Node node, std::vector<std::pair<Node, Node>> &guarded);
  IsaSet kernel_needs(Node node, int depth);
  bool looks_chosen(Node node, Node to);
  bool looks_chosen(Node node, const Edge &edge, Node to);
  void split_table(const std::vector<Node> &table, std::vector<Node> &found, std::vector<Node> &chosen);
  void follow_data(size_t file, size_t reference, std::vector<Node> &found, std::vector<Node> *chosen);
  const Paths &paths(Node node);
  const Paths::Block *block_at(Node node, uint32_t offset);
  // How avoidable the place is: 0 for certain, about the number of two-way decisions.
  uint32_t doubt_at(Node node, uint32_t offset, bool use = false);
  uint8_t error_way(size_t file, Node node, const Cfg &cfg, uint32_t block);
  bool may_err(Node node, int depth);
  bool is_error_call(size_t file, const Edge &edge, int depth);
  bool always_errs(Node node, int depth);
  template <typename F> void for_each_callee(Node node, F f) const;

  Graph &graph_;
  Guards &guards_;
  std::vector<Roots> roots_;
  std::vector<std::vector<PythonFunction>> python_;
  std::vector<Visit> visits_;
  std::vector<std::string> root_names_;
  std::vector<Node> entered_;
  std::vector<bool> open_, behind_;
  std::unordered_map<Node, By> guard_;
  std::map<std::pair<Node, int>, IsaSet> kernel_needs_;
  std::vector<IsaSet> own_;      // what each function's own unguarded instructions need
  std::vector<bool> dispatches_; // files that ask the CPU or check what others asked
  std::unordered_map<Node, IsaSet> transitive_;
  std::unordered_map<Node, Paths> paths_;
  std::vector<std::vector<std::pair<uint32_t, uint64_t>>>
      data_; // of each file: function and the first reference to the object it refers to
  // Data objects that were followed: by their first reference in each file, and those that code does not refer to.
  std::vector<std::vector<bool>> followed_;
  std::unordered_map<uint64_t, bool> objects_;
  std::set<std::pair<Node, uint64_t>> guarded_data_; // functions, and first references to what they refer to behind a check
  std::vector<std::pair<Node, Node>> builds_;        // exports that are one of several builds by their names, and another one
  std::unordered_map<Node, bool> may_err_;
  std::unordered_map<Node, int> errs_; // 0 no, 1 yes, 2 being looked at
};

// Over unguarded calls and jumps.
template <typename F> void Reach::for_each_callee(Node node, F f) const {
  const size_t file = graph_.file_of(node);
  for (const Edge &e : graph_.program(file).edges(graph_.function(file, node))) {
    if (e.kind == EdgeKind::address || guards_.is_guarded(node, e.site)) continue;
    const Node to = graph_.target(file, e);
    if (to != kNoNode) f(to, e.site);
  }
  for (const Guards::Indirect &i : guards_.indirect(node))
    if (!guards_.is_guarded(node, i.site)) f(i.target, i.site);
}

} // namespace isa_audit::host
