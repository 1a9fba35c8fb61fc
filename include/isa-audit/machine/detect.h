// Finds out what a machine is: the local one from sysfs and CPUID (no ROCm needed), or one spelled on the command line.
#pragma once

#include <string>
#include <vector>

#include "isa-audit/machine/machine.h"

namespace isa_audit {

struct MachineRequest {
  std::string gpu = "auto"; // --gpu: "auto", "none" or a list of target ids
  std::string cpu = "auto"; // --cpu: "auto", "none", a name with edits, or @FILE
  std::string root;         // --root: read sys, proc and dev below this folder; empty for the real ones
};

// The environment variables that change what the runtimes see (HSA_OVERRIDE_GFX_VERSION, ROCR_VISIBLE_DEVICES …), read
// once by the caller. With --root only what the caller passes counts.
using Environment = std::map<std::string, std::string>;
Environment read_environment();

// Error: an unknown processor or CPU name (the message names near ones), an unreadable @FILE.
llvm::Expected<Machine> make_machine(const MachineRequest &request, const Environment &environment);

// The grammar of --cpu without "auto" and "none": name, +feature, -feature, @FILE. Also used for --max-cpu.
llvm::Expected<Cpu> parse_cpu(std::string_view text);

// The grammar of --gpu and --require without "auto" and "none": target ids separated by commas.
llvm::Expected<std::vector<TargetId>> parse_target_list(std::string_view text);

// A GPU's concrete settings where the user named none: sramecc on where ECC parts are the rule, xnack off; `assumed` says so.
Gpu assume_settings(TargetId target);

} // namespace isa_audit
