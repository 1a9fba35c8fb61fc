// The identity of GPU code: a processor and, where the processor has the choice, the settings of xnack and sramecc.
// Grammar and meaning: llvm/docs/AMDGPUUsage (target id), clang/docs/ClangOffloadBundler (entry id).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "llvm/Support/Error.h"

namespace isa_audit {

enum class Vendor : uint8_t { amd, nvidia };

// native: code for one processor. generic: code for a family (gfx11-generic). spirv: compiled at run time.
enum class TargetKind : uint8_t { native, generic, spirv };

// unsupported: the processor has no such setting. any: the code runs with either. off, on: the code needs this one.
// A GPU (as opposed to code) never has `any`.
enum class Setting : uint8_t { unsupported, any, off, on };

struct TargetId {
  std::string processor; // "gfx942", "gfx9-4-generic", "amdgcnspirv", "sm_80", "compute_80"; "mach-0x6a" for a machine
                         // number that no table here knows
  Setting sramecc = Setting::unsupported;
  Setting xnack = Setting::unsupported;
  TargetKind kind = TargetKind::native;
  Vendor vendor = Vendor::amd;

  auto operator<=>(const TargetId &) const = default;

  // Canonical text: features only where pinned, sramecc before xnack: "gfx90a", "gfx90a:sramecc+:xnack-".
  std::string text() const;
};

// A target id as users and tools write it: "gfx942", "gfx90a:sramecc+:xnack-", "gfx11-generic". A feature that the processor
// supports and the text does not name is `any`. Error: not a processor the table knows (the message names the nearest),
// a feature the processor does not have, a feature twice.
llvm::Expected<TargetId> parse_target_id(std::string_view text);

// What a bundle entry id claims (formats: ClangOffloadBundler, and every older spelling that real files hold).
struct EntryId {
  std::string kind;   // "host", "hip", "hipv4", "hcc", "openmp"
  std::string triple; // "amdgcn-amd-amdhsa"
  // Empty for the host entry. An unknown processor is kept as written with both settings `any`.
  std::optional<TargetId> target;
};

// Error: no known kind, or no triple; such an id does not belong to a bundle.
llvm::Expected<EntryId> parse_entry_id(std::string_view id);

} // namespace isa_audit
