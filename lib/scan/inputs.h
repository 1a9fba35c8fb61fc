// What the user named → inputs and members.
#pragma once

#include <string>
#include <vector>

#include "isa-audit/base/member.h"
#include "isa-audit/scan/scan.h"
#include "isa-audit/source/site_packages.h"

namespace isa_audit {

struct Intake {
  std::vector<Input> inputs;
  std::vector<Member> members;
  // Site-packages folders whose RECORDs say who owns what below an input: (folder, input, prefix of the input's paths in it).
  struct Surroundings {
    std::string folder;
    uint32_t input;
    std::string prefix;
  };
  std::vector<Surroundings> surroundings;
  Problems problems;
};

Intake take_in(const ScanOptions &options);

} // namespace isa_audit
