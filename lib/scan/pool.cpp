#include "pool.h"

#include <algorithm>
#include <atomic>

namespace isa_audit {

// One for_each call. Threads take the next index until none is left; the last one to finish wakes the caller.
struct Pool::Loop {
  size_t count;
  const std::function<void(size_t)> *body;
  std::atomic<size_t> next{0}, done{0};

  // Returns true if this call finished the loop's last body.
  bool drain() {
    bool last = false;
    for (size_t i = next++; i < count; i = next++) {
      (*body)(i);
      last = ++done == count;
    }
    return last;
  }
};

Pool::Pool(unsigned threads) {
  for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this] { work(&Pool::stopped); });
}

Pool::~Pool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
}

void Pool::for_each(size_t n, const std::function<void(size_t)> &body) {
  if (n == 0) return;
  if (n == 1 || threads_.empty()) {
    for (size_t i = 0; i < n; ++i) body(i);
    return;
  }
  auto loop = std::make_shared<Loop>();
  loop->count = n;
  loop->body = &body;
  {
    std::lock_guard lock(mutex_);
    loops_.push_front(loop);
  }
  changed_.notify_all();
  loop->drain();
  std::unique_lock lock(mutex_);
  std::erase(loops_, loop);
  changed_.wait(lock, [&] { return loop->done == n; });
}

bool Pool::start_job(std::unique_lock<std::mutex> &lock) {
  auto fits = std::ranges::find_if(jobs_, [&](const Job &job) {
    return job.memory == 0 || in_use_ == 0 || job.memory <= budget_ - std::min(budget_, in_use_);
  });
  if (fits == jobs_.end()) return false;
  Job job = std::move(*fits);
  jobs_.erase(fits);
  ++running_;
  in_use_ += job.memory;
  lock.unlock();
  job.run();
  // What the job holds goes before its memory counts as free.
  job.run = nullptr;
  lock.lock();
  --running_;
  in_use_ -= job.memory;
  changed_.notify_all();
  return true;
}

void Pool::work(bool (Pool::*finished)() const) {
  std::unique_lock lock(mutex_);
  while (!(this->*finished)()) {
    if (!loops_.empty()) {
      std::shared_ptr<Loop> loop = loops_.front();
      lock.unlock();
      bool last = loop->drain();
      lock.lock();
      std::erase(loops_, loop);
      if (last) changed_.notify_all();
      continue;
    }
    if (start_job(lock)) continue;
    changed_.wait(lock);
  }
}

void Pool::run(std::vector<Job> jobs, uint64_t budget) {
  {
    std::lock_guard lock(mutex_);
    jobs_.assign(std::make_move_iterator(jobs.begin()), std::make_move_iterator(jobs.end()));
    budget_ = budget;
  }
  changed_.notify_all();
  work(&Pool::jobs_done);
}

} // namespace isa_audit
