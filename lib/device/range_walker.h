// Walks one range of bytes (a section, a whole file) and cuts out what holds device code.
#pragma once

#include <string>
#include <vector>

#include "bundle.h"
#include "isa-audit/base/bytes.h"
#include "isa-audit/base/origin.h"
#include "isa-audit/base/parallel.h"
#include "isa-audit/base/problem.h"
#include "isa-audit/device/code_object.h"
#include "magic_scan.h"

namespace isa_audit {

// A piece of a range to be decoded: a bundle, a compressed bundle or a naked ELF image.
struct DevicePiece {
  Magic magic = Magic::bundle;
  std::string place;              // ".hip_fatbin+0x1000"
  uint64_t pos = 0;               // offset in the file
  uint64_t address = 0;           // virtual address, 0 where the range has none
  Bytes bytes;                    // from its first byte to its last
  BundleHeader header;            // of a plain bundle
  Carrier carrier = Carrier::elf; // of a naked ELF image: where it was found
};

struct DeviceRange {
  std::string name;    // ".hip_fatbin"; empty for a whole file
  uint64_t offset = 0; // in the file
  uint64_t address = 0;
  Bytes bytes;
  // Made to hold device code (.hip_fatbin, a .co file): what cannot be read there is a problem. Elsewhere a magic that is
  // not followed by something believable is a coincidence.
  bool dedicated = false;
};

void walk_range(const DeviceRange &range, const Origin &origin, const ParallelFor &parallel, std::vector<DevicePiece> &pieces,
                Problems &problems);

} // namespace isa_audit
