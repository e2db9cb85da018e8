// The compile threads: every item once, nesting, many callers, exceptions.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/support/thread_pool.hpp"

namespace qd {
namespace {

TEST(ThreadPool, EveryItemOnce) {
  for (uint32_t workers : {0u, 1u, 2u, 5u})
    for (uint64_t n : {0ull, 1ull, 7ull, 1000ull})
      for (uint64_t grain : {0ull, 1ull, 3ull, 5000ull}) {
        ThreadPool pool(workers);
        std::vector<std::atomic<int>> seen(n);
        std::atomic<bool> bad = false;
        pool.parallel_for(n, grain, [&](uint64_t begin, uint64_t end, uint32_t worker) {
          if (worker >= pool.workers() || end - begin > std::max<uint64_t>(grain, 1) || begin >= end) bad = true;
          for (uint64_t i = begin; i < end; ++i) ++seen[i];
        });
        for (auto &s : seen) ASSERT_EQ(s, 1);
        EXPECT_FALSE(bad);
      }
}

TEST(ThreadPool, NestedCallsRunOnTheirOwnThread) {
  ThreadPool pool(4);
  std::atomic<int> inner = 0, strays = 0;
  pool.parallel_for(16, 1, [&](uint64_t, uint64_t, uint32_t) {
    auto me = std::this_thread::get_id();
    pool.parallel_for(10, 1, [&](uint64_t, uint64_t, uint32_t) {
      ++inner;
      if (std::this_thread::get_id() != me) ++strays;
    });
  });
  EXPECT_EQ(inner, 160);
  EXPECT_EQ(strays, 0);
}

// A kernel that is one compile unit: the call for it has one item, and what that does itself must still be spread.
TEST(ThreadPool, TheOnlyItemOfACallMaySpreadItsWork) {
  ThreadPool pool(2);
  std::atomic<int> here = 0, met = 0;
  pool.parallel_for(1, 1, [&](uint64_t, uint64_t, uint32_t) {
    pool.parallel_for(2, 1, [&](uint64_t, uint64_t, uint32_t) {
      ++here;
      for (int i = 0; i < 10000 && here < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (here == 2) ++met;
    });
  });
  EXPECT_EQ(met, 2) << "the two items did not run at the same time";
}

TEST(ThreadPool, ManyCallers) {
  ThreadPool pool(3);
  std::atomic<int> sum = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        pool.parallel_for(20, 1, [&](uint64_t b, uint64_t e, uint32_t) { sum += int(e - b); });
    });
  for (auto &t : callers) t.join();
  EXPECT_EQ(sum, 6 * 50 * 20);
}

TEST(ThreadPool, TheFirstExceptionArrivesAndTheRestIsDropped) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> begun = 0;
    EXPECT_THROW(pool.parallel_for(100000, 1,
                                   [&](uint64_t, uint64_t, uint32_t) {
                                     ++begun;
                                     throw std::runtime_error("x");
                                   }),
                 std::runtime_error);
    EXPECT_LE(begun, 3);
  }
  std::atomic<int> after = 0;
  pool.parallel_for(10, 1, [&](uint64_t, uint64_t, uint32_t) { ++after; });
  EXPECT_EQ(after, 10);
}

}  // namespace
}  // namespace qd
