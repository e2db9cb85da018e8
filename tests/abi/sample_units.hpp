// sample_units.hpp: well-formed units that together use every region, operand rule and section: seeds for the verifier's tests.
#pragma once
#include <vector>

#include "tests/support/unit_writer.hpp"

namespace qd::test {

// A task over a grid, with a call, a local array, an atomic and a report inside.
inline UnitWriter sample_task() {
  constexpr Type none = Type::none, b1 = Type::b1, i32 = Type::i32, f32 = Type::f32;
  UnitWriter w;
  const uint32_t buf = w.buffer(f32, 2), n = w.scalar(i32), count = w.buffer(i32, 0, QD_ALIAS_SCRATCH);
  const uint32_t f = w.function(2, 1);
  const uint32_t x = w.add(Op::farg, f32, 0), y = w.add(Op::farg, f32, 1), sum = w.add(Op::add, f32, x, y);
  w.operands({sum});
  w.add(Op::ret);
  w.select(0);
  const uint32_t zero = w.constant(i32, 0), hi = w.add(Op::arg, i32, n), rows = w.add(Op::shape, i32, buf, 0);
  w.operands({zero, hi, zero, rows});
  w.add(Op::parallel, i32, 2, 64);
  const uint32_t i = w.add(Op::axis, i32, 0), j = w.add(Op::axis, i32, 1);
  const uint32_t v = w.add(Op::var, i32, i), a = w.add(Op::array, f32, 8);
  w.add(Op::block);
  const uint32_t k = w.add(Op::loop, i32, zero, j);
  const uint32_t value = w.add(Op::load, f32, buf, k);
  w.add(Op::array_set, none, a, zero, value);
  const uint32_t less = w.add(Op::lt, b1, k, hi);
  w.add(Op::when, none, less);
  w.operands({value, value});
  const uint32_t call = w.add(Op::call, none, f);
  w.add(Op::store, none, buf, k, w.add(Op::result, f32, call, 0));
  w.add(Op::leave, none, 1);
  w.add(Op::other);
  w.add(Op::set, none, v, k);
  w.operands({value, k, less, j});
  w.add(Op::report, none, 3, 1);
  w.add(Op::end);
  w.add(Op::end);
  w.add(Op::end);
  const uint32_t last = w.add(Op::get, i32, v);
  w.operands({zero});
  w.add(Op::atomic_cas, i32, count, zero, last);
  w.add(Op::repeat);
  w.add(Op::leave, none, 0);
  w.add(Op::end);
  w.add(Op::end);
  return w;
}

inline UnitWriter sample_serial() {
  UnitWriter w;
  const uint32_t p = w.scalar(Type::f64), x = w.add(Op::arg, Type::f64, p);
  const uint32_t y = w.add(Op::select, Type::f64, w.add(Op::lt, Type::b1, x, w.constant(Type::f64, 0)), w.add(Op::neg, Type::f64, x), x);
  w.add(Op::output, Type::none, 0, w.add(Op::sqrt, Type::f64, y));
  w.add(Op::output, Type::none, 1, w.add(Op::bitcast, Type::i64, y));
  w.add(Op::output, Type::none, 2, w.add(Op::frexp_exp, Type::i32, y));
  w.add(Op::output, Type::none, 3, w.add(Op::random, Type::f16));
  return w;
}

}  // namespace qd::test
