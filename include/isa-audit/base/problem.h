// A problem is input that could not be read, or not all of it. Readers never drop one: they append it and go on with what
// is still sound. An error-level problem makes the run end with exit code 2; a gap or a wrong checksum is a warning.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "isa-audit/base/origin.h"
#include "llvm/Support/Error.h"

namespace isa_audit {

enum class Level : uint8_t { note, warning, error };

inline const char *level_name(Level level) {
  return level == Level::error ? "error" : level == Level::warning ? "warning" : "note";
}

struct Problem {
  Level level = Level::error;
  Origin origin;
  std::string message; // one sentence without the origin, lower case, no full stop

  auto operator<=>(const Problem &) const = default;
};

using Problems = std::vector<Problem>;

// An llvm::Error with this text.
llvm::Error make_error(std::string message);

} // namespace isa_audit
