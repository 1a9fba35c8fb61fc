// The threads of a run. Jobs are coarse (one file); a job spreads its own work over idle threads with for_each. A job that has
// to hold a file in anonymous memory starts only when the run's budget has room for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "isa-audit/base/parallel.h"

namespace isa_audit {

struct Job {
  uint64_t memory = 0; // bytes of anonymous memory that the job takes while it runs
  std::function<void()> run;
};

class Pool {
public:
  // `threads` counts the caller's own, which works during run() and for_each().
  explicit Pool(unsigned threads);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  // Calls body(0) … body(n-1) on the caller's and any idle thread; returns when all are done. May be called from a job or
  // from a body: the caller works itself, so nothing waits for a thread that is not there.
  void for_each(size_t n, const std::function<void(size_t)> &body);
  ParallelFor parallel_for() {
    return [this](size_t n, const std::function<void(size_t)> &body) { for_each(n, body); };
  }

  // Runs the jobs, in their order as far as memory allows; the sum of `memory` of the running ones stays within `budget`,
  // except that a job larger than that runs alone.
  void run(std::vector<Job> jobs, uint64_t budget);

private:
  struct Loop;
  void work(bool (Pool::*finished)() const);
  bool stopped() const { return stop_; }
  bool jobs_done() const { return jobs_.empty() && running_ == 0; }
  bool start_job(std::unique_lock<std::mutex> &lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Loop>> loops_; // newest first: the inner loops of running jobs come before new jobs
  std::deque<Job> jobs_;
  size_t running_ = 0;
  uint64_t budget_ = 0, in_use_ = 0;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

} // namespace isa_audit
