#include "../../../lib/scan/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

using namespace isa_audit;

namespace {

TEST(Pool, EachIndexOnceForAnyThreads) {
  for (unsigned threads : {1u, 2u, 8u}) {
    Pool pool(threads);
    std::vector<int> calls(10000);
    pool.for_each(calls.size(), [&](size_t i) { ++calls[i]; });
    EXPECT_EQ(std::accumulate(calls.begin(), calls.end(), 0), 10000);
    EXPECT_EQ(*std::min_element(calls.begin(), calls.end()), 1);
  }
}

TEST(Pool, LoopsInsideLoopsAndJobs) {
  Pool pool(4);
  std::atomic<int> count{0};
  std::vector<Job> jobs;
  for (int i = 0; i < 20; ++i)
    jobs.push_back({0, [&] { pool.for_each(10, [&](size_t) { pool.for_each(10, [&](size_t) { ++count; }); }); }});
  pool.run(std::move(jobs), 0);
  EXPECT_EQ(count, 2000);
}

TEST(Pool, MemoryStaysWithinTheBudget) {
  Pool pool(8);
  std::atomic<uint64_t> in_use{0}, most{0}, alone{0};
  std::vector<Job> jobs;
  for (int i = 0; i < 200; ++i) {
    uint64_t memory = i % 50 == 0 ? 500 : 10 + i % 40; // some are larger than the whole budget
    jobs.push_back({memory, [&, memory] {
                      uint64_t now = in_use += memory;
                      if (memory > 100)
                        ++alone;
                      else
                        for (uint64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
                        }
                      std::this_thread::yield();
                      in_use -= memory;
                    }});
  }
  pool.run(std::move(jobs), 100);
  EXPECT_EQ(in_use, 0u);
  EXPECT_EQ(alone, 4u);
  EXPECT_LE(most, 100u);
}

TEST(Pool, NothingToDo) {
  Pool pool(2);
  pool.for_each(0, [](size_t) { FAIL(); });
  pool.run({}, 0);
}

} // namespace
