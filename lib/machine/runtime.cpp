// The runtimes' own rules about which GPUs a process sees and as what; sources in runtime.h.
//
// Traps: HIP compares a token with the number printed back, so "0, 1" ends at " 1" while ROCr trims; ROCr takes a second
// mention as the end, HIP passes over it; an override names the step in decimal (9.0.10 is gfx90a).
#include "isa-audit/machine/runtime.h"

#include <algorithm>

#include "isa-audit/machine/kfd.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

using llvm::StringRef;

std::string uuid(uint64_t unique_id) {
  return unique_id ? "GPU-" + llvm::utohexstr(unique_id, /*LowerCase=*/true, 16) : std::string("GPU-XX");
}

// ROCr finds no GPU by the unique id 0, HIP none by "GPU-XX" and hex digits.
std::optional<size_t> rocr_uuid(StringRef token, std::span<const uint64_t> ids) {
  if (token.size() < 5 || token.size() > 20) return std::nullopt;
  std::optional<size_t> found;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == 0 || !StringRef(uuid(ids[i])).upper().starts_with(token.str())) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

// strtol with base 0: blanks, sign, 0x, leading 0 for octal.
std::optional<size_t> rocr_index(StringRef token) {
  bool negative = token.consume_front("-");
  if (!negative) token.consume_front("+");
  uint64_t value;
  unsigned base = 10;
  if (token.consume_front_insensitive("0x"))
    base = 16;
  else if (token.size() > 1 && token.front() == '0')
    base = 8;
  if (token.getAsInteger(base, value) || (negative && value != 0)) return std::nullopt;
  return value;
}

std::optional<size_t> hip_index(StringRef token, std::span<const uint64_t> ids) {
  if (token.contains("GPU-"))
    for (size_t i = 0; i < ids.size(); ++i)
      if (StringRef(uuid(ids[i])).contains(token)) return i;
  uint64_t value;
  bool as_printed = !token.empty() && llvm::all_of(token, llvm::isDigit) && (token.size() == 1 || token.front() != '0');
  if (!as_printed || token.getAsInteger(10, value)) return std::nullopt;
  return value;
}

std::string stop_note(const char *variable, StringRef token, const char *reason) {
  return llvm::formatv("{0} is read up to '{1}' only: {2}", variable, token, reason).str();
}

constexpr std::string_view kPerProcess[] = {"gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"};
// Retry is the kernel's default for these. gfx90c: off until kernel 6.8, on since; see predict_xnack's callers.
constexpr std::string_view kRetryByDefault[] = {"gfx902", "gfx904", "gfx909"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// 9 for gfx90a, 10 for gfx1030: all but the last two digits.
unsigned generation(StringRef processor) {
  unsigned major = 0;
  if (!processor.consume_front("gfx") || processor.size() < 3) return 0;
  processor.drop_back(2).getAsInteger(10, major);
  return major;
}

} // namespace

Selection select_rocr(std::string_view value, std::span<const uint64_t> unique_ids) {
  Selection selection;
  StringRef rest(value);
  while (!rest.empty() && selection.chosen.size() < unique_ids.size()) {
    StringRef given;
    std::tie(given, rest) = rest.split(',');
    std::string token = given.trim().upper();
    std::optional<size_t> index;
    if (!token.empty()) index = token[0] == 'G' ? rocr_uuid(token, unique_ids) : rocr_index(token);
    const char *reason = !index                                         ? "no index and no unique id of one GPU"
                         : *index >= unique_ids.size()                  ? "no such GPU"
                         : llvm::is_contained(selection.chosen, *index) ? "named before"
                                                                        : nullptr;
    if (reason) {
      selection.note = stop_note("ROCR_VISIBLE_DEVICES", given, reason);
      break;
    }
    selection.chosen.push_back(*index);
  }
  return selection;
}

Selection select_hip(std::string_view value, std::span<const uint64_t> unique_ids) {
  Selection selection;
  StringRef rest(value);
  while (!rest.empty()) {
    StringRef token;
    std::tie(token, rest) = rest.split(',');
    std::optional<size_t> index = hip_index(token, unique_ids);
    if (!index || *index >= unique_ids.size()) {
      const char *reason = token != token.trim() ? "HIP takes no blanks"
                           : index               ? "no such GPU"
                                                 : "no index and no unique id of a GPU";
      selection.note = stop_note("the list of visible devices", token, reason);
      break;
    }
    if (!llvm::is_contained(selection.chosen, *index)) selection.chosen.push_back(*index);
  }
  return selection;
}

std::string override_processor(std::string_view value) {
  StringRef rest(value);
  unsigned fields[3];
  for (unsigned &field : fields) {
    StringRef text;
    if (&field == &fields[2])
      text = rest;
    else
      std::tie(text, rest) = rest.split('.');
    if (text.ltrim().getAsInteger(10, field)) return {};
  }
  if (fields[0] > 63 || fields[1] > 255 || fields[2] > 255) return {};
  return llvm::formatv("gfx{0}{1:x-}{2:x-}", fields[0], fields[1], fields[2]).str();
}

bool chooses_xnack_per_process(std::string_view processor) { return is_one_of(processor, kPerProcess); }

XnackMode predict_xnack(std::span<const std::string> processors, int noretry, std::string_view wish) {
  XnackMode mode;
  if (wish == "0") return mode;
  // One mode for all GPUs of a process: code built for xnack off runs everywhere, so one GPU without retry decides.
  bool by_default = true;
  std::string obstacle;
  for (const std::string &processor : processors) {
    if (generation(processor) < 9) continue; // no part in unified memory
    bool retries = noretry == -1 ? is_one_of(processor, kRetryByDefault) : noretry == 0;
    bool is_newer = generation(processor) > 9;
    by_default &= retries && !is_newer;
    if (obstacle.empty() && (is_newer || (!retries && !chooses_xnack_per_process(processor)))) obstacle = processor;
  }
  if (wish != "1") {
    mode.on = by_default && !processors.empty();
    return mode;
  }
  mode.on = obstacle.empty();
  if (!mode.on)
    mode.note = llvm::formatv("HSA_XNACK=1 has no effect: {0} in the same process cannot retry page faults", obstacle).str();
  return mode;
}

} // namespace isa_audit
