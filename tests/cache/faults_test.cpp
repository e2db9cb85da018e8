// faults_test.cpp: every file-system call that the store makes fails in turn, with every error that a disk has.
// Whatever fails: values are right, at most one warning of each kind is given, nothing is thrown, and when the disk is
// well again so is the cache.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "faults.hpp"
#include "folder.hpp"

namespace qd::cache {
namespace {

using test::Call;

constexpr int errors[] = {ENOSPC, EIO, EROFS, EACCES, EDQUOT, ENOLCK, EINTR, ENOENT, 0};

const std::string small = "small", large = payload_of(60000);

// A process's life with the cache: two keys, a claim, a drop, enough bytes to make it clean, and a second process.
void live(const std::string &root, Warnings &w) {
  for (int process = 0; process < 2; ++process) {
    StoreConfig c = config_of(root, w);
    c.max_bytes = 1 << 20;
    auto s = make_store(c);
    for (const std::string *value : {&small, &large}) {
      const Key key = key_of(*value);
      auto found = s->get(key);
      if (!found) {
        auto claim = s->claim(key);
        ASSERT_TRUE(claim);
        s->put(key, Bytes::copy(*value), {{"task", digest_of("t")}});
        found = s->get(key);
      }
      ASSERT_TRUE(found);
      ASSERT_EQ(found->payload->view(), *value);
      s->stat(key);
    }
    s->drop(key_of("nothing"));
  }
}

// How often each call is made in such a life: nothing here is tested by zero calls.
TEST(Faults, EachCallIsMade) {
  Folder f;
  Warnings w;
  test::no_faults();
  live(f / "c", w);
  for (Call c : {Call::open, Call::create, Call::write, Call::read, Call::rename, Call::mkdir, Call::unlink, Call::lock,
                 Call::truncate, Call::stat})
    EXPECT_GT(test::calls_of(c), 0) << test::call_names[size_t(c)];
  EXPECT_TRUE(w.lines.empty());
}

TEST(Faults, EachCallFailsInTurnWithEachError) {
  int lives = 0;
  for (size_t call = 0; call < test::n_calls; ++call) {
    Folder counting;
    Warnings ignored;
    test::no_faults();
    live(counting / "c", ignored);
    const int n = test::calls_of(Call(call));
    for (int error : errors) {
      if (error == 0 && Call(call) != Call::write && Call(call) != Call::read) continue;
      for (int number = -1; number < n; ++number) {
        if (number == -1 && (error == EINTR || error == 0)) continue;  // interrupted for ever: a hang, not a fault
        SCOPED_TRACE(std::string(test::call_names[call]) + " number " + std::to_string(number) + ", error " +
                     std::to_string(error));
        Folder f;
        Warnings w;
        test::plan_fault(Call(call), number, error);
        live(f / "c", w);
        test::no_faults();
        ++lives;
        ASSERT_LE(w.lines.size(), 2 * 2u);  // two processes, at most one warning about the folder and one about writing
        Warnings later;
        live(f / "c", later);
        ASSERT_TRUE(later.lines.empty()) << later.lines[0];
        auto s = make_store(config_of(f / "c", later));  // and a third process finds everything on the disk
        for (const std::string *value : {&small, &large}) {
          auto found = s->get(key_of(*value));
          ASSERT_TRUE(found);
          EXPECT_EQ(found->payload->view(), *value);
          EXPECT_EQ(found->info.origin, Origin::disk);
        }
      }
    }
  }
  RecordProperty("lives", lives);
  EXPECT_GT(lives, 100);
}

// Opening a cache and reading from it costs the same whatever else lies there: there is no index and nothing is listed.
TEST(Faults, ALargeCacheCostsNoMoreCalls) {
  int calls[2][test::n_calls];
  for (int large = 0; large < 2; ++large) {
    Folder f;
    Warnings w;
    StoreConfig c = config_of(f / "c", w);
    c.cleaning_policy = "never";
    {
      auto s = make_store(c);
      for (int i = 0; i < (large ? 3000 : 10); ++i) s->put(key_of(std::to_string(i)), Bytes::copy("v"), {});
    }
    test::no_faults();
    auto s = make_store(c);
    EXPECT_TRUE(s->get(key_of("7")));
    EXPECT_FALSE(s->get(key_of("absent")));
    s->put(key_of("7"), Bytes::copy("w"), {});
    for (size_t call = 0; call < test::n_calls; ++call) calls[large][call] = test::calls_of(Call(call));
  }
  for (size_t call = 0; call < test::n_calls; ++call)
    EXPECT_EQ(calls[0][call], calls[1][call]) << test::call_names[call];
}

// Temporaries of a life in which something failed are removed, or are of a kind that cleaning removes.
TEST(Faults, NoTemporaryStays) {
  for (int error : {ENOSPC, EIO, EDQUOT}) {
    Folder f;
    Warnings w;
    test::plan_fault(Call::write, -1, error);
    live(f / "c", w);
    test::no_faults();
    for (const auto &file : std::filesystem::recursive_directory_iterator(f / "c"))
      EXPECT_NE(file.path().extension(), ".tmp") << file.path();
  }
}

}  // namespace
}  // namespace qd::cache
