// crowd_test.cpp: processes that die at any moment, and many that start at once, on one cache folder. Nothing is torn,
// nobody waits for the dead, results are right, and a task is compiled a few times at most.
#include "crowd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <time.h>

#include <chrono>
#include <random>

using namespace qd;

namespace {

constexpr int n_kernels = 40;

// Instrumented code is slower, clocks are not: moments are drawn from a longer time, and more waits run out.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int slower = 8;
#else
constexpr int slower = 1;
#endif

void expect_intact(const std::string &root) {
  for (const CacheEntry &e : cache_list(root, true)) EXPECT_EQ(e.problem, "") << e.path;
}

void pause_for(long microseconds) {
  const timespec t{0, microseconds * 1000};
  ::nanosleep(&t, nullptr);
}

struct Progress {
  std::atomic<int> phase{0};  // 1: inside compile(), which is where code is made and published
  std::atomic<int> wrong{0};
};

[[noreturn]] void compile_until_killed(const std::string &root, Progress *p, unsigned seed) {
  try {
    const auto c = test::context_on(root, 1);
    std::minstd_rand random(seed);
    for (;;) {
      const int k = int(random() % n_kernels) + 1000 * int(random() % 50);  // mostly new ones
      p->phase = 1;
      const auto e = c->compile(ir::parse(test::kernel_text(k)));
      p->phase = 0;
    }
  } catch (...) { p->wrong = 1; }
  _exit(1);
}

// SIGKILL at random moments; only those that land inside compile() count.
TEST(Crowd, AThousandKills) {
  test::TemporaryFolder f;
  const std::string root = f.path + "/cache";
  std::minstd_rand random(7);
  int inside = 0, tries = 0;
  const auto began = std::chrono::steady_clock::now();
  while (inside < 1000 && tries < 4000) {
    ++tries;
    test::Shared<Progress> p;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) compile_until_killed(root, p.operator->(), unsigned(tries));
    for (int i = 0; i < 20000 && p->phase == 0; ++i) pause_for(50);
    pause_for(long(random() % (6000 * slower)));  // long enough for some to publish, also on a quiet machine
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_EQ(p->wrong, 0);
    inside += p->phase == 1;
    if (tries % 100 == 0) expect_intact(root);
  }
  EXPECT_EQ(inside, 1000) << "of " << tries << " kills";
  RecordProperty("kills", tries);
  RecordProperty("seconds", int(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()));
  expect_intact(root);
  size_t entries = cache_list(root, false).size();
  EXPECT_GT(entries, 100u);

  // The next run is right, waits for none of the dead, and is warm for what it finds.
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < 2; ++round) {
    const auto c = test::context_on(root, 1);
    for (int k = 0; k < n_kernels; ++k) {
      const int compiled = test::run(*c, k);
      ASSERT_GE(compiled, 0) << k;
      if (round) { EXPECT_EQ(compiled, 0) << k; }
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

struct Counts {
  std::atomic<int> compiled[10] = {}, wrong{0}, started{0};
};

int crowd(const std::string &root, int processes, Counts *counts, uint64_t max_bytes) {
  int gate[2];
  if (::pipe(gate)) return -1;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child) {
      children.push_back(child);
      continue;
    }
    ::close(gate[1]);
    char go;
    if (::read(gate[0], &go, 1) != 0) _exit(1);  // end of file: everybody starts now
    try {
      const auto c = test::context_on(root, 1, max_bytes);
      ++counts->started;
      for (int k = 0; k < 10; ++k) {
        const int compiled = test::run(*c, 100 + k);
        if (compiled < 0) ++counts->wrong;
        else counts->compiled[k] += compiled;
      }
    } catch (...) { ++counts->wrong; }
    _exit(0);
  }
  ::close(gate[0]);
  ::close(gate[1]);
  int died = 0;
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    died += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  return died;
}

// Each kernel has three tasks, of which two are the same in all of them: 10 + 2 different ones.
TEST(Crowd, SixtyFourProcessesOnAColdCache) {
  test::TemporaryFolder f;
  test::Shared<Counts> counts;
  EXPECT_EQ(crowd(f.path + "/cache", 64, counts.operator->(), 100 << 20), 0);
  EXPECT_EQ(counts->started, 64);
  EXPECT_EQ(counts->wrong, 0);
  int all = 0;
  for (int k = 0; k < 10; ++k) {
    all += counts->compiled[k];
    if (k) { EXPECT_LE(counts->compiled[k], 3 * 3 * slower) << k; }
  }
  EXPECT_GE(all, 12);
  EXPECT_LE(all, 3 * 12 * slower);
  expect_intact(f.path + "/cache");
}

// The same while everybody cleans all the time: the bound is a few entries. Code may have to be made again; it is
// right.
TEST(Crowd, SixtyFourProcessesAndACleaner) {
  test::TemporaryFolder f;
  test::Shared<Counts> counts;
  EXPECT_EQ(crowd(f.path + "/cache", 64, counts.operator->(), 8 << 10), 0);
  EXPECT_EQ(counts->started, 64);
  EXPECT_EQ(counts->wrong, 0);
  expect_intact(f.path + "/cache");
}

}  // namespace
