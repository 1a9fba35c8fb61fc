// What a GPU is judged by: one file with device code, or a set of kernel files that are alternatives of each other (the
// rocBLAS library folder, a tree of .co files: one processor a file), and how far a unit serves a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isa-audit/device/compatible.h"
#include "isa-audit/verdict/inventory.h"

namespace isa_audit {

struct DeviceUnit {
  Origin origin;            // of the file; of the folder for a set ("torch/lib/rocblas/library")
  std::string distribution; // owner of the first file
  bool set = false;
  // kpack archives of libraries in the inventory: those are judged, and these through them.
  bool of_libraries = false;
  // Kernels that Triton compiled and would compile again for another GPU.
  bool triton = false;
  bool side_car = false;             // a set that a library of ROCm loads from: judged by what that library needs
  std::vector<const Binary *> files; // one, or the files of the set by origin; into the inventory
};

// By origin. A standalone code object that is an input itself is a unit of its own; one inside a directory or an archive
// belongs to the set named by the folders before the first one whose name holds a gfx name; what Triton compiled, to the folder
// of the folder it is in; several such folders side by side that are for the same targets are one set. Files whose device code
// is the runtime's own, another vendor's, or nothing that a loader takes (relocatable objects, bitcode) are no units.
std::vector<DeviceUnit> device_units(const Inventory &inventory);

// How far code serves one GPU, or every one of several (the settings that a target leaves open). Counted in parts: the
// device images, the loose code objects of a file together (one of them must match), or, for a set, the set as a whole.
struct Coverage {
  uint64_t parts = 0;
  uint64_t served = 0;        // of the parts
  uint64_t generic = 0;       // of the served: by a generic processor at best
  uint64_t spirv = 0;         // of the served: by SPIR-V at best
  uint64_t mismatched = 0;    // of the others: only xnack or sramecc is wrong
  uint64_t unknown = 0;       // of the others: no source says (only where an era is given)
  bool loose_missing = false; // the loose code objects do not serve

  bool complete() const { return served == parts; }
};

enum class Spirv : uint8_t { counts, does_not_count };
// By a runtime that knows every format, or by the runtimes of `era`.
Coverage cover(const DeviceUnit &unit, std::span<const TargetId> gpus, Spirv spirv, std::optional<Era> era = std::nullopt);

// The worst match among `gpus`.
Match match_all(const DeviceImage &image, std::span<const TargetId> gpus, std::optional<Era> era = std::nullopt);

// A loader can take it: AMD, and a linked ELF or SPIR-V.
bool is_loadable(const CodeObject &object);
// An image that holds such an object.
bool is_judged(const DeviceImage &image);

// The targets that the unit's loadable code objects have, in the order of TargetOrder.
std::vector<std::string> unit_targets(const DeviceUnit &unit);

// The GPUs that a target id stands for: each combination of the settings it leaves open; each processor of a generic.
std::vector<TargetId> gpus_of(const TargetId &target);

} // namespace isa_audit
