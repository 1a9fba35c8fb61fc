// Target ids and bundle entry ids. An entry id is <kind>-<triple>[-<target id>] where the triple has three or four parts, the
// fourth often empty, so that one to two dashes stand before the target id. Generic processors hold dashes themselves
// (gfx9-4-generic) and a target id may end in one (xnack-), hence the id is cut behind its operating system part and never
// split at dashes. Older spellings that real files hold: kind `hip` with a three-part triple and one dash; kind `hcc`;
// features written `+xnack`, `-sram-ecc` behind the processor (object versions 2 and 3).
#include "isa-audit/device/target_id.h"

#include <algorithm>
#include <array>

#include "isa-audit/base/problem.h"
#include "isa-audit/device/processors.h"
#include "llvm/Support/FormatVariadic.h"

namespace isa_audit {

namespace {

constexpr std::array<std::string_view, 5> kKinds = {"host", "hipv4", "hip", "hcc", "openmp"};
constexpr std::array<std::string_view, 4> kSystems = {"amdhsa", "amdpal", "mesa3d", "cuda"};

void append_feature(std::string &out, const char *name, Setting setting) {
  if (setting == Setting::on || setting == Setting::off) {
    out += ':';
    out += name;
    out += setting == Setting::on ? '+' : '-';
  }
}

bool is_id_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

// A processor with every feature it supports left open.
TargetId open_target(std::string_view name) {
  TargetId target;
  target.processor = name;
  const Processor *p = find_processor(name);
  if (!p) {
    target.xnack = target.sramecc = Setting::any;
    return target;
  }
  target.kind = p->is_generic ? TargetKind::generic : TargetKind::native;
  target.xnack = p->xnack ? Setting::any : Setting::unsupported;
  target.sramecc = p->sramecc ? Setting::any : Setting::unsupported;
  return target;
}

// "xnack+" style features separated by ':'. Error: a word that is none, or one that the processor does not have.
llvm::Error apply_features(TargetId &target, std::string_view features) {
  bool seen_xnack = false, seen_sramecc = false;
  while (!features.empty()) {
    std::string_view word = features.substr(0, features.find(':'));
    features.remove_prefix(std::min(features.size(), word.size() + 1));
    char sign = word.empty() ? ' ' : word.back();
    std::string_view name = word.substr(0, word.empty() ? 0 : word.size() - 1);
    bool is_xnack = name == "xnack", is_sramecc = name == "sramecc" || name == "sram-ecc";
    if ((sign != '+' && sign != '-') || (!is_xnack && !is_sramecc))
      return make_error(
          llvm::formatv("'{0}' is no feature of a target id: write xnack+, xnack-, sramecc+ or sramecc-", word).str());
    Setting &setting = is_xnack ? target.xnack : target.sramecc;
    bool &seen = is_xnack ? seen_xnack : seen_sramecc;
    if (seen) return make_error(llvm::formatv("{0} is given twice", name).str());
    if (setting == Setting::unsupported)
      return make_error(llvm::formatv("{0} has no {1} setting", target.processor, is_xnack ? "xnack" : "sramecc").str());
    seen = true;
    setting = sign == '+' ? Setting::on : Setting::off;
  }
  return llvm::Error::success();
}

// The spelling of object versions 2 and 3: features behind the processor, each led by its sign.
std::string modern_spelling(std::string_view text) {
  size_t at = text.find('+');
  if (text.find(':') != std::string_view::npos || at == std::string_view::npos) return std::string(text);
  // A '-' before the first '+' may belong to the processor (generics) or lead a feature; only the known names decide.
  for (std::string_view name : {"-xnack", "-sram-ecc", "-sramecc"})
    if (size_t minus = text.find(name); minus < at) at = minus;
  std::string out(text.substr(0, at));
  std::string_view rest = text.substr(at);
  while (!rest.empty()) {
    char sign = rest[0];
    size_t end = 1;
    while (end < rest.size() && rest[end] != '+' && !(rest[end] == '-' && rest.substr(end, 4) != "-ecc")) ++end;
    out += ':';
    out += rest.substr(1, end - 1);
    out += sign;
    rest.remove_prefix(end);
  }
  return out;
}

std::optional<TargetId> claimed_target(std::string_view triple, std::string_view text) {
  TargetId target;
  if (text == "amdgcnspirv" || triple.starts_with("spirv")) {
    target.processor = text.empty() ? "amdgcnspirv" : std::string(text);
    target.kind = TargetKind::spirv;
    return target;
  }
  if (text.empty()) return std::nullopt;
  if (triple.starts_with("nvptx")) {
    target.processor = text;
    target.vendor = Vendor::nvidia;
    return target;
  }
  std::string modern = modern_spelling(text);
  std::string_view processor = std::string_view(modern).substr(0, modern.find(':'));
  target = open_target(processor);
  std::string_view features = std::string_view(modern).substr(std::min(modern.size(), processor.size() + 1));
  // A claim may be nonsense (a feature the processor lacks): keep what can be understood, the loader compares text.
  llvm::consumeError(apply_features(target, features));
  return target;
}

// "gfx942" of "--gfx942", "-gfx942", "-unknown-gfx942" (the new driver), "-amdgiz-gfx942" (compilers of 2023) and
// "-unknown--gfx942" (hipBLASLt's build).
std::string_view without_environment(std::string_view text) {
  auto drop_dash = [&] {
    if (text.starts_with('-')) text.remove_prefix(1);
  };
  drop_dash();
  size_t dash = text.find('-');
  bool is_target = text.starts_with("gfx") || text.find_first_of(":+") < dash;
  if (!is_target && dash != std::string_view::npos) {
    text.remove_prefix(dash);
    drop_dash();
    drop_dash();
  }
  return text;
}

} // namespace

std::string TargetId::text() const {
  std::string out = processor;
  append_feature(out, "sramecc", sramecc);
  append_feature(out, "xnack", xnack);
  return out;
}

llvm::Expected<TargetId> parse_target_id(std::string_view text) {
  std::string_view name = text.substr(0, text.find(':'));
  if (name == "amdgcnspirv") {
    TargetId target;
    target.processor = name;
    target.kind = TargetKind::spirv;
    return target;
  }
  if (!find_processor(name)) {
    std::string_view near = nearest_processor(name);
    return make_error(near.empty() ? llvm::formatv("'{0}' is not a known gfx processor", name).str()
                                   : llvm::formatv("'{0}' is not a known gfx processor; did you mean {1}?", name, near).str());
  }
  TargetId target = open_target(name);
  if (name.size() < text.size())
    if (auto error = apply_features(target, text.substr(name.size() + 1))) return error;
  return target;
}

llvm::Expected<EntryId> parse_entry_id(std::string_view id) {
  EntryId out;
  for (std::string_view kind : kKinds)
    if (id.starts_with(kind) && id.size() > kind.size() && id[kind.size()] == '-') out.kind = kind;
  if (out.kind.empty() || !is_id_text(id)) return make_error("entry id does not start with a known kind");
  std::string_view rest = id.substr(out.kind.size() + 1);
  if (out.kind == "host") {
    out.triple = rest;
    return out;
  }
  // Behind the last operating system part stands the environment, empty as a rule (so that two dashes meet), then the target
  // id.
  size_t end = std::string_view::npos;
  for (std::string_view system : kSystems)
    if (size_t at = rest.rfind(system);
        at != std::string_view::npos && (end == std::string_view::npos || at + system.size() > end))
      end = at + system.size();
  if (end == std::string_view::npos) return make_error("entry id names no known operating system");
  out.triple = rest.substr(0, end);
  std::string_view target = rest.substr(end);
  target = without_environment(target);
  out.target = claimed_target(out.triple, target);
  return out;
}

} // namespace isa_audit
