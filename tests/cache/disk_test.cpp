// What may lie on a disk: damage, foreign things in the way, folders that can't be used, a full disk, and the promise
// that offline_cache=False touches nothing at all.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "cache/entry.hpp"
#include "folder.hpp"

namespace qd::cache {
namespace {

namespace fs = std::filesystem;
const Key key = key_of("key");

std::string lookup(const std::string &root, Warnings &w) {
  auto e = make_store(config_of(root, w))->get(key);
  return e ? std::string(e->payload->view()) : "miss";
}

void publish(const std::string &root, Warnings &w, std::string_view value = "value") {
  make_store(config_of(root, w))->put(key, Bytes::copy(value), {});
}

// Runs f in a child; 0 when it returned true.
template <class F>
int in_child(F &&f) {
  pid_t child = fork();
  if (!child) _exit(f() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Disk, WhateverStandsInTheWayIsAMissAndReplaced) {
  struct Case {
    const char *name;
    void (*make)(const std::string &file);
  } cases[] = {
      {"empty", [](const std::string &f) { spill(f, ""); }},
      {"short", [](const std::string &f) { spill(f, slurp(f).substr(0, 100)); }},
      {"long", [](const std::string &f) { spill(f, slurp(f) + "x"); }},
      {"damaged",
       [](const std::string &f) {
         std::string s = slurp(f);
         s[s.size() - 12] ^= 1;
         spill(f, s);
       }},
      {"other key", [](const std::string &f) { spill(f, encode_entry(key_of("b"), "b", digest_of("b"), {}, "1")); }},
      {"text", [](const std::string &f) { spill(f, std::string(5000, 'x')); }},
      {"sparse giant", [](const std::string &f) { fs::resize_file(f, uint64_t(1) << 40); }},
      {"fifo",
       [](const std::string &f) {
         fs::remove(f);
         ASSERT_EQ(mkfifo(f.c_str(), 0600), 0);
       }},
      {"folder",
       [](const std::string &f) {
         fs::remove(f);
         fs::create_directories(f);
       }},
      {"full folder",
       [](const std::string &f) {
         fs::remove(f);
         fs::create_directories(f + "/a/b");
       }},
      {"dangling link",
       [](const std::string &f) {
         fs::remove(f);
         fs::create_symlink("nowhere", f);
       }},
      {"link to itself",
       [](const std::string &f) {
         fs::remove(f);
         fs::create_symlink(f, f);
       }},
      {"link to an entry",
       [](const std::string &f) {
         fs::rename(f, f + "x");
         fs::create_symlink(f + "x", f);
       }},
      {"gone", [](const std::string &f) { fs::remove_all(fs::path(f).parent_path()); }},
  };
  for (const Case &c : cases) {
    Folder f;
    Warnings w;
    std::string root = f / "c";
    publish(root, w);
    ASSERT_EQ(lookup(root, w), "value") << c.name;
    c.make(file_of(root, key));
    EXPECT_EQ(lookup(root, w), "miss") << c.name;
    EXPECT_FALSE(make_store(config_of(root, w))->stat(key) && std::string(c.name) != "damaged") << c.name;
    publish(root, w, "again");
    EXPECT_EQ(lookup(root, w), "again") << c.name;
    EXPECT_TRUE(w.lines.empty()) << c.name;
  }
}

TEST(Disk, TheFolderIsPrivateAndNothingIsLeftOver) {
  Folder f;
  Warnings w;
  std::string root = f / "a/b/c";
  auto store = make_store(config_of(root, w));
  {
    auto claim = store->claim(key);
    store->put(key, Bytes::copy("v"), {});
  }
  EXPECT_EQ(fs::status(root).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(root + "/elf").permissions(), fs::perms::owner_all);
  std::vector<std::string> names;
  for (auto &e : fs::recursive_directory_iterator(root))
    if (e.is_regular_file()) names.push_back(e.path());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{file_of(root, key), root + "/usage"}));
}

TEST(Disk, AHitIsNotedOncePerHour) {
  Folder f;
  Warnings w;
  std::string root = f / "c", file;
  publish(root, w);
  file = file_of(root, key);
  auto now = fs::file_time_type::clock::now();
  auto age = [&] { return now - fs::last_write_time(file); };
  fs::last_write_time(file, now - std::chrono::minutes(30));
  lookup(root, w);
  EXPECT_GT(age(), std::chrono::minutes(20));
  fs::last_write_time(file, now - std::chrono::hours(3));
  lookup(root, w);
  EXPECT_LT(age(), std::chrono::minutes(1));
}

// Each of these folders can't be used: one warning that says what to do, and everything works in memory.
void expect_memory_only(const std::string &root, const char *part, bool reads_nothing = true) {
  Warnings w;
  auto s = make_store(config_of(root, w));
  for (int i = 0; i < 3; ++i) {
    Key k = key_of("k" + std::to_string(i));
    EXPECT_FALSE(s->get(k));
    auto claim = s->claim(k);
    s->put(k, Bytes::copy("v"), {});
    EXPECT_TRUE(s->get(k));
    EXPECT_TRUE(s->stat(k));
  }
  ASSERT_EQ(w.lines.size(), 1u);
  EXPECT_NE(w.lines[0].find(part), std::string::npos) << w.lines[0];
  EXPECT_NE(w.lines[0].find("offline_cache_file_path"), std::string::npos) << w.lines[0];
  if (reads_nothing) { EXPECT_FALSE(make_store(config_of(root, w))->get(key_of("k1"))); }
}

TEST(Disk, UnusableFolders) {
  Folder f;
  expect_memory_only("", "neither HOME");
  spill(f / "file", "x");
  expect_memory_only(f / "file", "can't be used");
  expect_memory_only(f / "file/below", "can't be used");
  expect_memory_only("/proc/nobody", "can't be used");
  fs::create_symlink("nowhere/at/all", f / "link");
  expect_memory_only(f / "link", "can't be used");
  fs::create_directory(f / "open");
  for (mode_t mode : {0770, 0702, 0777}) {
    ASSERT_EQ(chmod((f / "open").c_str(), mode), 0);
    expect_memory_only(f / "open", "written by others");
  }
  EXPECT_TRUE(fs::is_empty(f / "open"));
}

TEST(Disk, AnotherUsersFolderIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  Folder f;
  fs::create_directory(f / "theirs");
  ASSERT_EQ(chmod((f / "theirs").c_str(), 0700), 0);
  ASSERT_EQ(chown((f / "theirs").c_str(), 12345, 12345), 0);
  expect_memory_only(f / "theirs", "belongs to another user");
}

TEST(Disk, NoRightToWrite) {
  Folder f;
  ASSERT_EQ(chmod(f.path.c_str(), 0755), 0);
  std::string root = f / "c";
  Warnings w;
  publish(root, w);
  // As a user without special rights, whoever runs the test.
  int status = in_child([&] {
    if (geteuid() == 0 && (chown(root.c_str(), 12345, 12345) || setgid(12345) || setuid(12345))) return false;
    chmod(root.c_str(), 0500);
    expect_memory_only(root, "can't be written", false);
    return !testing::Test::HasFailure();
  });
  EXPECT_EQ(status, 0);
}

TEST(Disk, FullDisk) {
  Folder f;
  // The limit on file size fails a write like a full disk does, and needs no rights.
  int status = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    rlimit small{100, 100};
    setrlimit(RLIMIT_FSIZE, &small);
    expect_memory_only(f / "c", "can't be written");
    return !testing::Test::HasFailure();
  });
  EXPECT_EQ(status, 0);
  size_t files = 0;
  for (auto &e : fs::recursive_directory_iterator(f / "c")) files += e.is_regular_file();
  EXPECT_EQ(files, 0u);
}

// Gives a child mounts of its own, which go with it; false where the system allows none.
bool own_mounts() {
  char user[32], group[32];
  snprintf(user, sizeof user, "0 %u 1", unsigned(geteuid()));
  snprintf(group, sizeof group, "0 %u 1", unsigned(getegid()));
  if (unshare(CLONE_NEWNS)) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) return false;
    spill("/proc/self/setgroups", "deny");
    spill("/proc/self/uid_map", user);
    spill("/proc/self/gid_map", group);
  }
  return !mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
}
constexpr int no_mounts = 3;

TEST(Disk, FullTmpfs) {
  Folder f;
  fs::create_directory(f / "small");
  const int status = in_child([&] {
    if (!own_mounts() || mount("tmpfs", (f / "small").c_str(), "tmpfs", 0, "size=64k,mode=0700")) _exit(no_mounts);
    const std::string root = f / "small/c";
    fs::create_directory(root);
    chmod(root.c_str(), 0700);
    spill(f / "small/filler", std::string(1 << 20, 'x'));  // as much of it as there is room for
    expect_memory_only(root, "can't be written");
    fs::remove(f / "small/filler");
    Warnings w;
    publish(root, w);
    EXPECT_EQ(lookup(root, w), "value") << "usable again";
    EXPECT_TRUE(w.lines.empty());
    return !testing::Test::HasFailure();
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_mounts) GTEST_SKIP() << "no mounts here";
  EXPECT_EQ(status, 0);
}

TEST(Disk, ReadOnlyMount) {
  Folder f;
  const std::string root = f / "c";
  Warnings w;
  publish(root, w);
  const int status = in_child([&] {
    if (!own_mounts() || mount(root.c_str(), root.c_str(), nullptr, MS_BIND, nullptr) ||
        mount(nullptr, root.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr))
      _exit(no_mounts);
    EXPECT_EQ(lookup(root, w), "value");  // what lies there is taken, and not touched
    EXPECT_TRUE(w.lines.empty());
    expect_memory_only(root, "can't be written", false);
    return !testing::Test::HasFailure();
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_mounts) GTEST_SKIP() << "no mounts here";
  EXPECT_EQ(status, 0);
}

TEST(Disk, OfflineCacheOffTouchesNothing) {
  Folder f;
  Warnings w;
  StoreConfig c = config_of(f / "c", w);
  publish(c.root, w);
  auto before = fs::last_write_time(file_of(c.root, key));
  c.offline_cache = false;
  c.max_bytes = 1;
  auto s = make_store(c);
  EXPECT_FALSE(s->get(key));
  EXPECT_FALSE(s->stat(key));
  { auto claim = s->claim(key); }
  s->put(key, Bytes::copy(std::string(100000, 'x')), {});
  s->drop(key);
  EXPECT_EQ(lookup(f / "c", w), "value");
  EXPECT_EQ(fs::last_write_time(file_of(f / "c", key)), before);
  c.root = f / "never";
  make_store(c)->put(key, Bytes::copy("x"), {});
  EXPECT_FALSE(fs::exists(f / "never"));
  c.root.clear();
  make_store(c)->put(key, Bytes::copy("x"), {});
  EXPECT_TRUE(w.lines.empty());
}

// Ends the process at any system call that names a file.
bool forbid_files() {
  constexpr uint32_t calls[] = {SYS_open,     SYS_openat,    SYS_stat,   SYS_lstat,   SYS_newfstatat, SYS_access,
                                SYS_mkdir,    SYS_mkdirat,   SYS_rename, SYS_unlink,  SYS_flock,      SYS_unlinkat,
                                SYS_renameat, SYS_utimensat, SYS_creat,  SYS_readlink};
  std::vector<sock_filter> code = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (uint32_t call : calls) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

TEST(Disk, OfflineCacheOffMakesNoSystemCallOnFiles) {
  Folder f;
  for (bool offline : {false, true}) {
    int status = in_child([&] {
      Warnings w;
      StoreConfig c = config_of(f / "c", w);
      c.offline_cache = offline;
      if (!forbid_files()) return false;
      auto s = make_store(c);
      s->get(key);
      s->stat(key);
      auto claim = s->claim(key);
      s->put(key, Bytes::copy("v"), {});
      bool found = s->get(key).has_value();
      s->drop(key);
      return found;
    });
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1) GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(WIFSIGNALED(status), offline);  // that the filter bites is seen with the flag on
  }
}

TEST(Cleaning, StaysUnderTheBoundAndTakesTheOldestFirst) {
  Folder f;
  Warnings w;
  StoreConfig c = config_of(f / "c", w);
  c.max_bytes = 200000;
  auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 40; ++i) {  // 10 kB each, each from a process of its own
    Key k = key_of("k" + std::to_string(i), i % 2 ? "ptx" : "elf");
    make_store(c)->put(k, Bytes::copy(payload_of(10000)), {});
    fs::last_write_time(file_of(c.root, k), now - std::chrono::hours(100 - i));
  }
  uint64_t total = 0;
  for (auto &e : fs::recursive_directory_iterator(c.root)) total += e.is_regular_file() ? e.file_size() : 0;
  EXPECT_LE(total, c.max_bytes + 11000);
  EXPECT_GT(total, c.max_bytes / 2);
  EXPECT_FALSE(fs::exists(file_of(c.root, key_of("k0"))));
  EXPECT_TRUE(fs::exists(file_of(c.root, key_of("k39", "ptx"))));
}

uint64_t bytes_of_entries(const std::string &root) {
  uint64_t total = 0;
  std::error_code gone;
  for (auto it = fs::recursive_directory_iterator(root, gone); !gone && it != fs::recursive_directory_iterator();
       it.increment(gone)) {
    std::error_code vanished;
    const uint64_t size = it->path().filename().string().size() == 64 ? fs::file_size(it->path(), vanished) : 0;
    if (!vanished) total += size;
  }
  return total;
}

// After each entry of one process, and when four at once are done: over the bound by one entry a process at most.
TEST(Cleaning, OverTheBoundByAnEntryAProcessAtMost) {
  constexpr uint64_t entry = 6000;
  for (double factor : {0.25, 0.0}) {
    for (uint64_t bound : {20000, 200000}) {
      Folder f;
      Warnings w;
      StoreConfig c = config_of(f / "c", w);
      c.max_bytes = bound;
      c.cleaning_factor = factor;
      for (int i = 0; i < 60; ++i) {
        make_store(c)->put(key_of(std::to_string(i)), Bytes::copy(payload_of(5000)), {});
        ASSERT_LE(bytes_of_entries(c.root), bound + entry) << i;
      }
      EXPECT_GT(bytes_of_entries(c.root), bound / 3);
      std::vector<pid_t> children;
      for (int p = 0; p < 4; ++p) {
        const pid_t child = fork();
        if (child) {
          children.push_back(child);
          continue;
        }
        for (int i = 0; i < 150; ++i)
          make_store(c)->put(key_of(std::to_string(1000 * (p + 1) + i)), Bytes::copy(payload_of(5000)), {});
        _exit(0);
      }
      for (const pid_t child : children) waitpid(child, nullptr, 0);
      EXPECT_LE(bytes_of_entries(c.root), bound + 4 * entry);
    }
  }
}

TEST(Cleaning, PoliciesAndFilesInUse) {
  struct Case {
    const char *policy;
    uint64_t bound;
    size_t expect;
  } cases[] = {{"never", 1000, 8}, {"lru", 0, 8}, {"lru", 1000, 1}, {"fifo", 1000, 1}, {"version", 1 << 20, 1}};
  for (auto &t : cases) {
    Folder f;
    Warnings w;
    StoreConfig c = config_of(f / "c", w);
    c.cleaning_policy = "never";
    c.version = "0.9";
    for (int i = 0; i < 7; ++i) make_store(c)->put(key_of(std::to_string(i)), Bytes::copy(payload_of(5000)), {});
    c.cleaning_policy = t.policy;
    c.version = "1.0";
    c.max_bytes = t.bound;
    // Large enough that the folder is due for a look.
    make_store(c)->put(key_of("new"), Bytes::copy(payload_of(t.bound > 1000 ? 70000 : 5000)), {});
    size_t entries = 0;
    for (auto &e : fs::recursive_directory_iterator(c.root)) entries += e.path().filename().string().size() == 64;
    EXPECT_EQ(entries, t.expect) << t.policy << " " << t.bound;
    EXPECT_TRUE(fs::exists(file_of(c.root, key_of("new"))));  // this process uses it
  }
}

TEST(SingleFlight, AStuckNeighbourCostsABoundedTime) {
  Folder f;
  Warnings w;
  auto a = make_store(config_of(f / "c", w));
  { auto short_build = a->claim(key_of("other")); }  // this tier's builds take no time: not worth waiting for
  auto b = make_store(config_of(f / "c", w));
  auto held = b->claim(key);
  auto start = std::chrono::steady_clock::now();
  auto claim = a->claim(key);
  EXPECT_TRUE(claim->waited());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1500));
}

TEST(SingleFlight, AKilledNeighbourHoldsNothing) {
  Folder f;
  Warnings w;
  int status = in_child([&] {
    auto s = make_store(config_of(f / "c", w));
    auto claim = s->claim(key);
    kill(getpid(), SIGKILL);
    return true;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_TRUE(fs::exists(file_of(f / "c", key) + ".lock"));
  EXPECT_FALSE(make_store(config_of(f / "c", w))->claim(key)->waited());
  EXPECT_FALSE(fs::exists(file_of(f / "c", key) + ".lock"));
}

}  // namespace
}  // namespace qd::cache
