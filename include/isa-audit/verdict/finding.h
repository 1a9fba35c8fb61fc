// Rules and findings. A rule's name is stable: users suppress, deny and search by it.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "isa-audit/base/problem.h"

namespace isa_audit {

struct Rule {
  std::string_view name;
  Level level;              // default; single findings may be milder where the rule says so
  std::string_view summary; // one line
  std::string_view help;    // what it means, what to do
};

std::span<const Rule> rules();
const Rule *find_rule(std::string_view name);

struct Finding {
  std::string rule;
  Level level = Level::error;
  Origin origin; // path empty for a finding about a machine or a whole input
  std::string distribution;
  int machine = -1;     // index into the machines judged; -1 for a gate
  std::string strength; // CPU findings: load, import, call, unguarded
  std::string subject;  // "gfx942", "avx512f", …
  std::string holds;    // what the file has instead: "gfx90a gfx1100"; for tables
  std::string message;  // one or two sentences in the user's terms, with the consequence
  std::string fix;      // what to do; may be empty

  auto operator<=>(const Finding &) const = default;
};

// A stable hash of what the finding is about (rule, distribution, path, subject, strength), hexadecimal; not of wording,
// version, machine or counts.
std::string fingerprint(const Finding &finding);

} // namespace isa_audit
