// property_test.cpp: what must hold of every program, tried on random ones (random_program.hpp). A failure prints the
// seed and both texts.
#include <gtest/gtest.h>

#include "tests/ir/random_program.hpp"

namespace qd::ir {
namespace {

std::string fault_text(const Unit &u) {
  const auto f = verify(u);
  return f ? "function " + std::to_string(f->func) + ", record " + std::to_string(f->record) + ": " + f->message : "";
}

class Random : public ::testing::TestWithParam<int> {};

TEST_P(Random, spellings_have_one_canonical_form) {
  for (int seed = GetParam() * 100; seed < GetParam() * 100 + 100; ++seed) {
    std::mt19937 rng{uint32_t(seed)};
    const testing::Program p = testing::random_program(rng, 10 + seed % 40);
    std::string want_bytes, want_text;
    for (int spelling = 0; spelling < 4; ++spelling) {
      const Unit u = testing::spell(p, rng);
      ASSERT_EQ(fault_text(u), "") << "seed " << seed << "\n" << print(u);
      const Unit c = canonical(u);
      ASSERT_EQ(fault_text(c), "") << "seed " << seed << "\n" << print(c);
      std::string text = print(Unit{c.params, c.funcs, {}});
      if (spelling == 0) want_bytes = to_wire(c), want_text = text;
      ASSERT_EQ(to_wire(c), want_bytes) << "seed " << seed << "\n"
                                        << want_text << "\n"
                                        << text << "\nfrom\n"
                                        << print(u);
    }
  }
}

TEST_P(Random, canonical_is_idempotent_and_round_trips_are_exact) {
  for (int seed = GetParam() * 100; seed < GetParam() * 100 + 100; ++seed) {
    std::mt19937 rng{uint32_t(seed) + 1000000};
    const Unit u = testing::spell(testing::random_program(rng, 10 + seed % 60), rng);
    const Unit c = canonical(u);
    ASSERT_EQ(print(canonical(c)), print(c)) << "seed " << seed;
    for (const Unit *x : {&u, &c}) {
      const std::string bytes = to_wire(*x), text = print(*x);
      ASSERT_EQ(to_wire(from_wire(bytes)), bytes) << "seed " << seed;
      ASSERT_EQ(print(parse(text)), text) << "seed " << seed;
      ASSERT_EQ(to_wire(parse(text)), bytes) << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, Random, ::testing::Range(0, 10));

}  // namespace
}  // namespace qd::ir
