// The verdict: what the inventory means for the machines and the gates. Pure: no I/O, no clock, no environment.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "isa-audit/machine/machine.h"
#include "isa-audit/verdict/finding.h"
#include "isa-audit/verdict/inventory.h"

namespace isa_audit {

enum class FailOn : uint8_t { error, warning, never };

struct Policy {
  std::vector<TargetId> required;      // --require
  std::optional<Cpu> max_cpu;          // --max-cpu
  std::map<std::string, Level> levels; // --deny (error), --warn: rule → level
  std::vector<std::string> allowed;    // --allow: rules whose findings are dropped; a fact they tell of remains one
  FailOn fail_on = FailOn::error;
};

enum class Verdict : uint8_t { served, partly_served, not_served, not_judged, incomplete };
const char *verdict_name(Verdict verdict); // "served", "partly-served", …

struct Judgement {
  std::vector<Finding> findings;         // by level (errors first), rule, origin, subject
  std::vector<Finding> allowed;          // dropped by the policy, in the same order; the verdict stands all the same
  Verdict verdict = Verdict::not_judged; // of everything
  std::vector<Verdict> distributions;    // of each distribution of the inventory
  std::vector<Verdict> inputs;           // of what no distribution owns, for each input
  int exit_code = 0;                     // 0, 1 or 2
};

Judgement judge(const Inventory &inventory, const std::vector<Machine> &machines, const Policy &policy);

} // namespace isa_audit
