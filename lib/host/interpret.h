// Runs a function on abstract values, block by block until nothing changes, and tells what its instructions do with them.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "cfg.h"
#include "values.h"

namespace isa_audit::host {

// What the interpreter asks and tells of the world outside the function.
class World {
public:
  virtual ~World() = default;
  // The taint that memory at `address` holds, none if it holds none. `indexed`: somewhere from there on.
  virtual Value load_global(uint64_t address, bool indexed) = 0;
  virtual void store_global(uint64_t address, const Value &value, uint8_t size) = 0;
  // An imported object by name that describes the CPU (__cpu_model).
  virtual bool is_detector_object(uint32_t symbol) = 0;
  // A call, direct or to a known pointer. `arguments` are rdi … r9. `effect` is what is known of the callee, `result` its
  // value when it is an import.
  struct Call {
    const Edge *edge = nullptr; // null for a call through a register
    uint64_t target = 0;        // of a call through a register with a known value
    uint32_t site = 0;
    bool jump = false;
    std::array<Value, 6> arguments{};
    std::array<std::vector<Summary::Field>, 6> fields{}; // taint in stack objects that arguments point to
  };
  virtual Summary call(const Call &call) = 0;
};

struct Outcome {
  Summary summary;
  bool asks_features = false; // executes CPUID for a leaf of features, or XGETBV
  struct Branch {
    uint32_t block;
    Polarity taken; // what a taken branch means
  };
  std::vector<Branch> branches; // on features
  std::vector<bool> guarded;    // blocks behind a check
  // Of each block, if any is guarded: the features that the checks on every path to it prove; none if not known.
  std::vector<std::optional<IsaSet>> tested;
  std::vector<uint32_t> tainted_addresses; // sites whose code address is chosen by a feature: cmov, indexed table
};

// `known` is what callers pass. `asks` makes unknown values that are stored through arguments or to globals count as taint:
// the rule for functions that execute CPUID.
Outcome interpret(const Program &program, const Function &f, const Cfg &cfg, const Summary &known, World &world);

} // namespace isa_audit::host
