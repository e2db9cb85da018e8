// mutation_test.cpp: thousands of damaged units, the same on every run. The reader must answer, never crash; and whatever it
// accepts must keep its promises: every index that a code generator may follow is in range.
#include <gtest/gtest.h>

#include <random>

#include "qd/ir_view.hpp"
#include "tests/abi/sample_units.hpp"

namespace qd::test {
namespace {

void walk(const view::View &u) {
  for (uint32_t f = 0; f < u.n_functions(); f++) {
    const view::Function &g = u.function(f);
    for (uint32_t i = 0; i < g.count; i++) {
      const QdInst &r = g.code[i];
      ASSERT_LT(r.op, view::n_ops);
      ASSERT_LT(r.type, view::n_types);
      const std::string_view sig = view::info(view::op_of(r)).sig;
      for (uint32_t k = 0; k < sig.size(); k++) {
        const uint32_t x = view::field(r, k);
        const bool unused = view::op_of(r) == Op::operand && x == QD_NO_VALUE;
        ASSERT_TRUE(!view::names_record(sig[k]) || x < i || unused);
        ASSERT_TRUE((sig[k] != 'p' && sig[k] != 's') || x < u.n_params());
      }
      const bool matched = view::has(view::op_of(r), view::Opens) || view::op_of(r) == Op::end || view::op_of(r) == Op::leave;
      ASSERT_TRUE(!matched || g.match[i] < g.count);
      const view::Operands o = u.operands_before(g, i);
      for (uint32_t k = 0; k < o.count && view::has(view::op_of(r), view::Takes); k++) ASSERT_LT(o[k], i);
      ASSERT_TRUE(view::op_of(r) != Op::call || o.count == u.function(r.a).n_args);
    }
  }
  if (const view::Parallel *p = u.parallel()) {
    ASSERT_LT(p->end, u.entry().count);
    u.bounds_are_pure(*p);
  }
}

void mutate(std::string &bytes, std::mt19937 &random) {
  const auto at = [&](size_t n) { return size_t(random() % n); };
  if (bytes.size() < 128) return;  // already cut short
  switch (random() % 6) {
    case 0: bytes[at(bytes.size())] ^= char(1 << at(8)); break;
    case 1: bytes[at(bytes.size())] = char(random()); break;
    case 2: {  // a whole word, small or extreme
      const uint32_t words[] = {0, 1, 2, uint32_t(random() % 64), 0x7fffffff, 0xffffffff};
      const uint32_t w = words[at(6)];
      std::memcpy(&bytes[at(bytes.size() / 4) * 4], &w, 4);
      break;
    }
    case 3:
    case 4: {  // one record over another
      const size_t code = bytes.size() / 16 / 4, n = bytes.size() / 8;
      const size_t from = code + at(n - code - 1), to = code + at(n - code - 1);
      std::memmove(&bytes[to * 8], &bytes[from * 8], 16);
      break;
    }
    default: bytes.resize(at(bytes.size()) / 4 * 4 + 4); break;
  }
}

TEST(Mutation, ThousandsOfMutantsNeverCrash) {
  std::mt19937 random(20260829);
  uint32_t accepted = 0, refused = 0;
  for (const UnitWriter &seed : {sample_task(), sample_serial()}) {
    const std::string good = seed.bytes();
    for (int i = 0; i < 6000; i++) {
      std::string bytes = good;
      for (uint32_t n = 1 + random() % 3; n > 0; n--) mutate(bytes, random);
      const std::string exact(bytes);
      std::vector<char> heap(exact.begin(), exact.end());  // its own allocation: sanitizers see an access behind it
      view::View u;
      view::Fault fault;
      view::ReadOptions options;
      options.task = random() % 2;
      options.allow_recursion = random() % 2;
      if (u.read(heap.data(), heap.size(), fault, options)) {
        accepted++;
        ASSERT_NO_FATAL_FAILURE(walk(u));
      } else {
        refused++;
        ASSERT_FALSE(fault.message.empty());
        ASSERT_LT(fault.status, 0);
        ASSERT_EQ(u.n_functions(), 0u);
      }
    }
  }
  EXPECT_GT(accepted, 100u);  // else the mutants are too wild to reach the later checks
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace qd::test
