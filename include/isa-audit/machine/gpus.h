// The GPUs of a machine as ROCm's runtimes would see them, from sysfs alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isa-audit/machine/detect.h"
#include "isa-audit/machine/machine.h"
#include "isa-audit/machine/root.h"

namespace isa_audit {

// Whether a variable changes which GPUs the runtimes show, or as what, or where they look for code.
bool is_gpu_variable(std::string_view name);

// Fills gpus, rocm, driver, overrides and notes of `machine`.
void detect_gpus(const Root &root, const Environment &environment, Machine &machine);

// For machines whose KFD shows no GPU: adds those of the DRM driver, hidden, and notes why ROCm cannot use them.
void detect_by_drm(const Root &root, bool kfd_present, Machine &machine);

// Versions of the ROCm releases below /opt, sorted, each once.
std::vector<std::string> find_rocm_versions(const Root &root);

} // namespace isa_audit
