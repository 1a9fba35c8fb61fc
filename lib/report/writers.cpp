// The formats of --format. Adding one is a .cpp and a row.
#include "isa-audit/report/report.h"

namespace isa_audit {
namespace {

constexpr Writer kWriters[] = {
    {"text", write_text},
    {"json", [](const Report &report, const TextStyle &) { return write_json(report); }},
};

} // namespace

std::span<const Writer> writers() { return kWriters; }

} // namespace isa_audit
