// The store as its users see it: hits, misses, bounds of memory, claims between threads, and what a second process
// finds.
#include "cache/store.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "folder.hpp"

namespace qd::cache {
namespace {

const std::vector<Component> parts = {{"task", digest_of("t")}};

TEST(Bytes, AlignedZeroedAndGrown) {
  auto b = Bytes::make(5);
  ASSERT_TRUE(b);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b->data()) % 64, 0u);
  std::memcpy(b->data(), "hello", 5);
  ASSERT_TRUE(b->resize(1000));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b->data()) % 64, 0u);
  EXPECT_EQ(b->view().substr(0, 5), "hello");
  for (size_t i = 5; i < 1016; ++i) ASSERT_EQ(b->data()[i], 0) << i;
  std::memset(b->data(), 'x', 1000);
  ASSERT_TRUE(b->resize(3));
  for (size_t i = 3; i < 19; ++i) ASSERT_EQ(b->data()[i], 0) << i;
  EXPECT_FALSE(Bytes::make(~size_t(0)));
  EXPECT_FALSE(b->resize(~size_t(0)));
}

TEST(MemoryStore, FindsWhatWasPut) {
  auto s = make_memory_store(1 << 20);
  EXPECT_FALSE(s->get(key_of("a")));
  s->put(key_of("a"), Bytes::copy("value"), parts);
  auto e = s->get(key_of("a"));
  ASSERT_TRUE(e);
  EXPECT_EQ(e->payload->view(), "value");
  EXPECT_EQ(e->info.components, parts);
  EXPECT_EQ(e->info.origin, Origin::memory);
  EXPECT_EQ(s->stat(key_of("a"))->payload_digest, digest_of("value"));
  EXPECT_FALSE(s->get(key_of("a", "ptx")));
  s->drop(key_of("a"));
  EXPECT_FALSE(s->get(key_of("a")));
}

TEST(MemoryStore, ForgetsTheLeastRecentlyUsedAndKeepsOne) {
  auto s = make_memory_store(100);
  s->put(key_of("a"), Bytes::copy(std::string(40, 'a')), {});
  s->put(key_of("b"), Bytes::copy(std::string(40, 'b')), {});
  ASSERT_TRUE(s->get(key_of("a")));
  auto held = s->get(key_of("b"));
  ASSERT_TRUE(s->get(key_of("a")));
  s->put(key_of("c"), Bytes::copy(std::string(40, 'c')), {});
  EXPECT_FALSE(s->get(key_of("b")));
  EXPECT_TRUE(s->get(key_of("a")));
  EXPECT_EQ(held->payload->view(), std::string(40, 'b'));
  s->put(key_of("d"), Bytes::copy(std::string(500, 'd')), {});
  EXPECT_TRUE(s->get(key_of("d")));
}

TEST(Store, SecondStoreFindsItOnDisk) {
  Folder f;
  Warnings w;
  for (size_t size : {size_t(0), size_t(10), size_t(2000), size_t(100000)}) {
    Key k = key_of("k" + std::to_string(size));
    std::string value = payload_of(size);
    make_store(config_of(f / "c", w))->put(k, Bytes::copy(value), parts);
    auto second = make_store(config_of(f / "c", w));
    auto info = second->stat(k);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->payload_digest, digest_of(value));
    auto e = second->get(k);
    ASSERT_TRUE(e);
    EXPECT_EQ(e->payload->view(), value);
    EXPECT_EQ(e->info.components, parts);
    EXPECT_EQ(e->info.origin, Origin::disk);
    EXPECT_EQ(second->get(k)->info.origin, Origin::memory);
  }
  EXPECT_TRUE(w.lines.empty());
}

TEST(Store, SeesWhatANeighbourPublishesLater) {
  Folder f;
  Warnings w;
  auto early = make_store(config_of(f / "c", w));
  EXPECT_FALSE(early->get(key_of("k")));  // asked, and told no
  make_store(config_of(f / "c", w))->put(key_of("k"), Bytes::copy("value"), {});
  const auto found = early->get(key_of("k"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->payload->view(), "value");
}

TEST(Store, DropReachesTheDisk) {
  Folder f;
  Warnings w;
  auto s = make_store(config_of(f / "c", w));
  s->put(key_of("k"), Bytes::copy("v"), {});
  s->drop(key_of("k"));
  EXPECT_FALSE(make_store(config_of(f / "c", w))->get(key_of("k")));
}

TEST(Store, BadNamesAreMisses) {
  Folder f;
  Warnings w;
  auto s = make_store(config_of(f / "c", w));
  Key bad{"../up", "cpu", digest_of("x")};
  s->put(bad, Bytes::copy("v"), {});
  EXPECT_FALSE(s->get(bad));
  EXPECT_TRUE(s->claim(bad));
  EXPECT_FALSE(std::filesystem::exists(f / "up"));
}

TEST(Store, OneThreadBuildsWhileOthersWait) {
  for (bool disk : {false, true}) {
    Folder f;
    Warnings w;
    StoreConfig c = config_of(f / "c", w);
    c.offline_cache = disk;
    auto s = make_store(c);
    std::atomic<int> builds = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          Key k = key_of("k" + std::to_string(i));
          if (s->get(k)) continue;
          auto claim = s->claim(k);
          if (claim->waited() && s->get(k)) continue;
          if (!claim->waited() && s->get(k)) continue;  // built between the miss and the claim
          ++builds;
          s->put(k, Bytes::copy("v"), {});
        }
      });
    for (auto &t : threads) t.join();
    EXPECT_EQ(builds, 20) << disk;
  }
}

TEST(Store, AWaitingThreadCanBeCancelled) {
  auto s = make_memory_store(1000);
  auto first = s->claim(key_of("k"));
  int asked = 0;
  auto second = s->claim(key_of("k"), [&] { return ++asked == 2; });
  EXPECT_TRUE(second->waited());
  second.reset();
  EXPECT_EQ(asked, 2);
  first.reset();
  EXPECT_FALSE(s->claim(key_of("k"))->waited());
}

}  // namespace
}  // namespace qd::cache
