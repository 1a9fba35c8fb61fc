#include "threads.h"

#include <algorithm>
#include <fstream>
#include <thread>

namespace isa_audit {

namespace {

// Processors by which the quota bounds the group; 0 without a limit ("max", -1).
unsigned bound(const std::string &quota, const std::string &period) {
  const long long time = std::strtoll(quota.c_str(), nullptr, 10), of = std::strtoll(period.c_str(), nullptr, 10);
  if (time <= 0 || of <= 0) return 0;
  return static_cast<unsigned>(std::min((time - 1) / of + 1, 1LL << 16));
}

std::string first_word(const std::string &path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

} // namespace

unsigned default_threads(const std::string &root) {
  const std::string groups = root + "/sys/fs/cgroup/";
  std::ifstream file(groups + "cpu.max");
  std::string quota, period;
  unsigned limit = 0;
  if (file >> quota >> period)
    limit = bound(quota, period);
  else
    limit = bound(first_word(groups + "cpu/cpu.cfs_quota_us"), first_word(groups + "cpu/cpu.cfs_period_us"));
  const unsigned processors = std::max(std::thread::hardware_concurrency(), 1U); // glibc counts the affinity mask
  return limit ? std::min(limit, processors) : processors;
}

} // namespace isa_audit
