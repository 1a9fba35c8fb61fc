#include "isa-audit/verdict/finding.h"

#include <cassert>

#include "court.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

namespace isa_audit {

std::string fingerprint(const Finding &finding) {
  llvm::SHA256 hash;
  for (const std::string *part :
       {&finding.rule, &finding.distribution, &finding.origin.path, &finding.subject, &finding.strength}) {
    hash.update(*part);
    hash.update(llvm::ArrayRef<uint8_t>{0}); // no part can be mistaken for the end of another
  }
  return llvm::toHex(llvm::ArrayRef(hash.final()).take_front(8), /*LowerCase=*/true);
}

Finding make_finding(std::string_view rule, const Origin &origin, const std::string &distribution) {
  const Rule *row = find_rule(rule);
  assert(row && "a finding of a rule that the table lacks");
  Finding out;
  out.rule = rule;
  out.level = row->level;
  out.origin = origin;
  out.distribution = distribution;
  return out;
}

std::string counted(uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

} // namespace isa_audit
