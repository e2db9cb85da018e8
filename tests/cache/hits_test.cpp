// hits_test.cpp: how often entries were found, as it is counted, written and read, and what a damaged file does to it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/inspect.hpp"
#include "faults.hpp"
#include "folder.hpp"

namespace qd::cache {
namespace {

namespace fs = std::filesystem;

void publish(const StoreConfig &c, int count) {
  for (int i = 0; i < count; ++i) make_store(c)->put(key_of(std::to_string(i)), Bytes::copy("value"), {});
}

uint64_t hits_of(const std::string &root, const Key &key) {
  for (const Listed &l : list_entries(root, false))
    if (l.key == key.digest.hex()) return l.hits;
  return 999;
}

TEST(Hits, AreCountedAProcessAndWrittenAtItsEnd) {
  Folder f;
  Warnings w;
  const StoreConfig c = config_of(f / "c", w);
  publish(c, 3);
  EXPECT_EQ(hits_of(c.root, key_of("1")), 0u);
  for (int process = 1; process <= 3; ++process) {
    auto s = make_store(c);
    for (int turn = 0; turn < 5; ++turn) EXPECT_TRUE(s->get(key_of("1")));  // later ones come from memory
    EXPECT_FALSE(s->get(key_of("absent")));
    EXPECT_EQ(hits_of(c.root, key_of("1")), uint64_t(process - 1));
    s->settle();
    EXPECT_EQ(hits_of(c.root, key_of("1")), uint64_t(process));
  }  // nothing is left to count at the end
  EXPECT_EQ(hits_of(c.root, key_of("1")), 3u);
  EXPECT_EQ(hits_of(c.root, key_of("2")), 0u);
}

// A program that runs again makes no file, the first time that it only finds entries included.
TEST(Hits, AddNoFile) {
  Folder f;
  Warnings w;
  const StoreConfig c = config_of(f / "c", w);
  const auto files = [&] {
    size_t n = 0;
    for (const auto &entry : fs::recursive_directory_iterator(c.root)) n += entry.is_regular_file();
    return n;
  };
  publish(c, 1);
  const size_t before = files();
  for (int process = 0; process < 2; ++process) EXPECT_TRUE(make_store(c)->get(key_of("0")));
  EXPECT_EQ(files(), before);
  EXPECT_EQ(hits_of(c.root, key_of("0")), 2u);
}

TEST(Hits, CostNoWriteWhereTheyHappen) {
  Folder f;
  Warnings w;
  StoreConfig c = config_of(f / "c", w);
  c.memory_bytes = 0;
  publish(c, 50);
  auto s = make_store(c);
  s->get(key_of("0"));
  test::no_faults();
  for (int turn = 0; turn < 3; ++turn)
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(s->get(key_of(std::to_string(i))));
  for (test::Call call :
       {test::Call::write, test::Call::create, test::Call::rename, test::Call::touch, test::Call::lock})
    EXPECT_EQ(test::calls_of(call), 0) << test::call_names[size_t(call)];
  s.reset();
  EXPECT_EQ(test::calls_of(test::Call::write), 1);
}

TEST(Hits, OfReadOnlyRootsAreNotCounted) {
  Folder f;
  Warnings w;
  StoreConfig c = config_of(f / "shipped", w);
  publish(c, 1);
  fs::remove(c.root + "/hits");
  c.root = f / "own";
  c.read_only_roots = {f / "shipped"};
  for (int process = 0; process < 2; ++process) EXPECT_TRUE(make_store(c)->get(key_of("0")));
  EXPECT_FALSE(fs::exists(f / "shipped/hits"));
}

TEST(Hits, OfAForkedChildAreItsOwn) {
  Folder f;
  Warnings w;
  const StoreConfig c = config_of(f / "c", w);
  publish(c, 1);
  auto s = make_store(c);
  s->get(key_of("0"));
  const pid_t child = fork();
  if (!child) {
    s.reset();  // as a destructor at the end of the child would
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  s.reset();
  EXPECT_EQ(hits_of(c.root, key_of("0")), 1u);
}

TEST(Hits, DamageLosesFiguresAndNothingElse) {
  Folder f;
  Warnings w;
  const StoreConfig c = config_of(f / "c", w);
  publish(c, 1);
  const std::string line = "elf/" + key_of("0").digest.hex();
  for (const std::string &text :
       {line + " 4\nnonsense\nelf/abc 3\n../x/" + key_of("0").digest.hex() + " 9\n" + line + " -3\n" + line +
            " 99999999999999999999\n" + line,
        std::string(3000, 'x') + "\n" + line + " 4\n", std::string("\0\n\n", 3) + line + " 4\n"}) {
    spill(c.root + "/hits", text);
    EXPECT_EQ(hits_of(c.root, key_of("0")), 4u);
    EXPECT_TRUE(make_store(c)->get(key_of("0")));
    EXPECT_EQ(hits_of(c.root, key_of("0")), 5u) << "what is added stands on a line of its own";
  }
  fs::remove(c.root + "/hits");
  for (const bool folder : {true, false}) {  // whatever stands there, lookups go on and nothing waits
    if (folder) fs::create_directory(c.root + "/hits");
    else ASSERT_EQ(mkfifo((c.root + "/hits").c_str(), 0600), 0);
    EXPECT_TRUE(make_store(c)->get(key_of("0")));
    EXPECT_EQ(hits_of(c.root, key_of("0")), 0u);
    fs::remove(c.root + "/hits");
  }
  EXPECT_TRUE(w.lines.empty());
}

TEST(Hits, TheFileStaysSmall) {
  Folder f;
  Warnings w;
  const StoreConfig c = config_of(f / "c", w);
  publish(c, 2);
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "elf/" + key_of("gone " + std::to_string(i % 50)).digest.hex() + " 1\n";
  for (int i = 0; i < 5; ++i) text += "elf/" + key_of("1").digest.hex() + " 2\n";
  spill(c.root + "/hits", text);
  EXPECT_TRUE(make_store(c)->get(key_of("1")));
  EXPECT_LT(fs::file_size(c.root + "/hits"), 1000u);
  EXPECT_EQ(hits_of(c.root, key_of("1")), 11u);
  EXPECT_EQ(hits_of(c.root, key_of("0")), 0u);
}

}  // namespace
}  // namespace qd::cache
