// The command line: parsing only. What the words mean is decided by the rooms they belong to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "extract_command.h"
#include "isa-audit/machine/detect.h"
#include "isa-audit/scan/scan.h"
#include "isa-audit/verdict/judge.h"

namespace isa_audit {

enum class When : uint8_t { automatic, always, never };

struct Output {
  std::string format;
  std::string file; // empty: standard output
};

struct Options {
  enum class Command : uint8_t { audit, extract, machine, rules } command = Command::audit;
  ScanOptions scan;
  MachineRequest machine;
  Policy policy;
  std::vector<Output> outputs; // the first is standard output's
  std::string rule;            // of `rules NAME`
  ExtractRequest extract;      // of `extract`; its scan is `scan`
  When color = When::automatic, progress = When::automatic;
  bool all = false, kernels = false, quiet = false, verbose = false;
};

// The options, or the exit code with which the program ends at once (help and version were printed, or what is wrong was).
struct ParsedOptions {
  std::optional<Options> options;
  int exit_code = 0;
};
ParsedOptions parse_options(int argc, char **argv);

} // namespace isa_audit
