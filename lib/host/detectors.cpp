#include "detectors.h"

#include <algorithm>
#include <iterator>

namespace isa_audit::host {

namespace {

// Objects that describe the CPU, and functions that return what it can do.
constexpr std::string_view kDetectorObjects[] = {"__cpu_model", "__cpu_features2", "_rtld_global_ro", "_dl_x86_cpu_features"};
constexpr std::string_view kDetectorFunctions[] = {"__x86_get_cpuid_feature_leaf", "_dl_x86_get_cpu_features",
                                                   "__x86_get_cpu_features", "__get_cpu_features"};
// Functions that do not come back.
constexpr std::string_view kNoReturn[] = {"abort",
                                          "exit",
                                          "_exit",
                                          "_Exit",
                                          "quick_exit",
                                          "__assert_fail",
                                          "__stack_chk_fail",
                                          "__cxa_throw",
                                          "__cxa_rethrow",
                                          "__cxa_bad_cast",
                                          "__cxa_bad_typeid",
                                          "__cxa_pure_virtual",
                                          "_Unwind_Resume",
                                          "__cxa_throw_bad_array_new_length",
                                          "_ZSt9terminatev",
                                          "longjmp",
                                          "siglongjmp",
                                          "__longjmp_chk",
                                          "Py_FatalError",
                                          "_Py_FatalErrorFunc",
                                          "__fortify_fail",
                                          "__chk_fail",
                                          "pthread_exit",
                                          "rust_begin_unwind",
                                          "__cxa_call_unexpected",
                                          "__clang_call_terminate",
                                          "Py_Exit"};

constexpr std::string_view kCpuInfo = "/proc/cpuinfo";
constexpr std::string_view kFlagWords[] = {"avx2", "sse4_2", "avx512f", "asimd"}; // as Linux prints them

// Calls visit(address) for each place of `text` in data that only can be read.
template <typename F> void for_each_place(const Image &image, std::string_view text, F visit) {
  for (const Elf::Range &r : image.elf().data_ranges()) {
    const std::string_view bytes(reinterpret_cast<const char *>(r.bytes.data()), r.bytes.size());
    for (size_t at = bytes.find(text); at != bytes.npos; at = bytes.find(text, at + 1)) visit(r.address + at);
  }
}

} // namespace

bool is_detector_object(std::string_view name) {
  return std::ranges::find(kDetectorObjects, name) != std::end(kDetectorObjects);
}

bool is_detector_function(std::string_view name) {
  return std::ranges::find(kDetectorFunctions, name) != std::end(kDetectorFunctions);
}

bool is_no_return(std::string_view name) {
  return std::ranges::find(kNoReturn, name) != std::end(kNoReturn) || name.starts_with("_ZSt")
             ? name.find("__throw_") != name.npos || std::ranges::find(kNoReturn, name) != std::end(kNoReturn)
             : false;
}

std::vector<uint32_t> find_cpuinfo_readers(const Program &program) {
  const Image &image = program.image();
  std::vector<uint64_t> places;
  for_each_place(image, kCpuInfo, [&](uint64_t address) { places.push_back(address); });
  if (places.empty()) return {};
  bool words = false;
  for (const std::string_view word : kFlagWords) for_each_place(image, word, [&](uint64_t) { words = true; });
  if (!words) return {};
  // Code refers to the name by its distance from the next instruction, the last four bytes of LEA.
  std::vector<uint32_t> readers;
  const auto [low, high] = std::ranges::minmax(places);
  for (const CodeRange &r : image.code()) {
    if (r.plt || r.end - r.start < 4) continue;
    for (uint64_t at = r.start; at + 4 <= r.end; ++at) {
      const uint64_t target = at + 4 + static_cast<uint64_t>(int64_t{read_le<int32_t>(r.bytes + (at - r.start))});
      if (target < low || target > high || std::ranges::find(places, target) == places.end()) continue;
      if (const uint32_t f = program.function_at(at); f != kNoFunction) readers.push_back(f);
    }
  }
  std::ranges::sort(readers);
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  return readers;
}

} // namespace isa_audit::host
