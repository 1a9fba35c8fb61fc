// What else among the inputs has the code that one file lacks: people often have the right build of something beside the wrong
// one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "isa-audit/verdict/device_units.h"
#include "isa-audit/verdict/side_cars.h"

namespace isa_audit {

class Elsewhere {
public:
  // `units` outlives the object.
  Elsewhere(const Inventory &inventory, const std::vector<DeviceUnit> &units);

  // For a unit that does not serve the GPU: a clause for each of another copy of the same library that does, the kernel
  // folders of the distribution that do, other distributions of the environment that do. Starts with "; "; empty for none.
  std::string text(const DeviceUnit &lacking, const TargetId &gpu);

  // Whether other code of the unit's distribution serves the GPU.
  bool distribution_serves(const DeviceUnit &unit, const TargetId &gpu);

private:
  const std::vector<const DeviceUnit *> &serving(const TargetId &gpu);

  const std::vector<DeviceUnit> &units_;
  std::vector<SideCar> cars_;
  std::map<TargetId, std::vector<const DeviceUnit *>> serving_;
};

// "nearest is gfx1100, another ISA (11.0, not 11.5)": of the processors that are held, the one most like the GPU's; empty when
// none is of its generation.
std::string nearest_text(std::string_view processor, const std::vector<std::string> &holds);

} // namespace isa_audit
