// What the x86-64 code of a file needs of a CPU, and how sure that is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa-audit/host/feature.h"

namespace isa_audit {

// How code is reached. load: initialisers and resolvers. import: PyInit and the module's create and exec slots. call: from a
// named Python function. unguarded: from an export, no check found. guarded: behind a run-time check. unreached: from no root.
enum class Strength : uint8_t { load, import, call, unguarded, guarded, unreached };
const char *strength_name(Strength strength);

enum class Grade : uint8_t { certain, likely, possible };
const char *grade_name(Grade grade);

// The first instruction (by strength, then address) that uses a feature.
struct Evidence {
  Feature feature = Feature::sse3;
  Strength strength = Strength::unguarded;
  Grade grade = Grade::possible;
  uint64_t address = 0;          // virtual address in the file
  std::string symbol;            // enclosing function, demangled; empty when none is known
  std::string bytes;             // hex of the instruction
  std::string instruction;       // printed, Intel syntax
  std::vector<std::string> path; // call path from the root, root first
  std::string guard;             // the test that protects it
  bool weak = false;             // the function is inline: one of the copies that translation units brought was kept
};

// Code behind a run-time check that uses more than the check tests.
struct UnderChecked {
  IsaSet tested, missing;
  uint64_t address = 0;    // of the first instruction that was not tested for
  std::string symbol;      // its function, demangled; empty when none is known
  std::string instruction; // printed, Intel syntax
  uint64_t guard = 0;      // address of a branch of the check, 0 if none is known
};

struct HostCode {
  IsaSet declared_needed, declared_used; // GNU property notes; as x86-64 levels
  int needed_level = 0, used_level = 0;  // 0: no note
  IsaSet used;                           // every feature that any instruction uses
  IsaSet at_load, at_import, unguarded, guarded;
  std::map<std::string, IsaSet> at_call;   // Python function name → features
  std::vector<Evidence> evidence;          // by feature name, then strength, then address
  std::vector<UnderChecked> under_checked; // by address
  // Encodings that run as something else on a CPU without the feature (LZCNT as BSR): no fault, other results.
  IsaSet silently_different;
  uint64_t code_bytes = 0;    // bytes of executable sections
  uint64_t decoded_bytes = 0; // of these, bytes of valid instructions
  // Of functions of some size: all, and by feature those with an instruction that needs it.
  uint64_t functions = 0;
  std::map<Feature, uint64_t> function_uses;
  bool asks_cpu = false;        // something in the file depends on what the CPU can do
  bool guards_analysed = false; // false: `unguarded` is the union of everything in the file, guarded or not
};

} // namespace isa_audit
