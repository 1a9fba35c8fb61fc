// The pipeline: paths → members → binaries → inventory. The only caller of every room.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "isa-audit/device/read_device.h"
#include "isa-audit/verdict/inventory.h"

namespace isa_audit {

// How far a scan is, for another thread to look at.
class Progress {
public:
  std::atomic<uint64_t> binaries{0}, total_binaries{0}, bytes{0}, total_bytes{0};

  // The file that was begun last.
  void enter(const std::string &path) {
    std::lock_guard lock(mutex_);
    path_ = path;
  }
  std::string path() const {
    std::lock_guard lock(mutex_);
    return path_;
  }

private:
  mutable std::mutex mutex_;
  std::string path_;
};

struct ScanOptions {
  std::vector<std::string> paths;         // as given
  std::vector<std::string> distributions; // --dist
  std::vector<std::string> excludes;      // --exclude globs against the reported path
  bool follow_symlinks = false;
  unsigned archive_depth = 3;
  unsigned jobs = 0;           // 0: the processors this process may use
  uint64_t memory = 0;         // bytes of anonymous memory for open members; 0: default
  bool deep = false;           // verify every checksum and decode all GPU code, whatever it costs
  bool x86_reach = true;       // find out when x86-64 code runs and behind which checks; false: only which features it uses
  bool kernel_details = false; // keep what metadata says of each kernel
  bool hash = false;           // sha256 of the inputs
  CodeObjectSink sink;         // may be empty
  Progress *progress = nullptr;
};

Inventory scan(const ScanOptions &options);

} // namespace isa_audit
