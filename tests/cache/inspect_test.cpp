// inspect_test.cpp: the folder as a tool sees it, read-only roots, and importing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/entry.hpp"
#include "cache/inspect.hpp"
#include "folder.hpp"

namespace qd::cache {
namespace {

void fill(const std::string &root, int n) {
  Warnings w;
  auto s = make_store(config_of(root, w));
  for (int i = 0; i < n; ++i)
    s->put(key_of(std::to_string(i)), Bytes::copy(payload_of(size_t(1000 + i))), {{"task", digest_of("t")}});
}

TEST(Inspect, ListsWhatIsThere) {
  Folder f;
  fill(f / "c", 5);
  const auto all = list_entries(f / "c", true);
  ASSERT_EQ(all.size(), 5u);
  for (const Listed &l : all) {
    EXPECT_EQ(l.problem, "");
    EXPECT_EQ(l.tier, "elf");
    EXPECT_EQ(l.arch, "cpu");
    EXPECT_EQ(l.version, "1.0");
    EXPECT_EQ(l.components, (std::vector<Component>{{"task", digest_of("t")}}));
    const auto entry = read_entry(f / "c", l.path);
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->payload->size(), l.payload_bytes);
  }
  EXPECT_TRUE(list_entries(f / "nothing", true).empty());
}

TEST(Inspect, NamesWhatIsDamaged) {
  Folder f;
  fill(f / "c", 4);
  const std::string paths[] = {file_of(f / "c", key_of("0")), file_of(f / "c", key_of("1")),
                               file_of(f / "c", key_of("2")), file_of(f / "c", key_of("3"))};
  std::string bytes = slurp(paths[0]);
  bytes[bytes.size() - 20] ^= 1;
  spill(paths[0], bytes);                           // body
  spill(paths[1], slurp(paths[1]).substr(0, 100));  // header
  spill(paths[2], slurp(paths[3]));                 // another place
  std::filesystem::remove(paths[3]);
  std::filesystem::create_directory(paths[3]);  // no file
  for (const Listed &l : list_entries(f / "c", true)) EXPECT_NE(l.problem, "") << l.path;
  size_t headers = 0;
  for (const Listed &l : list_entries(f / "c", false)) headers += !l.problem.empty();
  EXPECT_EQ(headers, 3u);  // a damaged body is seen only when it is read
  EXPECT_FALSE(read_entry(f / "c", list_entries(f / "c", false)[0].path));
}

TEST(Inspect, CleaningByHand) {
  Folder f;
  Warnings w;
  fill(f / "c", 10);
  StoreConfig c = config_of(f / "c", w);
  c.max_bytes = 5000;
  c.cleaning_factor = 0;
  const Cleaned some = clean_now(f / "c", c);
  EXPECT_GT(some.files, 0u);
  uint64_t left = 0;
  for (const Listed &l : list_entries(f / "c", false)) left += l.file_bytes;
  EXPECT_LE(left, 5000u);
  c.max_bytes = 0;
  EXPECT_EQ(clean_now(f / "c", c).files + some.files, 10u);
  EXPECT_TRUE(list_entries(f / "c", false).empty());
  EXPECT_EQ(clean_now(f / "nothing", c).files, 0u);
}

TEST(Inspect, ImportChecksBeforeItPublishes) {
  Folder f;
  fill(f / "a", 1);
  const std::string path = list_entries(f / "a", false)[0].path, bytes = slurp(f / ("a/" + path));
  std::string why;
  ASSERT_TRUE(import_entry(f / "b", bytes, why)) << why;
  EXPECT_EQ(slurp(f / ("b/" + path)), bytes);
  for (size_t at = 0; at < bytes.size(); at += 7) {
    std::string damaged = bytes;
    damaged[at] ^= 4;
    why.clear();
    EXPECT_FALSE(import_entry(f / "b", damaged, why)) << at;
    EXPECT_NE(why, "");
  }
  EXPECT_EQ(place_of_entry(bytes), path);
}

TEST(ReadOnlyRoots, AreReadAndNeverTouched) {
  Folder f;
  fill(f / "shipped", 3);
  const std::string old = file_of(f / "shipped", key_of("1"));
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, old.c_str(), long_ago, 0), 0);
  std::string damaged = slurp(file_of(f / "shipped", key_of("2")));
  damaged[damaged.size() - 9] ^= 1;
  spill(file_of(f / "shipped", key_of("2")), damaged);
  const auto files = [&] {
    std::string all;
    for (const Listed &l : list_entries(f / "shipped", false)) all += l.path + std::to_string(l.used) + "\n";
    for (const auto &e : std::filesystem::recursive_directory_iterator(f / "shipped")) all += e.path().string() + "\n";
    return all;
  };
  const std::string before = files();

  Warnings w;
  StoreConfig c = config_of(f / "mine", w);
  c.read_only_roots = {f / "absent", f / "shipped"};
  auto s = make_store(c);
  for (int i : {0, 1}) {
    auto found = s->get(key_of(std::to_string(i)));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->payload->view(), payload_of(size_t(1000 + i)));
    EXPECT_TRUE(s->stat(key_of(std::to_string(i))));
  }
  EXPECT_FALSE(s->get(key_of("2")));  // checked as any other
  EXPECT_EQ(w.lines.size(), 1u);      // the absent one, once

  s->put(key_of("new"), Bytes::copy("new"), {});
  EXPECT_TRUE(std::filesystem::exists(file_of(f / "mine", key_of("new"))));
  s->drop(key_of("0"));  // a plugin refused it: it must not come back from there
  EXPECT_FALSE(s->get(key_of("0")));
  s->put(key_of("0"), Bytes::copy("better"), {});
  EXPECT_EQ(make_store(c)->get(key_of("0"))->payload->view(), "better");
  EXPECT_EQ(files(), before);

  c.offline_cache = false;
  EXPECT_FALSE(make_store(c)->get(key_of("1")));
}

}  // namespace
}  // namespace qd::cache
