// Intel's restricted transactional memory (SDM volume 1, chapter 16). A transaction starts with XBEGIN, must have a way without
// one beside it, and no compiler makes one that the source does not ask for. A program that asks the CPU before one XBEGIN
// therefore counts as one that asks before all, and XEND, XABORT and XTEST are for what runs inside: how it remembers the
// answer is often beyond the analysis of guards (glibc keeps it in the kind of each mutex).
#pragma once

#include "reach.h"

namespace isa_audit::host {

// A function of the file whose check an XBEGIN is behind; kNoNode if there is none.
Node find_transaction_check(const Graph &graph, const Guards &guards, const Reach &reach, size_t file);

} // namespace isa_audit::host
