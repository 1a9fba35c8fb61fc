// Where the parts of judge() put what they find. Applies the policy's levels and allowances at one place, and counts, for
// everything and for each distribution, how the things judged fared.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "isa-audit/verdict/judge.h"

namespace isa_audit {

enum class Side : uint8_t { gpu, cpu };

// open: it could not be decided (a GPU that is not there, code of which the guards are not analysed).
enum class Fate : uint8_t { served, open, partial, failed };

class Court {
public:
  Court(const Inventory &inventory, const std::vector<Machine> &machines, const Policy &policy);

  const Inventory &inventory;
  const std::vector<Machine> &machines;
  const Policy &policy;

  // Keeps `finding`, at the level that the policy has for its rule if it has one; apart from the others if it is allowed.
  void add(Finding finding);
  // Something owned by `distribution` was judged (of the input itself when empty).
  void count(Side side, Fate fate, uint32_t input, const std::string &distribution);
  // add() and count(). An allowed finding leaves the fate as it is: it says what fails a run, not what the file holds.
  void rule_on(Side side, Fate fate, Finding finding);
  // The distribution could not be read whole.
  static constexpr uint32_t kNoInput = UINT32_MAX;
  void mark_incomplete(uint32_t input, const std::string &distribution);
  // The distribution was read and holds nothing that a CPU or a GPU runs.
  void mark_plain(uint32_t input, const std::string &distribution);
  // Every way into the distribution fails, whatever else of it is served. kNoInput: into everything.
  void mark_dead(uint32_t input, const std::string &distribution);
  // An input of which nothing can be said: no answer to a gate.
  void mark_unanswered() { unanswered_ = true; }
  bool is_allowed(std::string_view rule) const;

  Judgement finish();

private:
  struct Tally {
    std::array<std::array<uint64_t, 4>, 2> counts{}; // side, fate
    bool incomplete = false, plain = false, dead = false;
    Verdict verdict() const;
  };

  Tally *tally_of(uint32_t input, const std::string &distribution); // nullptr: of a machine, not of an input
  int exit_code() const;

  std::vector<Finding> findings_, allowed_;
  bool unanswered_ = false;
  Tally all_;
  std::vector<Tally> distributions_, inputs_;
  std::map<std::pair<uint32_t, std::string>, size_t> index_; // (input, name) → distribution
};

// A finding of `rule` at its default level.
Finding make_finding(std::string_view rule, const Origin &origin, const std::string &distribution);

// "1 kernel", "12 kernels".
std::string counted(uint64_t count, std::string_view noun);

// The GPUs that files are judged by, each target once: the visible ones, or all where none is.
std::vector<const Gpu *> judged_gpus(const Machine &machine);

// The parts of judge(), one file each.
void judge_inputs(Court &court);   // problems; inputs without device code
void judge_labels(Court &court);   // code objects against their own entry ids
void judge_gpus(Court &court);     // device units against the GPUs of each machine
void judge_runtimes(Court &court); // what ROCm releases of different age make of the code
void judge_kernels(Court &court);  // kernels that only other targets of a file have
void judge_external(Court &court); // libraries whose code is in kpack archives, against GPUs and --require
void judge_sidecars(Court &court); // kernel folders of libraries, against GPUs and --require
void judge_vendors(Court &court);  // builds for no GPU or another vendor's, on a machine with AMD's
void judge_required(Court &court); // device units against --require
void judge_cpus(Court &court);     // host code against the CPU of each machine
void judge_max_cpu(Court &court);  // host code against --max-cpu

} // namespace isa_audit
