// The kernel folders of ROCm's libraries, put together from code objects and from the files that name them, and what they hold
// for a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa-audit/verdict/inventory.h"
#include "isa-audit/verdict/target_order.h"

namespace isa_audit {

struct SideCar {
  SideLibrary library = SideLibrary::rocblas;
  Origin origin; // of the folder
  std::string distribution;
  std::vector<const SideFile *> files;                  // by origin; into the inventory
  std::vector<const Binary *> kernels;                  // code objects, by origin
  std::map<std::string, uint64_t, TargetOrder> targets; // files for each: code objects by their flags, others by what they say
};

// By origin and library.
std::vector<SideCar> side_cars(const Inventory &inventory);

// The side-car that a code object's file belongs to, by its path.
std::optional<SideFile> side_file_of(const Inventory &inventory, const Binary &binary);

// Libraries that find their kernel files by an index (Tensile).
bool has_index(SideLibrary library);

struct SideState {
  const SideFile *index = nullptr; // that the library loads for the GPU
  uint64_t kernels = 0;            // files with code that the GPU takes
  uint64_t other_settings = 0;     // files for the processor, but for other settings of xnack or sramecc
  uint64_t named = 0;              // other files for the processor: databases, bitcode, tables

  bool empty() const { return !index && kernels + other_settings + named == 0; }
};
SideState side_state(const SideCar &car, const TargetId &gpu);

// The library has what it needs to start on the GPU.
bool serves(const SideCar &car, const TargetId &gpu);

// Files that an index or a table for the GPU names and that are not there, as named; sorted, without duplicates.
std::vector<std::string> missing_names(const SideCar &car, const TargetId &gpu);

// Fallback kernels (Tensile builds the same ones for every processor) that other processors have and the GPU's lacks.
std::vector<std::string> missing_fallbacks(const SideCar &car, const TargetId &gpu);

// The processor of the same generation with the most kernel files; its number of files. Empty where there is none.
std::pair<std::string, uint64_t> fullest_sibling(const SideCar &car, const TargetId &gpu);

// The targets that a library could start on, in the order of TargetOrder: all that the side-car holds files for, without those
// that have kernels but no index.
std::vector<std::string> startable_targets(const SideCar &car);

} // namespace isa_audit
