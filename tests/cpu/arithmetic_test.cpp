// arithmetic_test.cpp: every row of tests/reference/arithmetic_rows.hpp through generated code: as serial scalar code,
// and in a parallel loop over arrays, where the vectoriser has its way. Without fast math, so that results are exact.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/cpu/harness.hpp"
#include "tests/reference/arithmetic_rows.hpp"

namespace qd::test {
namespace {

constexpr int64_t lanes = 67;  // whole vectors and a remainder

bool is_one_operand(const Row &r) { return view::info(r.op).sig.size() == 1; }

std::string serial_unit(const Row &r) {
  UnitWriter w;
  const uint32_t px = w.scalar(r.type), py = w.scalar(r.type);
  const uint32_t x = w.add(Op::arg, r.type, px), y = w.add(Op::arg, r.type, py);
  w.add(Op::output, Type::none, 0, w.add(r.op, r.result, x, is_one_operand(r) ? 0 : y));
  return w.bytes();
}

std::string parallel_unit(const Row &r) {
  UnitWriter w;
  const uint32_t px = w.buffer(r.type), py = w.buffer(r.type), pz = w.buffer(r.result);
  const uint32_t zero = w.constant(i32, 0), n = w.add(Op::shape, i32, px, 0);
  w.operands({zero, n});
  w.add(Op::parallel, i32, 1, 0);
  const uint32_t i = w.add(Op::axis, i32, 0);
  if (view::has(r.op, view::Atomic)) {  // of the elements of x; z receives the old ones
    const uint32_t y = w.add(Op::load, r.type, py, i);
    w.add(Op::store, Type::none, pz, i, w.add(r.op, r.type, px, i, y));
  } else {
    const uint32_t x = w.add(Op::load, r.type, px, i), y = w.add(Op::load, r.type, py, i);
    w.add(Op::store, Type::none, pz, i, w.add(r.op, r.result, x, is_one_operand(r) ? 0 : y));
  }
  w.add(Op::end);
  return w.bytes();
}

double real(Type t, uint64_t w) {
  float f;
  double d;
  std::memcpy(&f, &w, sizeof f), std::memcpy(&d, &w, sizeof d);
  return t == f32 ? double(f) : d;
}

std::string wrong(const Row &r, uint64_t found) {
  const uint64_t want = bits_of(r.result, r.want);
  if (r.result == f32 || r.result == f64) {
    const double w = real(r.result, want), f = real(r.result, found);
    if (std::isnan(w) && std::isnan(f)) return {};
    if (view::has(r.op, view::Inexact) && std::fabs(f - w) <= std::fabs(w) * (r.result == f32 ? 3e-7 : 1e-15))
      return {};
  }
  if (found == want) return {};
  return std::string(view::info(r.op).name) + "." + std::string(view::info(r.type).name) + " of " +
         std::to_string(r.x.i) + "|" + std::to_string(r.x.f) + ", " + std::to_string(r.y.i) + "|" +
         std::to_string(r.y.f) + ": expected bits " + std::to_string(want) + ", found " + std::to_string(found);
}

TEST(CpuArithmetic, SerialCode) {
  Cpu cpu;
  std::vector<const Row *> rows;
  std::vector<std::string> units;
  for (const Row &r : arithmetic_rows)
    if (!view::has(r.op, view::Atomic)) rows.push_back(&r), units.push_back(serial_unit(r));
  const std::string bytes = cpu.artifact(units, precise);
  for (size_t k = 0; k < rows.size(); k++) {
    cpu.run(cpu.entry_of(bytes, "task" + std::to_string(k)),
            {bits_of(rows[k]->type, rows[k]->x), bits_of(rows[k]->type, rows[k]->y)}, 1);
    EXPECT_EQ(wrong(*rows[k], cpu.results[0]), "");
  }
}

std::vector<char> filled(Type t, Num n) {
  const uint32_t bytes = view::info(t).bytes;
  const uint64_t w = bits_of(t, n);
  std::vector<char> v(size_t(lanes) * bytes);
  for (int64_t i = 0; i < lanes; i++) std::memcpy(&v[size_t(i) * bytes], &w, bytes);
  return v;
}

TEST(CpuArithmetic, ParallelLoops) {
  Cpu cpu;
  std::vector<std::string> units;
  for (const Row &r : arithmetic_rows) units.push_back(parallel_unit(r));
  const std::string bytes = cpu.artifact(units, precise);
  size_t k = 0;
  for (const Row &r : arithmetic_rows) {
    auto x = filled(r.type, r.x), y = filled(r.type, r.y), z = filled(r.result, Num(0));
    cpu.run(cpu.entry_of(bytes, "task" + std::to_string(k++)),
            {word(x.data()), lanes, word(y.data()), lanes, word(z.data()), lanes}, lanes);
    const bool atomic = view::has(r.op, view::Atomic);
    for (int64_t i = 0; i < lanes; i++) {
      const uint32_t size = view::info(r.result).bytes;
      uint64_t found = 0, old = 0;
      std::memcpy(&found, (atomic ? x : z).data() + i * size, size);
      std::memcpy(&old, z.data() + i * size, size);
      ASSERT_EQ(wrong(r, found), "") << "element " << i;
      if (atomic) { ASSERT_EQ(old, bits_of(r.type, r.x)) << view::info(r.op).name << ": the old element"; }
    }
  }
}

}  // namespace
}  // namespace qd::test
