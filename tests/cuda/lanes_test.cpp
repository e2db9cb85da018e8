// lanes_test.cpp: tasks of different sections run beside each other, and nothing else does: by streams, events, and the
// order that a graph says.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/cuda/harness.hpp"
#include "tests/cuda/tasks.hpp"

namespace qd::test {
namespace {

struct Kernel {
  explicit Kernel(Cuda &cuda) : c(cuda), e(c.entries({sum})[0]) { fake().reset(); }
  QdbStatus run(const std::vector<uint32_t> &sections) {
    Launches l{c};
    for (uint32_t s : sections) l.add(e, {0x1000, 9, 0x2000, 5000}, 0, 5000, QDB_LAUNCH_SECTION(s));
    return l.run();
  }
  Cuda &c;
  QdbEntry *e;
};

uint64_t stream_of(size_t k) { return fake().launch(k)->stream; }

std::vector<std::string> calls(const std::string &name) {
  std::vector<std::string> out;
  std::istringstream in(fake().calls());
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name)) out.push_back(line.substr(name.size() + 1));
  return out;
}

TEST(CudaLanes, sections_have_streams_of_their_own_between_fork_and_join) {
  Cuda c;
  Kernel k(c);
  ASSERT_EQ(k.run({0, 1, 2, 1, 0, 2, 3}), QDB_OK) << c.err.message;  // streams and memory are there from now on
  fake().reset();
  ASSERT_EQ(k.run({0, 1, 2, 1, 0, 2, 3}), QDB_OK);
  ASSERT_EQ(fake().launches(), 7u);
  const uint64_t main = stream_of(0);
  EXPECT_EQ(stream_of(4), main);
  EXPECT_NE(stream_of(1), main);
  EXPECT_NE(stream_of(2), main);
  EXPECT_NE(stream_of(1), stream_of(2));
  EXPECT_EQ(stream_of(1), stream_of(3));
  EXPECT_EQ(stream_of(5), stream_of(2));
  // Two forks of two lanes and two joins: four waits of lanes, four of the stream.
  const auto waits = calls("cuStreamWaitEvent"), records = calls("cuEventRecord");
  EXPECT_EQ(waits.size(), 8u);
  EXPECT_EQ(records.size(), 6u);
  std::ostringstream name;
  name << "0x" << std::hex << main;
  EXPECT_EQ(std::count_if(waits.begin(), waits.end(), [&](auto &w) { return w.starts_with(name.str() + " "); }), 4);
  EXPECT_EQ(std::count_if(records.begin(), records.end(), [&](auto &r) { return r.ends_with(" " + name.str()); }), 2);
}

TEST(CudaLanes, without_sections_there_are_no_events) {
  Cuda c;
  Kernel k(c);
  ASSERT_EQ(k.run({0, 0, 0}), QDB_OK);
  fake().reset();
  ASSERT_EQ(k.run({0, 0, 0}), QDB_OK);
  EXPECT_EQ(fake().count("cuEventRecord"), 0);
  EXPECT_EQ(fake().count("cuStreamCreate"), 0);
}

TEST(CudaLanes, a_graph_has_branches) {
  Cuda c;
  Kernel k(c);
  for (int call = 0; call < 3; call++) ASSERT_EQ(k.run({0, 1, 2, 1, 0, 2, 0}), QDB_OK) << c.err.message;
  EXPECT_EQ(fake().count("cuGraphLaunch"), 1);
  const size_t first = fake().launches() - 7;
  const uint64_t after[] = {0, 0b1, 0b1, 0b10, 0b1100, 0b10000, 0b100000};
  for (size_t n = 0; n < 7; n++) EXPECT_EQ(fake().launch(first + n)->after, after[n]) << n;
  // Where one task is behind one other it may begin early, at forks and joins not.
  const bool early[] = {false, false, false, true, false, false, false};
  for (size_t n = 0; n < 7; n++) EXPECT_EQ(fake().launch(first + n)->early, early[n]) << n;
  // The same tasks in other sections are another graph.
  ASSERT_EQ(k.run({0, 0, 0, 0, 0, 0, 0}), QDB_OK);
  EXPECT_EQ(fake().count("cuGraphLaunch"), 1);
}

TEST(CudaLanes, reductions_side_by_side_have_memory_of_their_own) {
  Cuda c;
  const auto e = c.entries({sum})[0];
  Launches l{c};
  for (uint32_t s : {0, 1, 2, 1}) l.add(e, {0x1000, 9, 0x2000, 1000}, 0, 1000, QDB_LAUNCH_SECTION(s));
  ASSERT_EQ(l.run(), QDB_OK) << c.err.message;
  const auto scratch = [](size_t k) { return fake().launch(k)->scratch; };
  EXPECT_NE(scratch(0), scratch(1));
  EXPECT_NE(scratch(1), scratch(2));
  EXPECT_NE(scratch(0), scratch(2));
  EXPECT_EQ(scratch(1), scratch(3));
}

TEST(CudaLanes, many_sections_share_a_few_streams) {
  Cuda c;
  Kernel k(c);
  std::vector<uint32_t> sections;
  for (uint32_t s = 1; s <= 40; s++) sections.push_back(s);
  ASSERT_EQ(k.run(sections), QDB_OK);
  EXPECT_EQ(fake().count("cuStreamCreate"), 8);
  EXPECT_EQ(fake().launches(), 40u);
}

// The stream waits for what was launched, whatever fails behind it; and nothing is left when all is closed.
TEST(CudaLanes, are_joined_after_an_error) {
  const uint64_t before = fake().live();
  for (const char *failing :
       {"cuStreamCreate", "cuEventCreate", "cuStreamWaitEvent", "cuLaunchKernel", "cuEventRecord"})
    for (int after = 0; after < 3; after++) {
      Cuda c;
      Kernel k(c);
      fake().fail(failing, after, 2);
      const QdbStatus status = k.run({1, 2, 0});
      EXPECT_EQ(status < 0, !fake().armed()) << failing << after;
      fake().reset();
      EXPECT_EQ(k.run({1, 2, 0}), QDB_OK) << failing << after;
    }
  EXPECT_EQ(fake().live(), before);
}

}  // namespace
}  // namespace qd::test
