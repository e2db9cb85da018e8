// key_test.cpp: what is in a key and what is not.
#include <gtest/gtest.h>

#include "core/compile/key.hpp"
#include "core/support/error.hpp"

using namespace qd;
using namespace qd::compile;

namespace {

split::Task task(const std::string &bytes) {
  split::Task t;
  t.bytes = bytes;
  t.digest = cache::digest_of(bytes);
  return t;
}
BackendInfo backend() {
  BackendInfo b;
  b.arch = "fake";
  b.target = "t1";
  b.finish_target = "t2";
  return b;
}
cache::Digest key(std::vector<split::Task> tasks, const BackendInfo &b = backend(), const Options &o = {}) {
  std::vector<const split::Task *> list;
  for (const auto &t : tasks) list.push_back(&t);
  return artifact_key(list, b, o).digest;
}

}  // namespace

TEST(Key, HoldsEveryInput) {
  const auto original = key({task("a")});
  EXPECT_EQ(key({task("a")}), original);
  EXPECT_NE(key({task("b")}), original);
  auto b = backend();
  b.arch = "other";
  EXPECT_NE(key({task("a")}, b), original);
  b = backend();
  b.target = "t1 with more features";
  EXPECT_NE(key({task("a")}, b), original);
  b = backend();
  b.build_id.bytes[31] = 1;
  EXPECT_NE(key({task("a")}, b), original);
  b = backend();
  b.finish_target = "another driver";
  EXPECT_EQ(key({task("a")}, b), original) << "finishing is no part of the code";
}

TEST(Key, OfKernelsDependsOnOrder) {
  EXPECT_NE(key({task("a"), task("b")}), key({task("b"), task("a")}));
  EXPECT_NE(key({task("a"), task("b")}), key({task("a")}));
}

TEST(Key, EveryOptionThatChangesCodeAndNoOther) {
  const auto original = key({task("a")});
#define None EXPECT_EQ
#define Code EXPECT_NE
#define Finish EXPECT_EQ
#define OPTION(name, type, initial, changes, doc)                           \
  changes(key({task("a")}, backend(), {{#name, "77"}}), original) << #name; \
  EXPECT_EQ(key({task("a")}, backend(), {{#name, #initial}}), original) << #name << ": the default written out";
#include "qd/options.def"
#undef None
#undef Code
#undef Finish
  EXPECT_THROW(key({task("a")}, backend(), {{"no_such_option", "1"}}), Error);
}

TEST(Key, ComponentsAreNamed) {
  const auto t = task("a");
  const split::Task *list[] = {&t};
  const auto k = artifact_key(list, backend(), {});
  std::vector<std::string> names;
  for (const auto &c : k.components) names.push_back(c.name);
  EXPECT_EQ(names, (std::vector<std::string>{"task", "arch", "build id", "target", "options"}));
  EXPECT_EQ(k.components[0].digest, t.digest);
}

TEST(Key, FinishedDependsOnArtifactAndDriver) {
  const auto a = cache::digest_of("code"), b = cache::digest_of("other code");
  auto info = backend();
  const auto original = finished_key(a, info, {}).digest;
  EXPECT_NE(finished_key(b, info, {}).digest, original);
  info.finish_target = "driver 2";
  EXPECT_NE(finished_key(a, info, {}).digest, original);
}
