#include "isa-audit/host/host_code.h"

namespace isa_audit {

const char *strength_name(Strength strength) {
  switch (strength) {
  case Strength::load: return "load";
  case Strength::import: return "import";
  case Strength::call: return "call";
  case Strength::unguarded: return "unguarded";
  case Strength::guarded: return "guarded";
  case Strength::unreached: return "unreached";
  }
  return "";
}

const char *grade_name(Grade grade) {
  switch (grade) {
  case Grade::certain: return "certain";
  case Grade::likely: return "likely";
  case Grade::possible: return "possible";
  }
  return "";
}

} // namespace isa_audit
