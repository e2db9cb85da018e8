// plan_wire_test.cpp: a plan in stored form. What was written is read back equal; whatever else the bytes are, they are
// refused or give a plan whose every number is in range, and nothing is allocated for a count that can't be true.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "core/ir/ir.hpp"
#include "core/split/split.hpp"
#include "core/support/error.hpp"

using namespace qd;
using split::Plan;

namespace {

std::vector<std::pair<std::string, std::string>> kernels() {
  std::vector<std::pair<std::string, std::string>> out;
  std::set<std::filesystem::path> files;
  for (const auto &f : std::filesystem::directory_iterator(KIR_DIR)) files.insert(f.path());
  for (const auto &path : files) {
    std::ifstream in(path);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    text = text.substr(0, text.find("\n}\n") + 3);  // the kernel; what is expected of it follows
    out.emplace_back(path.filename().string(), text);
  }
  return out;
}

// Kernels of the split's own tests that parse by themselves (some hold their expectation in the same file).
std::vector<Plan> plans() {
  std::vector<Plan> out;
  for (const auto &[name, text] : kernels()) {
    try {
      out.push_back(split::split(ir::parse(text)));
    } catch (const Error &) { continue; }
  }
  return out;
}

const char program[] = R"(func @program($x: buf f32 2, $n: i32, $m: i32) {
  %n = arg.i32 $n
  %m = arg.i32 $m
  %z = const.i32 0
  %two = const.i32 2
  %d = mul.i32 %n, %two
  %e = add.i32 %d, %m
  operand %z, %e
  parallel.i32 1, 0 {
    %i = axis.i32 0
    %c = const.f32 7
    store $x, %i, %c
  }
  %v = load.f32 $x, %z
  operand %z, %n
  parallel.i32 1, 0 {
    %i = axis.i32 0
    store $x, %i, %v
  }
})";

void expect_equal(const Plan &a, const Plan &b) {
  EXPECT_EQ(split::to_bytes(a), split::to_bytes(b));
  ASSERT_EQ(a.tasks.size(), b.tasks.size());
  for (size_t i = 0; i < a.tasks.size(); ++i) {
    EXPECT_EQ(a.tasks[i].bytes, b.tasks[i].bytes);
    EXPECT_EQ(a.tasks[i].symbol, b.tasks[i].symbol);
    EXPECT_EQ(a.tasks[i].extent.kind, b.tasks[i].extent.kind);
    EXPECT_EQ(a.tasks[i].sites, b.tasks[i].sites);
  }
}

TEST(PlanWire, ReadsBack) {
  auto all = plans();
  EXPECT_GE(all.size(), 5u);
  all.push_back(split::split(ir::parse(program)));
  for (const Plan &p : all) {
    const auto back = split::plan_from_bytes(split::to_bytes(p));
    ASSERT_TRUE(back) << p.name;
    expect_equal(p, *back);
  }
}

TEST(PlanWire, ExtentsAreEvaluatedAlike) {
  const Plan p = split::split(ir::parse(program));
  const auto back = split::plan_from_bytes(split::to_bytes(p));
  ASSERT_TRUE(back);
  std::vector<uint64_t> words(p.n_words, 5);
  bool any = false;
  for (size_t i = 0; i < p.tasks.size(); ++i) {
    any |= p.tasks[i].extent.kind == split::ExtentKind::program;
    EXPECT_EQ(split::positions(p.tasks[i].extent, words.data()), split::positions(back->tasks[i].extent, words.data()));
  }
  EXPECT_TRUE(any);
}

TEST(PlanWire, EveryTruncationIsRefused) {
  const std::string bytes = split::to_bytes(split::split(ir::parse(program)));
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(split::plan_from_bytes(bytes.substr(0, n))) << n;
  EXPECT_FALSE(split::plan_from_bytes(bytes + '\0'));
}

// A flipped bit that is not refused (one of a name, say) leaves a plan that can be evaluated without reading outside.
TEST(PlanWire, EveryFlippedBitIsRefusedOrHarmless) {
  const std::string bytes = split::to_bytes(split::split(ir::parse(program)));
  size_t accepted = 0;
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = char(damaged[at] ^ 1 << bit);
      const auto p = split::plan_from_bytes(damaged);
      if (!p) continue;
      ++accepted;
      ASSERT_LE(p->n_words, 1u << 20);
      const std::vector<uint64_t> words(p->n_words, 3);
      for (const auto &t : p->tasks) {
        split::positions(t.extent, words.data());
        for (const auto &m : t.words) ASSERT_LE(uint64_t(m.from) + m.count, p->n_words);
      }
    }
  EXPECT_LT(accepted, bytes.size());  // of 8 * size: the digest alone covers most of the bytes
}

TEST(PlanWire, AnotherVersionIsRefused) {
  std::string bytes = split::to_bytes(split::split(ir::parse(program)));
  ++bytes[6];
  EXPECT_FALSE(split::plan_from_bytes(bytes));
}

}  // namespace
