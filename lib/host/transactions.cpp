#include "transactions.h"

namespace isa_audit::host {

Node find_transaction_check(const Graph &graph, const Guards &guards, const Reach &reach, size_t file) {
  constexpr uint8_t kOpcode = 0xc7, kForm = 0xf8; // XBEGIN rel32
  const Program &program = graph.program(file);
  for (Node n = graph.first(file); n < graph.first(file + 1); ++n) {
    const Function &f = graph.function(file, n);
    if (!faulting(f.classes).contains(Feature::rtm)) continue;
    const std::span<const uint8_t> code = program.bytes(f);
    Node by = kNoNode;
    for_each_use(program, f, [&](uint32_t at, const InsnClass &klass) {
      if (!klass.features.contains(Feature::rtm) || at + 2 > code.size() || code[at] != kOpcode || code[at + 1] != kForm)
        return;
      if (guards.is_guarded(n, at))
        by = n;
      else if (reach.is_behind_guard(n) && !reach.guard_of(n).pattern)
        by = reach.guard_of(n).node;
    });
    if (by != kNoNode) return by;
  }
  return kNoNode;
}

} // namespace isa_audit::host
