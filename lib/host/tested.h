// What a value that depends on the CPU says of it, packed into the number of a tainted Value: nothing known, an output word of
// CPUID with the bits that a shift has moved out, or the features whose bits are left. Only what is known exactly counts: the
// analysis of checks that test too little must not take ignorance for a missing test.
#pragma once

#include <cstdint>
#include <optional>

#include "isa-audit/host/feature.h"

namespace isa_audit::host {

class Tested {
public:
  static constexpr int64_t kUnknown = 0;
  // An output of CPUID: 'a' … 'd'.
  static int64_t word(uint32_t leaf, uint32_t subleaf, char reg);
  // Bits that say nothing of instructions.
  static int64_t nothing();
  static int64_t of(const IsaSet &features);

  // After a shift to the right, an AND with a constant, a look at one bit, an AND of two.
  static int64_t shifted(int64_t tested, unsigned count);
  static int64_t masked(int64_t tested, uint64_t mask);
  static int64_t bit(int64_t tested, unsigned n);
  static int64_t both(int64_t a, int64_t b);
  // Non-zero means that some of several are there: not known which.
  static bool is_any(int64_t tested) { return tested & kAny; }

  // The features that a "yes" proves; none if not known. `all`: every bit of it was compared.
  static std::optional<IsaSet> features(int64_t tested, bool all);

private:
  static constexpr int64_t kWord = int64_t{1} << 61, kSet = int64_t{1} << 62, kAny = int64_t{1} << 60;
};

// `features` and what every CPU that was made with them has too. Virtual machines may show less.
IsaSet with_companions(IsaSet features);

} // namespace isa_audit::host
