// What ROCm's runtimes of different age can load. Code is judged by what current ones do; where older or newer ones do
// otherwise, a report tells both. Sources: ROCR-Runtime and clr at their release tags up to 6.2, rocm-systems
// (projects/rocr-runtime, projects/clr) up to September 2026; each row in runtime_era.cpp names its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace isa_audit {

// Spans of releases between which something here changed.
enum class Era : uint8_t { rocm_6_1, rocm_6_2, rocm_6_4, rocm_7_0, rocm_7_2, rocm_10_0, newest, never };

struct EraRow {
  Era era;
  unsigned major, minor; // of its first release; 0.0 for the oldest
  std::string_view last; // of its releases: "6.3"; empty for the newest
};
std::span<const EraRow> eras(); // the oldest first; without `never`

// "ROCm 6.3 and older", "ROCm 6.2 to 6.3", "ROCm 6.4 and newer" for the eras from `first` to `last`.
std::string era_range(Era first, Era last);

// The era of a ROCm version ("6.2.4"); `never` for what is none. Releases between two known ones belong to the earlier era.
Era era_of(std::string_view version);

enum class Answer : uint8_t { no, unknown, yes };

Answer loads_object_version(Era era, uint8_t version);
// A compressed bundle, by HIP.
Answer reads_ccob(Era era, uint8_t version);
// Code for a generic processor: as an entry of a bundle that HIP has to find, or as a naked object that only ROCr looks at.
Answer knows_generic(Era era, std::string_view generic, bool in_bundle);
Answer compiles_spirv(Era era);
// gfx902, gfx909 and gfx90c are reported without an xnack setting.
Answer hides_client_xnack(Era era);
// A GPU that an image has no code for is passed over; before, HIP gives up the image for it and all GPUs after it.
Answer skips_gpus(Era era);
// gfx125x objects whose flags say "xnack on", as newer compilers write, though the processors have no such choice.
Answer takes_fixed_xnack(Era era);

} // namespace isa_audit
