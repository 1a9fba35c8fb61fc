// The order in which people read targets: gfx90a, gfx942, gfx1100, then generics of each generation behind its processors,
// SPIR-V, other vendors'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/device/code_object.h"

namespace isa_audit {

struct TargetOrder {
  bool operator()(std::string_view a, std::string_view b) const; // by TargetId::text()
  using is_transparent = void;
};

// Calls body(object) for every code object: those of the images, then the loose ones.
template <typename Body> void for_each_object(const DeviceCode &device, Body body) {
  for (const DeviceImage &image : device.images)
    for (const CodeObject &object : image.code_objects) body(object);
  for (const CodeObject &object : device.loose) body(object);
}

// The texts joined by blanks; at most `limit` of them (0: all), then "+3". "nothing" for none.
std::string join_targets(const std::vector<std::string> &targets, size_t limit = 0);

} // namespace isa_audit
