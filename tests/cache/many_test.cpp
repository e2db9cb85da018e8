// Many at once: threads of one store, and 16 processes that start cold on one folder.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "folder.hpp"

namespace qd::cache {
namespace {

TEST(Many, ThreadsPutAndGetTheSameKeys) {
  Folder f;
  Warnings w;
  auto s = make_store(config_of(f / "c", w));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      auto mine = t % 2 ? make_store(config_of(f / "c", w)) : nullptr;  // half of them read from the disk
      Store &store = mine ? *mine : *s;
      for (int i = 0; i < 200; ++i) {
        Key k = key_of("k" + std::to_string(i % 20));
        std::string value = payload_of(1000 + size_t(i % 20) * 500);
        if (i % 3 == t % 3) store.put(k, Bytes::copy(value), {});
        if (i % 31 == 7) store.drop(k);
        auto e = store.get(k);
        if (e && e->payload->view() != value) ++wrong;
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(w.lines.empty());
}

TEST(Many, SixteenProcessesBuildEachKeyOnce) {
  Folder f;
  constexpr int processes = 16, keys = 4;
  std::vector<pid_t> children;
  int start[2];
  ASSERT_EQ(pipe(start), 0);
  for (int p = 0; p < processes; ++p) {
    pid_t child = fork();
    if (child) {
      children.push_back(child);
      continue;
    }
    close(start[1]);
    char go;
    if (read(start[0], &go, 1) != 0) _exit(100);  // end of file: everybody starts now
    Warnings w;
    auto s = make_store(config_of(f / "c", w));
    int builds = 0;
    for (int i = 0; i < keys; ++i) {
      Key k = key_of("k" + std::to_string(i));
      std::string value = payload_of(20000 + size_t(i));
      auto e = s->get(k);
      std::unique_ptr<Claim> claim;
      if (!e) {
        claim = s->claim(k);
        e = s->get(k);
      }
      if (!e) {
        ++builds;
        usleep(30000);  // a compile
        s->put(k, Bytes::copy(value), {});
      } else if (e->payload->view() != value) {
        _exit(101);
      }
    }
    _exit(w.lines.empty() ? builds : 102);
  }
  close(start[0]);
  close(start[1]);
  int builds = 0;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_LT(WEXITSTATUS(status), 100);
    builds += WEXITSTATUS(status);
  }
  EXPECT_GE(builds, keys);
  EXPECT_LE(builds, 2 * keys);  // "at most a few times": a waiter whose patience is short builds for himself
}

}  // namespace
}  // namespace qd::cache
