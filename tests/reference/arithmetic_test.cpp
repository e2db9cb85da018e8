// arithmetic_test.cpp: runs every row of arithmetic_rows.hpp through the reference plugin, and makes sure that no row of ops.def
// with a meaning is missing there, in any of its type classes.
#include <gtest/gtest.h>

#include <set>

#include "tests/reference/arithmetic_rows.hpp"
#include "tests/support/plugin_host.hpp"

namespace qd::test {
namespace {

std::string label(const Row &r) {
  return std::string(view::info(r.op).name) + "." + std::string(view::info(r.type).name) + " -> " + std::string(view::info(r.result).name) +
         " of " + std::to_string(r.x.i) + "|" + std::to_string(r.x.f) + ", " + std::to_string(r.y.i) + "|" + std::to_string(r.y.f);
}

double as_double(Type t, uint64_t bits) {
  if (t == f32) {
    float v;
    std::memcpy(&v, &bits, sizeof v);
    return double(v);
  }
  double v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

void expect_value(const Row &r, uint64_t found) {
  const uint64_t want = bits_of(r.result, r.want);
  if (r.result == f32 || r.result == f64) {
    const double w = as_double(r.result, want), f = as_double(r.result, found);
    if (std::isnan(w)) {
      EXPECT_TRUE(std::isnan(f)) << label(r);
      return;
    }
    if (view::info(r.op).flags & view::Inexact) {
      EXPECT_NEAR(f, w, std::fabs(w) * (r.result == f32 ? 3e-7 : 1e-15)) << label(r);
      return;
    }
  }
  EXPECT_EQ(found, want) << label(r);
}

uint64_t run(Backend &b, const Row &r) {
  UnitWriter w;
  const uint32_t px = w.scalar(r.type), py = w.scalar(r.type);
  const uint32_t x = w.add(Op::arg, r.type, px), y = w.add(Op::arg, r.type, py);
  const bool two = view::info(r.op).sig.size() == 2;
  const uint32_t v = w.add(r.op, r.result, x, two ? y : 0);
  w.add(Op::output, Type::none, 0, v);
  QdbEntry *entry = b.load(w.bytes());
  b.check(b.launch(entry, {bits_of(r.type, r.x), bits_of(r.type, r.y)}));
  return b.results[0];
}

uint64_t run_atomic(Backend &b, const Row &r, uint64_t &old) {
  UnitWriter w;
  const uint32_t buffer = w.buffer(r.type), py = w.scalar(r.type);
  const uint32_t index = w.constant(i32, 1), y = w.add(Op::arg, r.type, py);
  const uint32_t v = w.add(r.op, r.type, buffer, index, y);
  w.add(Op::output, Type::none, 0, v);
  QdbEntry *entry = b.load(w.bytes());
  const uint32_t bytes = view::info(r.type).bytes;
  uint64_t memory[3] = {};
  const uint64_t x = bits_of(r.type, r.x);
  std::memcpy(reinterpret_cast<char *>(memory) + bytes, &x, bytes);
  b.check(b.launch(entry, {reinterpret_cast<uintptr_t>(memory), 3, bits_of(r.type, r.y)}));
  old = b.results[0];
  uint64_t now = 0;
  std::memcpy(&now, reinterpret_cast<char *>(memory) + bytes, bytes);
  return now;
}

TEST(Reference, EveryRowHasItsValue) {
  Backend b(QD_REFERENCE_PATH);
  for (const Row &r : arithmetic_rows) {
    if (!view::has(r.op, view::Atomic)) {
      expect_value(r, run(b, r));
      continue;
    }
    uint64_t old = 0;
    expect_value(r, run_atomic(b, r, old));
    EXPECT_EQ(old, bits_of(r.type, r.x)) << label(r) << ": the old element";
  }
}

TEST(Reference, NoRowOfTheTableIsMissing) {
  std::set<std::pair<Op, view::TypeClass>> covered;
  for (const Row &r : arithmetic_rows) covered.insert({r.op, view::info(r.type).cls});
  const std::string_view meanings[] = {
#define OP(name, sig, cls, res, eff, flags, meaning, doc) #meaning,
#include "qd/ops.def"
  };
  for (uint32_t k = 0; k < view::n_ops; k++) {
    if (meanings[k] == "NOVALUE") continue;
    for (const Type t : {b1, i32, f32}) {
      const bool needed = view::in_class(view::info(Op(k)).operands, t);
      EXPECT_TRUE(!needed || covered.count({Op(k), view::info(t).cls}))
          << view::info(Op(k)).name << " has no row for the class of " << view::info(t).name;
    }
  }
}

TEST(Reference, EveryTypeOfEveryClassRuns) {  // no pair of operation and type lacks a function
  Backend b(QD_REFERENCE_PATH);
  std::set<Op> ops;
  for (const Row &r : arithmetic_rows) ops.insert(r.op);
  for (const Op op : ops)
    for (const Type t : {b1, i8, i16, i32, i64, f16, f32, f64}) {
      const view::OpInfo &row = view::info(op);
      if (!view::in_class(row.operands, t)) continue;
      for (const Type r : {b1, i8, i16, i32, i64, f16, f32, f64}) {
        const bool given = row.result == view::Result::Given && !(row.flags & view::Atomic);
        if (given ? (op == Op::bitcast && (view::info(r).bytes != view::info(t).bytes || (r == b1) != (t == b1))) || (op == Op::frexp_exp && r != i32)
                  : r != (row.result == view::Result::Bool ? b1 : t))
          continue;
        const Row one{op, t, r, 1, 1, 0};
        uint64_t old = 0;
        EXPECT_NO_THROW(row.flags & view::Atomic ? run_atomic(b, one, old) : run(b, one)) << label(one);
      }
    }
}

}  // namespace
}  // namespace qd::test
