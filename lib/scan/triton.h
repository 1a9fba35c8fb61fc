// Kernels that Triton compiled, in its cache or shipped: each .hsaco file has a JSON file beside it that says for what.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "isa-audit/base/member.h"
#include "isa-audit/verdict/inventory.h"

namespace isa_audit {

// By input and path of the code file.
using TritonKernels = std::map<std::pair<uint32_t, std::string>, TritonKernel>;

// The path of the JSON file that would describe the code file at `path`; empty for a name that Triton does not give.
std::string triton_json_path(const std::string &path);

// What the text of such a file says; nothing when it is no such file, or for another backend.
std::optional<TritonKernel> parse_triton_json(std::string_view text);

// Looks for the JSON files of code files among the members of one folder or archive, by path.
void find_triton_kernels(const std::vector<const Member *> &code_files, const std::map<std::string, const Member *> &json_files,
                         TritonKernels &out);

} // namespace isa_audit
