// Where a fact was found: the input, the file inside it, the place inside the file. Origins order every list of a report,
// so that it does not depend on the order in which threads finished.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace isa_audit {

struct Origin {
  uint32_t input = 0; // index of the input as given on the command line
  std::string path;   // relative to the input, '/'-separated; the file's own name when the input is a file; members of an
                      // archive inside an input are joined by '!': "dist/kern.whl!kern/_C.so"
  std::string place;  // inside the file, for people: ".hip_fatbin+0x1000 entry 2"; empty for the whole file
  uint64_t pos = 0;   // sort key of `place`: the offset in the file, or the running number of a part without one

  auto operator<=>(const Origin &) const = default;

  // "torch/lib/a.so" or "torch/lib/a.so:.hip_fatbin+0x1000 entry 2".
  std::string text() const { return place.empty() ? path : path + ":" + place; }
};

// What reports show of a path outside of the inputs: its last two parts, without a user's name in /home or /Users. They are
// posted in public, and the rest may name the user or the host.
std::string last_two_parts(std::string_view path);

} // namespace isa_audit
