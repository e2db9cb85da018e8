// nonce_test.cpp: the comment that keeps the driver's own cache out of offline_cache=False.
#include <gtest/gtest.h>

#include <regex>

#include "backends/cuda/nonce.hpp"
#include "tests/cuda/harness.hpp"
#include "tests/cuda/tasks.hpp"

namespace qd::test {
namespace {

TEST(Nonce, is_one_comment_line) {
  EXPECT_TRUE(std::regex_match(cuda::nonce_line(), std::regex("// quadrants-nonce [0-9a-f]{32}\n")));
}

TEST(Nonce, is_the_same_for_the_whole_process) { EXPECT_EQ(cuda::nonce_line(), cuda::nonce_line()); }

TEST(Nonce, another_process_has_another) { EXPECT_NE(cuda::make_nonce_line(), cuda::make_nonce_line()); }

TEST(Nonce, is_absent_with_the_offline_cache) {
  Cuda c;
  EXPECT_EQ(c.ptx_of(scale).find("quadrants-nonce"), std::string::npos);
  EXPECT_EQ(c.ptx_of(scale, {{"offline_cache", "1"}}).find("quadrants-nonce"), std::string::npos);
}

TEST(Nonce, is_put_behind_otherwise_equal_text) {
  Cuda c;
  const std::string plain = c.ptx_of(scale), marked = c.ptx_of(scale, {{"offline_cache", "0"}});
  ASSERT_GT(marked.size(), plain.size());
  EXPECT_EQ(marked.substr(0, plain.size()), plain);
  EXPECT_TRUE(std::regex_match(marked.substr(plain.size()), std::regex("// quadrants-nonce [0-9a-f]{32}\n")));
  EXPECT_LT(marked.find(".address_size"), marked.find("quadrants-nonce"));
  EXPECT_LT(marked.find(".version"), marked.find(".target"));
}

TEST(Nonce, identical_tasks_share_within_the_process) {
  Cuda c, d;
  EXPECT_EQ(c.ptx_of(scale, {{"offline_cache", "0"}}), d.ptx_of(scale, {{"offline_cache", "0"}}));
}

}  // namespace
}  // namespace qd::test
