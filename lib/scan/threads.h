// How many threads a run takes when the user names none.
#pragma once

#include <string>

namespace isa_audit {

// The processors that this process may use: those of its affinity mask, no more than the share of time that a control group
// with a limit leaves (cpu.max of version 2, cpu.cfs_quota_us of version 1, as a container sees its own below
// `root`/sys/fs/cgroup), rounded up. At least 1.
unsigned default_threads(const std::string &root = "");

} // namespace isa_audit
