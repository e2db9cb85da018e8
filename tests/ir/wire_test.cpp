// wire_test.cpp: the reader of units against damaged bytes, and the corners of the Builder that text files do not
// reach.
#include <gtest/gtest.h>

#include "core/support/error.hpp"
#include "tests/ir/random_program.hpp"

namespace qd::ir {
namespace {

std::string sample() {
  std::mt19937 rng{7};
  return to_wire(canonical(testing::spell(testing::random_program(rng, 12), rng)));
}

TEST(Wire, truncated_or_extended_is_refused) {
  const std::string bytes = sample();
  for (size_t n = 0; n < bytes.size(); n += 1 + n / 64)
    EXPECT_THROW(from_wire(std::string_view(bytes).substr(0, n)), Error) << n;
  EXPECT_THROW(from_wire(bytes + std::string(16, '\0')), Error);
}

// A changed byte is refused, or the result is another well-formed unit with exactly these bytes: nothing is ignored.
TEST(Wire, no_byte_is_ignored) {
  const std::string bytes = sample();
  int accepted = 0, refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at)
    for (const int flip : {1, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = char(damaged[at] ^ flip);
      try {
        ASSERT_EQ(to_wire(from_wire(damaged)), damaged) << "byte " << at;
        ++accepted;
      } catch (const Error &) { ++refused; }
    }
  EXPECT_GT(accepted, 0);  // a constant's bits, for one
  EXPECT_GT(refused, accepted / 4);
}

TEST(Wire, message_names_the_place) {
  Unit u;
  u.funcs.push_back({{{Op::neg, Type::i32, 0, {5, 0, 0}}}, 0, 0});
  try {
    from_wire(to_wire(u));
    FAIL() << "accepted";
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("function 0, record 0"), std::string::npos) << e.what();
  }
}

TEST(Builder, constants_are_cut_to_their_type) {
  Builder b;
  uint64_t bits = 0;
  ASSERT_TRUE(b.constant_value(b.constant_of(Type::i8, int64_t(-1)), bits));
  EXPECT_EQ(bits, 0xffu);
  ASSERT_TRUE(b.constant_value(b.constant_of(Type::i32, 1e20), bits));
  EXPECT_EQ(bits, 0x7fffffffu);
  ASSERT_TRUE(b.constant_value(b.constant_of(Type::b1, 0.5), bits));
  EXPECT_EQ(bits, 1u);
  EXPECT_EQ(b.constant(Type::i16, 0x12345), b.constant(Type::i16, 0x2345));
}

TEST(Builder, functions_open_inside_unfinished_ones) {
  Builder b;
  b.emit(Op::block, Type::none);
  const uint32_t f = b.open_function(0, 0);
  EXPECT_EQ(b.depth(), 0u);
  b.emit(Op::ret, Type::none);
  b.close_function();
  EXPECT_EQ(b.depth(), 1u);
  b.emit_taking(Op::call, Type::none, {}, {f});
  EXPECT_THROW(b.close_function(), Error);
  b.emit(Op::end, Type::none);
  const Unit u = std::move(b).finish("k");
  EXPECT_FALSE(verify(u));
  EXPECT_EQ(u.funcs.size(), 2u);
}

TEST(Builder, unbalanced_regions_are_refused) {
  Builder b;
  EXPECT_THROW(b.emit(Op::end, Type::none), Error);
  b.emit(Op::block, Type::none);
  EXPECT_THROW(std::move(b).finish("k"), Error);
}

// A chain as long as the code: no recursion, no quadratic step.
TEST(Canonical, long_chains) {
  Builder b;
  const uint32_t x = b.param({QD_PARAM_BUFFER, Type::i32, 1}, "x");
  const Val z = b.constant_of(Type::i32, int64_t(0));
  const Val first = b.emit(Op::load, Type::i32, {x, z});
  Val v = first;
  for (int k = 0; k < 200000; ++k) v = b.emit(k % 2 ? Op::mul : Op::xor_, Type::none, {v, first});
  b.emit(Op::store, Type::none, {x, z, v});
  const Unit c = canonical(std::move(b).finish("k"));
  EXPECT_FALSE(verify(c));
  EXPECT_GE(c.code().size(), 200000u);
}

}  // namespace
}  // namespace qd::ir
