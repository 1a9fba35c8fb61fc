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
  DistributionIndex distributions; // of the site-packages folders that inputs lie in
  std::vector<Distribution> named; // of --dist
  Problems problems;
};

Intake take_in(const ScanOptions &options);

} // namespace isa_audit
