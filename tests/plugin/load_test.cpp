// What may be wrong with a plugin file, and that each is refused with its path, the step, the reason and a remedy,
// while this process lives on and other plugins keep working. Numbers are those of the failure list that the loader was
// made from.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/plugin/load.hpp"
#include "tests/support/temporary_folder.hpp"

namespace qd::plugin {
namespace {

namespace fs = std::filesystem;
const std::string made = QD_MADE;

struct Load : testing::Test {
  test::TemporaryFolder folder;
  ContextConfig config;
  std::vector<PluginReport> chain;
  Load() {
    config.plugin_dir = QD_BESIDE;
    unsetenv("QD_BACKEND_PATH");
    unsetenv("QD_TEST_MARK");
    unsetenv("QD_TEST_ARCH");
  }
  std::string copy(const std::string &name, const std::string &as) {
    std::string to = folder.path + "/" + as;
    fs::copy_file(made + "/" + name + ".so", to, fs::copy_options::overwrite_existing);
    return to;
  }
  // Loads a file by explicit path; the refusal when it was refused, an empty one otherwise.
  PluginReport refusal(const std::string &path, const std::string &arch) {
    config.plugin_path = path;
    chain.clear();
    if (load(config, arch, chain)) return {};
    EXPECT_EQ(chain.size(), 1u);
    PluginReport r = chain.at(0);
    EXPECT_EQ(r.path, path);
    EXPECT_FALSE(r.step.empty());
    EXPECT_FALSE(r.remedy.empty());
    std::string text = describe(chain);
    for (const std::string &part : {r.path, r.step, r.reason, r.remedy}) EXPECT_NE(text.find(part), text.npos) << part;
    return r;
  }
};

#define EXPECT_REFUSED(name, at_step, why)                            \
  {                                                                   \
    PluginReport r = refusal(made + "/" + name + ".so", name);        \
    EXPECT_EQ(r.step, at_step) << r.reason;                           \
    EXPECT_NE(r.reason.find(why), r.reason.npos) << name << r.reason; \
  }

TEST_F(Load, AGoodPluginLoadsOnce) {
  config.plugin_path = made + "/mould.so";
  const Library *a = load(config, "mould", chain);
  ASSERT_TRUE(a) << describe(chain);
  EXPECT_EQ(a->arch, "mould");
  EXPECT_EQ(a->name, "Mould");
  EXPECT_EQ(a->version, "1.2.3");
  EXPECT_EQ(a->build_id.hex().substr(0, 4), "0707");
  EXPECT_EQ(load(config, "mould", chain), a);
  fs::create_symlink(made + "/mould.so", folder.path + "/link.so");
  config.plugin_path = folder.path + "/link.so";
  EXPECT_EQ(load(config, "mould", chain), a);
}

TEST_F(Load, Replies) {
  EXPECT_REFUSED("needs_major_2", "negotiate", "needs qdb major 2; upgrade quadrants");  // 5, 29
  EXPECT_REFUSED("only_major_0", "negotiate", "upgrade this plugin");                    // 28
  EXPECT_REFUSED("chose_major_2", "reply", "chose ABI major 2");                         // 5
  EXPECT_REFUSED("shorter_table", "table", "bytes, ABI 1.0 needs");                      // 7
  EXPECT_REFUSED("null_member", "table", "mem_alloc is NULL");                           // 8
  EXPECT_REFUSED("bad_magic", "reply", "magic");                                         // 9
  EXPECT_REFUSED("overrun", "reply", "past the end");                                    // 10
  EXPECT_REFUSED("other_sanitizer", "reply", "sanitizer");
}

TEST_F(Load, ALongerTableOfANewerPluginLoads) {  // 6
  config.plugin_path = made + "/longer_table.so";
  const Library *l = load(config, "longer_table", chain);
  ASSERT_TRUE(l) << describe(chain);
  EXPECT_EQ(l->minor, QDB_ABI_MINOR);
  EXPECT_EQ(l->table.struct_size, sizeof(QdbBackend));  // what lies behind is not ours to read
  EXPECT_EQ(l->table.extension, nullptr);
}

TEST_F(Load, Files) {
  EXPECT_REFUSED("no_entry", "not a plugin", "does not export qdb_negotiate");  // 11
  EXPECT_REFUSED("undefined_symbol", "load", "missing_symbol");                 // 13
  EXPECT_EQ(refusal("mould.so", "mould").step, "path");                         // 24
  EXPECT_EQ(refusal("./mould.so", "mould").step, "path");
  EXPECT_EQ(refusal(folder.path, "mould").step, "path");
  EXPECT_EQ(refusal(folder.path + "/nothing.so", "mould").step, "path");
  ASSERT_EQ(mkfifo((folder.path + "/fifo.so").c_str(), 0600), 0);
  EXPECT_EQ(refusal(folder.path + "/fifo.so", "mould").step, "path");
  EXPECT_EQ(refusal(made + "/mould.so", "other").step, "arch");
}

TEST_F(Load, TruncatedFilesAreNotOpened) {  // 14
  std::string whole = made + "/mould.so";
  auto size = fs::file_size(whole);
  for (uintmax_t n : {uintmax_t(0), uintmax_t(1), uintmax_t(63), uintmax_t(64), uintmax_t(200), size / 4, size / 2,
                      size * 3 / 4, size - 64, size - 1}) {
    std::string path = copy("mould", "t" + std::to_string(n) + ".so");
    fs::resize_file(path, n);
    PluginReport r = refusal(path, "mould");
    EXPECT_EQ(r.step, "file") << n;
    EXPECT_NE(r.reason.find("incomplete"), r.reason.npos) << n << r.reason;
  }
}

TEST_F(Load, ForeignMachinesAreNotOpened) {  // 15
  struct Case {
    long offset;
    char value;
    const char *why;
  } cases[] = {{4, 1, "32-bit"}, {5, 2, "big-endian"}, {18, 40, "another machine"}};
  for (auto &c : cases) {
    std::string path = copy("mould", "m" + std::to_string(c.offset) + ".so");
    std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(c.offset).put(c.value);
    f.close();
    PluginReport r = refusal(path, "mould");
    EXPECT_EQ(r.step, "file");
    EXPECT_NE(r.reason.find(c.why), r.reason.npos) << r.reason;
  }
}

TEST_F(Load, HeadersOfAnyContentDoNoHarm) {
  std::string path = copy("mould", "h.so"), whole;
  {
    std::ifstream f(path, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(f), {});
  }
  for (size_t at = 16; at < 64; ++at)
    for (int value : {0x00, 0x7f, 0xff}) {
      std::string bad = whole;
      bad[at] = char(value);
      std::ofstream(path, std::ios::binary | std::ios::trunc) << bad;
      check_file(path);  // any answer is fine, as long as there is one
    }
}

TEST_F(Load, CrashesStayInTheHelper) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const char *crash = "exit code";
#else
  const char *crash = "crashed with signal 11";
#endif
  EXPECT_REFUSED("constructor_segfault", "probe", crash);      // 16
  EXPECT_REFUSED("constructor_exit", "probe", "exit code 0");  // 18
  EXPECT_REFUSED("abort", "probe", "crashed with signal 6");   // 19
}

TEST_F(Load, AHangingPluginCostsThreeSecondsOnce) {  // 19
  EXPECT_REFUSED("hang", "probe", "no answer in 3 s");
  auto start = std::chrono::steady_clock::now();
  EXPECT_REFUSED("hang", "probe", "no answer in 3 s");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST_F(Load, ArchNames) {  // 22
  int n = 0;
  for (const char *arch : {"..evil", "", "1abc", "UPPER", "a b", "a/b", "this_name_has_more_than_31_bytes_in_it"}) {
    setenv("QD_TEST_ARCH", arch, 1);
    PluginReport r = refusal(copy("environment", std::to_string(n++) + ".so"), "wanted");
    EXPECT_EQ(r.step, "reply") << arch;
    EXPECT_NE(r.reason.find("arch name"), r.reason.npos);
  }
}

TEST_F(Load, WithoutTheHelperForeignPluginsAreRefused) {
  config.plugin_dir = folder.path;
  PluginReport r = refusal(copy("mould", "x.so"), "mould");
  EXPECT_EQ(r.step, "probe");
  EXPECT_NE(r.reason.find("can't be started"), r.reason.npos);
}

TEST_F(Load, PathVariable) {
  copy("no_entry", "aaa.so");
  copy("mould", "mine.so");
  copy("bad_magic", "zzz.so");
  std::ofstream(folder.path + "/notes.so") << "text";
  setenv("QD_BACKEND_PATH", ("::relative/x.so:" + folder.path + ":").c_str(), 1);
  std::string mark = folder.path + "/mark";
  fs::create_directory(mark);
  setenv("QD_TEST_MARK", mark.c_str(), 1);
  EXPECT_FALSE(load(config, "nobody", chain));
  EXPECT_FALSE(fs::exists(mark));  // the mark works: plugins were opened on the way
  std::string text = describe(chain);
  EXPECT_NE(text.find("relative/x.so"), text.npos);
  EXPECT_NE(text.find("zzz.so"), text.npos);
  EXPECT_EQ(text.find("aaa.so"), text.npos);  // 12: other files of the folder are no news
  EXPECT_EQ(text.find("notes.so"), text.npos);
  chain.clear();
  const Library *l = load(config, "mould", chain);
  ASSERT_TRUE(l);
  EXPECT_EQ(fs::path(l->path).filename(), "mine.so");
}

TEST_F(Load, OtherFilesAreNotEvenOpened) {  // 12
  copy("no_entry", "aaa.so");
  setenv("QD_BACKEND_PATH", folder.path.c_str(), 1);
  std::string mark = folder.path + "/mark";
  fs::create_directory(mark);
  setenv("QD_TEST_MARK", mark.c_str(), 1);
  EXPECT_FALSE(load(config, "nobody", chain));
  EXPECT_TRUE(fs::exists(mark));
  ASSERT_EQ(chain.size(), 1u);
  EXPECT_EQ(chain[0].step, "search");
}

TEST_F(Load, EntryPointsComeAfterWhatLiesBesideTheCore) {
  fs::create_directory(folder.path + "/core");
  fs::copy_file(std::string(QD_BESIDE) + "/qd_probe", folder.path + "/core/qd_probe");
  config.plugin_dir = folder.path + "/core";
  config.entry_points = {{"mould", copy("mould", "entry.so")}};
  const Library *l = load(config, "mould", chain);
  ASSERT_TRUE(l) << describe(chain);
  EXPECT_EQ(fs::path(l->path).filename(), "entry.so");
  copy("mould", "core/libqd_mould.so");
  l = load(config, "mould", chain);
  ASSERT_TRUE(l);
  EXPECT_EQ(fs::path(l->path).filename(), "libqd_mould.so");
}

TEST_F(Load, SurveyListsEverything) {
  fs::create_directory(folder.path + "/core");
  fs::copy_file(std::string(QD_BESIDE) + "/qd_probe", folder.path + "/core/qd_probe");
  config.plugin_dir = folder.path + "/core";
  copy("mould", "core/libqd_mould.so");
  copy("no_entry", "core/libqd_mould_codegen.so");
  copy("no_driver", "core/libqd_no_driver.so");
  copy("no_device", "core/libqd_no_device.so");
  config.entry_points = {{"longer_table", copy("longer_table", "longer.so")}};
  std::string second = copy("mould", "second.so"), bad = copy("bad_magic", "bad.so");
  setenv("QD_BACKEND_PATH", (second + ":" + bad).c_str(), 1);
  std::map<std::string, PluginReport> by_name;
  for (auto &r : survey_plugins(config)) by_name[fs::path(r.path).filename()] = r;
  EXPECT_EQ(by_name.size(), 6u);
  EXPECT_TRUE(by_name["libqd_mould.so"].usable);
  EXPECT_EQ(by_name["libqd_mould.so"].source, "beside the core");
  EXPECT_EQ(by_name["libqd_mould.so"].abi, "1.0");
  EXPECT_TRUE(by_name["longer.so"].usable);
  EXPECT_EQ(by_name["longer.so"].source, "entry point");
  EXPECT_FALSE(by_name["second.so"].usable);
  EXPECT_EQ(by_name["second.so"].step, "shadowed");  // 21
  EXPECT_NE(by_name["second.so"].reason.find("libqd_mould.so"), std::string::npos);
  EXPECT_EQ(by_name["bad.so"].step, "reply");
  EXPECT_EQ(by_name["bad.so"].source, "QD_BACKEND_PATH");
  EXPECT_FALSE(by_name["libqd_no_driver.so"].usable);  // 1
  EXPECT_NE(by_name["libqd_no_driver.so"].reason.find("libmould.so.1: cannot open"), std::string::npos);
  EXPECT_EQ(by_name["libqd_no_device.so"].step, "device");  // 4
}

}  // namespace
}  // namespace qd::plugin
