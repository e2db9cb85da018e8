// pool_test.cpp: every chunk once, many submitters at once, cancelling, and the end.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "backends/cpu/pool.hpp"

namespace qd::cpu {
namespace {

struct Counted {
  std::vector<std::atomic<int>> hits;
  explicit Counted(size_t n) : hits(n) {}
  static void chunk(void *self, int64_t k) { static_cast<Counted *>(self)->hits[size_t(k)]++; }
  void expect_each_once() const {
    for (size_t k = 0; k < hits.size(); k++) ASSERT_EQ(hits[k].load(), 1) << "chunk " << k;
  }
};

TEST(Pool, RunsEveryChunkOnceForAnyWidth) {
  for (uint32_t width : {1u, 2u, 3u, 8u}) {
    Pool pool(width);
    for (size_t n : {1u, 2u, 7u, 500u}) {
      Counted c(n);
      Job job{Counted::chunk, &c, int64_t(n)};
      EXPECT_TRUE(pool.run(job));
      c.expect_each_once();
    }
  }
}

TEST(Pool, TakesConcurrentSubmitters) {
  Pool pool(4);
  std::vector<std::thread> submitters;
  for (int t = 0; t < 6; t++)
    submitters.emplace_back([&pool] {
      for (int round = 0; round < 200; round++) {
        Counted c(size_t(2 + round % 17));
        Job job{Counted::chunk, &c, int64_t(c.hits.size())};
        pool.run(job);
        c.expect_each_once();
      }
    });
  for (auto &t : submitters) t.join();
}

TEST(Pool, StopsWhenCancelled) {
  Pool pool(3);
  struct Context {
    std::atomic<int> done{0};
  } c;
  Job job{[](void *self, int64_t) { static_cast<Context *>(self)->done++; }, &c, 1 << 20, [](void *) { return true; }};
  EXPECT_FALSE(pool.run(job));
  EXPECT_LT(c.done.load(), 1 << 20);
  Counted after(50);
  Job again{Counted::chunk, &after, 50};
  EXPECT_TRUE(pool.run(again));
  after.expect_each_once();
}

TEST(Pool, RunsOnTheCallerAfterStop) {
  Pool pool(2);
  pool.stop();
  Counted c(9);
  Job job{Counted::chunk, &c, 9};
  EXPECT_TRUE(pool.run(job));
  c.expect_each_once();
}

TEST(Pool, LetsGoOfItsThreadsInAChild) {
  auto pool = std::make_unique<Pool>(1);
  pool->abandon();
  pool.reset();  // joins nothing
}

}  // namespace
}  // namespace qd::cpu
