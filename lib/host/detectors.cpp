#include "detectors.h"

#include <algorithm>
#include <cstring>
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
    const uint8_t *at = r.bytes.data(), *const end = at + r.bytes.size();
    while ((at = static_cast<const uint8_t *>(memmem(at, static_cast<size_t>(end - at), text.data(), text.size()))))
      visit(r.address + static_cast<uint64_t>(at++ - r.bytes.data()));
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

std::vector<uint64_t> find_cpuinfo_names(const Image &image) {
  std::vector<uint64_t> places;
  for_each_place(image, kCpuInfo, [&](uint64_t address) { places.push_back(address); });
  if (places.empty()) return {};
  bool words = false;
  for (const std::string_view word : kFlagWords)
    if (!words) for_each_place(image, word, [&](uint64_t) { words = true; });
  if (!words) return {};
  std::ranges::sort(places);
  return places;
}

} // namespace isa_audit::host
