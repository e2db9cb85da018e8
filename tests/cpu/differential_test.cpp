// differential_test.cpp: every exact row of ops.def, in every type, on arrays of odd and random bits: the vectorised
// loop gives the bits of the reference interpreter, which is made of the meaning column itself.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "qd/fold.hpp"
#include "tests/cpu/harness.hpp"
#include "tests/support/unit_writer.hpp"

namespace qd::test {
namespace {

using view::info;
constexpr Type types[] = {Type::b1, Type::i8, Type::i16, Type::i32, Type::i64, Type::f16, Type::f32, Type::f64};
constexpr int64_t n = 331;

struct Form {
  Op op;
  Type type, result;
};

std::vector<Form> forms() {
  static const std::string_view meanings[] = {
#define OP(name, sig, cls, res, eff, flags, meaning, doc) #meaning,
#include "qd/ops.def"
  };
  std::vector<Form> out;
  for (uint32_t k = 0; k < view::n_ops; k++) {
    const Op op = Op(k);
    const auto &row = info(op);
    if (op == Op::select) {
      for (const Type t : types) out.push_back({op, t, t});
      continue;
    }
    if (meanings[k] == "NOVALUE" || row.effect != view::Effect::Pure || (row.flags & view::Inexact)) continue;
    for (const Type t : types)
      for (const Type r : types) {
        if (!view::in_class(row.operands, t)) continue;
        if (row.result == view::Result::Same ? r != t : row.result == view::Result::Bool ? r != Type::b1 : false)
          continue;
        if (op == Op::bitcast && (info(r).bytes != info(t).bytes || r == Type::b1 || t == Type::b1)) continue;
        if (op == Op::frexp_exp && r != Type::i32) continue;
        out.push_back({op, t, r});
      }
  }
  return out;
}

std::string unit_of(const Form &f) {
  UnitWriter w;
  const uint32_t px = w.buffer(f.type), py = w.buffer(f.type), pz = w.buffer(f.result);
  const uint32_t zero = w.constant(Type::i32, 0), count = w.add(Op::shape, Type::i32, px, 0);
  w.operands({zero, count});
  w.add(Op::parallel, Type::i32, 1, 0);
  const uint32_t i = w.add(Op::axis, Type::i32, 0), x = w.add(Op::load, f.type, px, i),
                 y = w.add(Op::load, f.type, py, i);
  uint32_t v = 0;
  if (f.op == Op::select) v = w.add(f.op, f.result, w.add(Op::eq, Type::b1, x, y), x, y);
  else v = w.add(f.op, f.result, x, info(f.op).sig.size() == 2 ? y : 0);
  w.add(Op::store, Type::none, pz, i, v);
  w.add(Op::end);
  return w.bytes();
}

bool is_nan(Type t, uint64_t w) {
  const uint64_t top = t == Type::f16 ? 0x7c00 : t == Type::f32 ? 0x7f800000 : 0x7ff0000000000000;
  const uint64_t sign = t == Type::f16 ? 0x8000 : t == Type::f32 ? 0x80000000 : 1ull << 63;
  return view::is_float(t) && (w & ~sign) > top;
}

// Small numbers, limits, powers of two and their neighbours, any bits.
uint64_t any_bits(Type t, std::mt19937_64 &rng) {
  const uint32_t width = info(t).bytes * 8;
  if (t == Type::b1) return rng() & 1;
  const uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  if (view::is_float(t) && rng() % 3) {
    const double specials[] = {0.0,   -0.0,    1.0, -1.0, 0.5,      2147483648.0, -2147483648.0,
                               1e300, 65504.0, 3.5, -2.5, INFINITY, -INFINITY,    NAN};
    const double d = rng() % 2 ? specials[rng() % 14] : double(int64_t(rng())) * std::exp2(-double(rng() % 70));
    const float s = float(d);
    if (t == Type::f64) return bits(d);
    if (t == Type::f32) return bits(s);
    return rng() & mask;
  }
  switch (rng() % 4) {
    case 0: return rng() % 8 & mask;
    case 1: return (0 - rng() % 8) & mask;
    case 2: return ((1ull << rng() % width) - rng() % 2) & mask;
    default: return rng() & mask;
  }
}

// No signalling NaN: libraries differ in what fmin makes of one.
uint64_t odd_bits(Type t, std::mt19937_64 &rng) {
  const uint64_t w = any_bits(t, rng);
  return is_nan(t, w) ? w | (t == Type::f16 ? 0x200 : t == Type::f32 ? 0x400000 : 1ull << 51) : w;
}

bool same(const Form &f, uint64_t a, uint64_t b) {
  if (a == b || (is_nan(f.result, a) && is_nan(f.result, b))) return true;
  const uint64_t sign = 1ull << (info(f.result).bytes * 8 - 1);
  return (f.op == Op::min || f.op == Op::max) && view::is_float(f.result) &&
         ((a | b) & ~sign) == 0;  // of two zeros either
}

uint64_t at(const std::vector<char> &v, Type t, int64_t i) {
  uint64_t w = 0;
  std::memcpy(&w, v.data() + i * info(t).bytes, info(t).bytes);
  return w;
}

void compare(const Options &options, bool floats) {
  Cpu cpu;
  Backend reference(QD_REFERENCE_PATH);
  std::vector<Form> all;
  std::vector<std::string> units;
  for (const Form &f : forms())
    if (floats || !(view::is_float(f.type) || view::is_float(f.result))) all.push_back(f), units.push_back(unit_of(f));
  const std::string bytes = cpu.artifact(units, options);
  QdbModule *module = nullptr;
  cpu.check(cpu.load_bytes(bytes, module));
  cpu.modules.push_back(module);
  std::mt19937_64 rng(11);
  for (size_t k = 0; k < all.size(); k++) {
    const Form &f = all[k];
    std::vector<char> x(size_t(n) * 8), y(size_t(n) * 8), want(size_t(n) * 8), found(size_t(n) * 8);
    for (int64_t i = 0; i < n; i++) {
      const uint64_t a = odd_bits(f.type, rng), b = rng() % 5 ? odd_bits(f.type, rng) : a;
      std::memcpy(x.data() + i * info(f.type).bytes, &a, info(f.type).bytes);
      std::memcpy(y.data() + i * info(f.type).bytes, &b, info(f.type).bytes);
    }
    QdbEntry *entry = nullptr;
    const std::string name = "task" + std::to_string(k);
    const QdbStr symbol = str(name);
    cpu.check(cpu.t->module_entry(module, &symbol, &entry, &cpu.err));
    cpu.run(entry, {word(x.data()), n, word(y.data()), n, word(found.data()), n}, n);
    reference.check(
        reference.launch(reference.load(units[k]), {word(x.data()), n, word(y.data()), n, word(want.data()), n}, 0, n));
    for (int64_t i = 0; i < n; i++)
      ASSERT_TRUE(same(f, at(want, f.result, i), at(found, f.result, i)))
          << info(f.op).name << "." << info(f.type).name << " -> " << info(f.result).name << " of " << std::hex
          << at(x, f.type, i) << ", " << at(y, f.type, i) << ": reference " << at(want, f.result, i) << ", cpu "
          << at(found, f.result, i);
  }
}

// By a scalar argument the quotient is a product with a reciprocal: exact for every divisor, next to whole quotients
// above all.
TEST(CpuDifferential, DivisionByALoopInvariant) {
  Cpu cpu;
  const Op ops[] = {Op::idiv, Op::irem, Op::udiv, Op::urem, Op::floordiv, Op::floormod};
  std::vector<std::string> units;
  for (const Op op : ops) {
    UnitWriter w;
    const uint32_t px = w.buffer(Type::i32), pz = w.buffer(Type::i32), py = w.scalar(Type::i32);
    const uint32_t zero = w.constant(Type::i32, 0), count = w.add(Op::shape, Type::i32, px, 0),
                   y = w.add(Op::arg, Type::i32, py);
    w.operands({zero, count});
    w.add(Op::parallel, Type::i32, 1, 0);
    const uint32_t i = w.add(Op::axis, Type::i32, 0), x = w.add(Op::load, Type::i32, px, i);
    w.add(Op::store, Type::none, pz, i, w.add(op, Type::i32, x, y));
    w.add(Op::end);
    units.push_back(w.bytes());
  }
  const std::string bytes = cpu.artifact(units);
  std::mt19937_64 rng(3);
  for (uint32_t k = 0; k < std::size(ops); k++) {
    QdbEntry *entry = cpu.entry_of(bytes, "task" + std::to_string(k));
    for (int round = 0; round < 400; round++) {
      const int32_t y = int32_t(round < 40 ? uint64_t(round) - 20 : odd_bits(Type::i32, rng));
      std::vector<int32_t> x(257), z(257);
      for (auto &v : x)
        v = rng() % 2 ? int32_t(odd_bits(Type::i32, rng))
                      : int32_t(uint32_t(y) * uint32_t(rng() % 5000) - uint32_t(rng() % 3) + 1);
      cpu.run(entry, {word(x.data()), 257, word(z.data()), 257, bits(y)}, 257);
      for (size_t i = 0; i < x.size(); i++) {
        const int32_t want[] = {fold::idiv(x[i], y), fold::irem(x[i], y),     fold::udiv(x[i], y),
                                fold::urem(x[i], y), fold::floordiv(x[i], y), fold::floormod(x[i], y)};
        ASSERT_EQ(z[i], want[k]) << info(ops[k]).name << " of " << x[i] << " and " << y;
      }
    }
  }
}

TEST(CpuDifferential, EveryExactRowHasTheReferencesBits) { compare(precise, true); }
TEST(CpuDifferential, QuickCodeToo) { compare({{{"fast_math", "0"}, {"opt_level", "0"}}}, true); }
TEST(CpuDifferential, FastMathChangesNoInteger) { compare({}, false); }

}  // namespace
}  // namespace qd::test
