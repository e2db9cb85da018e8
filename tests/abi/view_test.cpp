// view_test.cpp: what ir_view.hpp gives for good units, and that it refuses each kind of bad one with a message that says where.
#include <gtest/gtest.h>

#include <functional>

#include "qd/ir_view.hpp"
#include "tests/abi/sample_units.hpp"

namespace qd::test {
namespace {

constexpr Type none = Type::none, b1 = Type::b1, i8 = Type::i8, i32 = Type::i32, i64 = Type::i64, f32 = Type::f32, f64 = Type::f64;

std::string fault_of(const std::string &bytes, view::ReadOptions options = {}) {
  view::View u;
  view::Fault fault;
  return u.read(bytes.data(), bytes.size(), fault, options) ? "" : fault.message;
}

TEST(View, GivesWhatCodeGeneratorsAsk) {
  const std::string bytes = sample_task().bytes();
  view::View u;
  view::Fault fault;
  ASSERT_TRUE(u.read(bytes.data(), bytes.size(), fault)) << fault.message;
  EXPECT_EQ(u.n_params(), 3u);
  EXPECT_EQ(u.param_word(0), 4u);
  EXPECT_EQ(u.param_word(1), 7u);
  EXPECT_EQ(u.param_word(2), 8u);
  EXPECT_EQ(u.arg_words(), 9u);
  EXPECT_FALSE(u.recursive());
  EXPECT_TRUE(u.uses(Op::atomic_cas));
  EXPECT_FALSE(u.uses(Op::sin));
  EXPECT_TRUE(u.uses(Type::f32));
  EXPECT_FALSE(u.uses(Type::f64));
  ASSERT_TRUE(u.parallel());
  const view::Parallel &p = *u.parallel();
  EXPECT_EQ(p.axes, 2u);
  EXPECT_EQ(p.block, 64u);
  EXPECT_EQ(p.end, u.entry().count - 1);
  ASSERT_EQ(p.bounds.count, 4u);
  EXPECT_EQ(p.bounds[1], 1u);
  EXPECT_EQ(p.bounds[3], 2u);
  EXPECT_TRUE(u.bounds_are_pure(p));
  const view::Function &f = u.function(1);
  EXPECT_EQ(f.arg_types[1], f32);
  EXPECT_EQ(f.result_types[0], f32);
  const view::Function &e = u.entry();
  for (uint32_t i = 0; i < e.count; i++) {
    const QdInst &r = e.code[i];
    if (view::op_of(r) == Op::when) {
      const uint32_t other = e.match[i], end = e.match[other];
      EXPECT_EQ(view::op_of(e.code[other]), Op::other);
      EXPECT_EQ(view::op_of(e.code[end]), Op::end);
      EXPECT_EQ(e.match[end], other);
    }
    if (view::op_of(r) == Op::leave) {
      EXPECT_EQ(view::op_of(e.code[e.match[i]]), r.a == 1 ? Op::block : Op::repeat);
    }
    if (view::op_of(r) == Op::report) {
      EXPECT_EQ(u.operands_before(e, i).count, 4u);
    }
  }
}

TEST(View, ReadsUnalignedBytes) {
  const std::string bytes = sample_serial().bytes();
  std::string shifted(1, 'x');
  for (int k = 0; k < 8; k++) {
    shifted.insert(0, 1, 'x');
    const std::string all = shifted + bytes;
    view::View u;
    view::Fault fault;
    ASSERT_TRUE(u.read(all.data() + shifted.size(), bytes.size(), fault)) << fault.message;
    EXPECT_EQ(u.entry().count, sample_serial().funcs[0].code.size());
  }
}

TEST(View, BoundsFromMemoryAreNotPure) {
  UnitWriter w;
  const uint32_t s = w.buffer(i32, 0, QD_ALIAS_SCRATCH), zero = w.constant(i32, 0), n = w.add(Op::load, i32, s, zero);
  const uint32_t hi = w.add(Op::add, i32, n, n);
  w.operands({zero, hi});
  w.add(Op::parallel, i32, 1);
  w.add(Op::end);
  const std::string bytes = w.bytes();
  view::View u;
  view::Fault fault;
  ASSERT_TRUE(u.read(bytes.data(), bytes.size(), fault)) << fault.message;
  EXPECT_FALSE(u.bounds_are_pure(*u.parallel()));
}

TEST(View, NewerUnitsAskForAnUpgrade) {
  std::string bytes = sample_serial().bytes();
  bytes[6] = 1;  // minor
  view::View u;
  view::Fault fault;
  EXPECT_FALSE(u.read(bytes.data(), bytes.size(), fault));
  EXPECT_EQ(fault.status, QDB_E_IR_VERSION);
  EXPECT_EQ(fault.message, "unit: format 1.1, but this plugin reads 1.0 to 1.0: upgrade the plugin");
}

TEST(View, EveryTruncationIsRefused) {
  const std::string bytes = sample_task().bytes();
  for (size_t n = 0; n < bytes.size(); n++) EXPECT_NE(fault_of(bytes.substr(0, n)), "") << n;
  EXPECT_NE(fault_of(bytes + std::string(8, 0)), "");
}

TEST(View, RecursionIsSeenAndRefusedOnRequest) {
  UnitWriter w;
  const uint32_t f = w.function(0, 0), g = w.function(0, 0);
  w.add(Op::call, none, f);
  w.add(Op::ret);
  w.select(f);
  w.add(Op::call, none, g);
  w.add(Op::ret);
  const std::string bytes = w.bytes();
  view::View u;
  view::Fault fault;
  ASSERT_TRUE(u.read(bytes.data(), bytes.size(), fault)) << fault.message;
  EXPECT_TRUE(u.recursive());
  view::ReadOptions strict;
  strict.allow_recursion = false;
  EXPECT_FALSE(u.read(bytes.data(), bytes.size(), fault, strict));
  EXPECT_EQ(fault.status, QDB_E_UNSUPPORTED);
}

TEST(View, DeepNestingIsRefusedNotFollowed) {
  UnitWriter w;
  for (int i = 0; i < 5000; i++) w.add(Op::block);
  for (int i = 0; i < 5000; i++) w.add(Op::end);
  EXPECT_NE(fault_of(w.bytes()).find("more than 4096 regions"), std::string::npos);
}

TEST(View, KernelsMayHoldManyParallels) {
  UnitWriter w;
  const uint32_t zero = w.constant(i32, 0), n = w.constant(i32, 4), s = w.buffer(i32, 0, QD_ALIAS_SCRATCH);
  for (int k = 0; k < 2; k++) {
    w.operands({zero, n});
    w.add(Op::parallel, i32, 1);
    w.add(Op::end);
    w.add(Op::store, none, s, zero, n);
  }
  view::ReadOptions kernel;
  kernel.task = false;
  EXPECT_EQ(fault_of(w.bytes(), kernel), "");
  EXPECT_NE(fault_of(w.bytes()).find("a second `parallel` in one task"), std::string::npos);
}

struct Bad {
  const char *what;  // part of the message
  std::function<void(UnitWriter &)> make;
};

// Parameters of every case: 0 scalar i32, 1 buffer f32 of rank 1. Record 0 is const i32, record 1 const f32, record 2 const b1.
const Bad bad_units[] = {
    {"unknown operation 999", [](UnitWriter &w) { w.add(Op(999)); }},
    {"unknown type 77", [](UnitWriter &w) { w.add(Op::add, Type(77), 0, 0); }},
    {"field aux is 1", [](UnitWriter &w) { w.funcs[0].code[w.add(Op::add, i32, 0, 0)].aux = 1; }},
    {"operand c is not used by this operation", [](UnitWriter &w) { w.add(Op::add, i32, 0, 0, 5); }},
    {"record 3 (add): operand b is %3, which is not before this record", [](UnitWriter &w) { w.add(Op::add, i32, 0, 3); }},
    {"operand b has type f32, expected i32", [](UnitWriter &w) { w.add(Op::add, i32, 0, 1); }},
    {"has type i64, expected i32", [](UnitWriter &w) { w.add(Op::add, i64, 0, 0); }},
    {"operand a has type f32, which this operation does not take", [](UnitWriter &w) { w.add(Op::and_, f32, 1, 1); }},
    {"operand a has type b1, which this operation does not take", [](UnitWriter &w) { w.add(Op::add, b1, 2, 2); }},
    {"has type i32, expected b1", [](UnitWriter &w) { w.add(Op::lt, i32, 0, 0); }},
    {"needs a type", [](UnitWriter &w) { w.add(Op::cast, none, 0); }},
    {"the two types differ in size", [](UnitWriter &w) { w.add(Op::bitcast, i64, 0); }},
    {"b1 has no bits to reinterpret", [](UnitWriter &w) { w.add(Op::bitcast, i8, 2); }},
    {"b1 has no bits to reinterpret", [](UnitWriter &w) { w.add(Op::bitcast, b1, w.constant(i8, 2)); }},
    {"has bits outside its type", [](UnitWriter &w) { w.constant(i8, 256); }},
    {"has bits outside its type", [](UnitWriter &w) { w.constant(b1, 2); }},
    {"has bits outside its type", [](UnitWriter &w) { w.constant(i32, ~uint64_t(0)); }},
    {"has type i64, expected i32", [](UnitWriter &w) { w.add(Op::frexp_exp, i64, 1); }},
    {"operand a has type i32, expected b1", [](UnitWriter &w) { w.add(Op::select, i32, 0, 0, 0); }},
    {"parameter 7 of 2", [](UnitWriter &w) { w.add(Op::arg, i32, 7); }},
    {"parameter 1 must be a scalar", [](UnitWriter &w) { w.add(Op::arg, f32, 1); }},
    {"has type i64, expected i32", [](UnitWriter &w) { w.add(Op::arg, i64, 0); }},
    {"parameter 0 must be a buffer", [](UnitWriter &w) { w.add(Op::load, i32, 0, 0); }},
    {"axis 1, expected less than 1", [](UnitWriter &w) { w.add(Op::shape, i32, 1, 1); }},
    {"has type f32, expected i32 or i64", [](UnitWriter &w) { w.add(Op::shape, f32, 1, 0); }},
    {"the index has type f32", [](UnitWriter &w) { w.add(Op::load, f32, 1, 1); }},
    {"has type i32, but the buffer holds f32", [](UnitWriter &w) { w.add(Op::load, i32, 1, 0); }},
    {"operand c has type i32, but the buffer holds f32", [](UnitWriter &w) { w.add(Op::store, none, 1, 0, 0); }},
    {"does not work on elements of type f32", [](UnitWriter &w) { w.add(Op::atomic_and, f32, 1, 0, 1); }},
    {"takes 1 `operand` values, found 0", [](UnitWriter &w) { w.add(Op::atomic_cas, i8, w.buffer(i8), 0, w.constant(i8, 1)); }},
    {"a record (var) that holds no value", [](UnitWriter &w) { const uint32_t v = w.add(Op::var, i32, 0); w.add(Op::add, i32, v, v); }},
    {"expected `var`", [](UnitWriter &w) { w.add(Op::get, i32, 0); }},
    {"expected `array`", [](UnitWriter &w) { w.add(Op::array_get, i32, 0, 0); }},
    {"has type f32, expected i32", [](UnitWriter &w) { w.add(Op::set, none, w.add(Op::var, i32, 0), 1); }},
    {"number of elements", [](UnitWriter &w) { w.add(Op::array, i32, 1u << 21); }},
    {"the index has type f32", [](UnitWriter &w) { w.add(Op::array_set, none, w.add(Op::array, f32, 4), 1, 1); }},
    {"whose region is closed", [](UnitWriter &w) { w.add(Op::block); const uint32_t x = w.add(Op::neg, i32, 0); w.add(Op::end); w.add(Op::neg, i32, x); }},
    {"whose region is closed", [](UnitWriter &w) { w.add(Op::when, none, 2); const uint32_t x = w.add(Op::neg, i32, 0); w.add(Op::other); w.add(Op::neg, i32, x); w.add(Op::end); }},
    {"whose region is closed", [](UnitWriter &w) { const uint32_t i = w.add(Op::loop, i32, 0, 0); w.add(Op::end); w.add(Op::neg, i32, i); }},
    {"whose region is closed", [](UnitWriter &w) { w.add(Op::block); const uint32_t v = w.add(Op::var, i32, 0); w.add(Op::end); w.add(Op::get, i32, v); }},
    {"this region is never closed", [](UnitWriter &w) { w.add(Op::block); }},
    {"closes no region", [](UnitWriter &w) { w.add(Op::end); }},
    {"is the alternative of `block`", [](UnitWriter &w) { w.add(Op::block); w.add(Op::other); w.add(Op::end); }},
    {"is the alternative of `other`", [](UnitWriter &w) { w.add(Op::when, none, 2); w.add(Op::other); w.add(Op::other); w.add(Op::end); }},
    {"label 1, expected less than 1", [](UnitWriter &w) { w.add(Op::block); w.add(Op::when, none, 2); w.add(Op::leave, none, 1); w.add(Op::end); w.add(Op::end); }},
    {"label 0, expected less than 0", [](UnitWriter &w) { w.add(Op::leave, none, 0); }},
    {"stands outside a `parallel`", [](UnitWriter &w) { w.add(Op::axis, i32, 0); }},
    {"axis 1, expected less than 1", [](UnitWriter &w) { w.operands({0, 0}); w.add(Op::parallel, i32, 1); w.add(Op::axis, i32, 1); w.add(Op::end); }},
    {"has type i64, expected i32", [](UnitWriter &w) { w.operands({0, 0}); w.add(Op::parallel, i32, 1); w.add(Op::axis, i64, 0); w.add(Op::end); }},
    {"expected depth 0 of the entry", [](UnitWriter &w) { w.add(Op::block); w.operands({0, 0}); w.add(Op::parallel, i32, 1); w.add(Op::end); w.add(Op::end); }},
    {"takes 4 `operand` values, found 2", [](UnitWriter &w) { w.operands({0, 0}); w.add(Op::parallel, i32, 2); w.add(Op::end); }},
    {"bound 1 is not of the type of the loop", [](UnitWriter &w) { w.operands({0, 1}); w.add(Op::parallel, i32, 1); w.add(Op::end); }},
    {"has 0 axes", [](UnitWriter &w) { w.add(Op::parallel, i32, 0); w.add(Op::end); }},
    {"has 17 axes", [](UnitWriter &w) { w.add(Op::parallel, i32, 17); w.add(Op::end); }},
    {"has type i8, expected i32 or i64", [](UnitWriter &w) { const uint32_t k = w.constant(i8, 0); w.operands({k, k}); w.add(Op::parallel, i8, 1); w.add(Op::end); }},
    {"nothing with an effect beside it", [](UnitWriter &w) { w.add(Op::store, none, 1, 0, 1); w.operands({0, 0}); w.add(Op::parallel, i32, 1); w.add(Op::end); }},
    {"that holds no value", [](UnitWriter &w) { w.operands({0, 0}); const uint32_t p = w.add(Op::parallel, i32, 1); w.add(Op::neg, i32, p); w.add(Op::end); }},
    {"`operand` records in front of an operation that takes none", [](UnitWriter &w) { w.operands({0}); w.add(Op::neg, i32, 0); }},
    {"belong to no record", [](UnitWriter &w) { w.operands({0}); }},
    {"holds no operand", [](UnitWriter &w) { w.add(Op::operand, none, QD_NO_VALUE, QD_NO_VALUE, QD_NO_VALUE); w.add(Op::report); }},
    {"operand c is used behind an unused field", [](UnitWriter &w) { w.add(Op::operand, none, 0, QD_NO_VALUE, 0); w.add(Op::report); }},
    {"the `operand` record before it has unused fields", [](UnitWriter &w) { w.operands({0}); w.operands({0}); w.add(Op::report); }},
    {"calls function 0 of 1", [](UnitWriter &w) { w.add(Op::call, none, 0); }},
    {"calls function 5 of 1", [](UnitWriter &w) { w.add(Op::call, none, 5); }},
    {"takes 1 `operand` values, found 0", [](UnitWriter &w) { w.function(1, 0); w.add(Op::ret); w.select(0); w.add(Op::call, none, 1); }},
    {"argument 0 has type f32, expected i64", [](UnitWriter &w) { w.function(1, 0); w.add(Op::farg, i64, 0); w.add(Op::ret); w.select(0); w.operands({1}); w.add(Op::call, none, 1); }},
    {"has type i64, expected f64", [](UnitWriter &w) { w.function(1, 0); w.add(Op::farg, i64, 0); w.add(Op::farg, f64, 0); w.add(Op::ret); }},
    {"argument 1, expected less than 1", [](UnitWriter &w) { w.function(1, 0); w.add(Op::farg, i64, 1); w.add(Op::ret); }},
    {"argument 0, expected less than 0", [](UnitWriter &w) { w.add(Op::farg, i64, 0); }},
    {"expected a `call`", [](UnitWriter &w) { w.add(Op::result, i32, 0, 0); }},
    {"result 0, expected less than 0", [](UnitWriter &w) { w.function(0, 0); w.add(Op::ret); w.select(0); w.add(Op::result, i32, w.add(Op::call, none, 1), 0); }},
    {"has type f32, expected i64", [](UnitWriter &w) { w.function(0, 1); const uint32_t k = w.constant(i64, 1); w.operands({k}); w.add(Op::ret); w.select(0); w.add(Op::result, f32, w.add(Op::call, none, 1), 0); }},
    {"takes 1 `operand` values, found 0", [](UnitWriter &w) { w.function(0, 1); w.add(Op::ret); }},
    {"the last record of a function must be `ret`", [](UnitWriter &w) { w.function(0, 0); w.constant(i32, 0); }},
    {"the last record of a function must be `ret`", [](UnitWriter &w) { w.function(0, 0); }},
    {"must be the last record of a function", [](UnitWriter &w) { w.add(Op::ret); }},
    {"must be the last record of a function", [](UnitWriter &w) { w.function(0, 0); w.add(Op::ret); w.add(Op::ret); }},
    {"the entry has neither arguments nor results", [](UnitWriter &w) { w.funcs[0].n_args = 1; }},
    {"more results than its records can give", [](UnitWriter &w) { w.function(0, 40000); w.add(Op::ret); }},
    {"slot 512, expected less than 512", [](UnitWriter &w) { w.add(Op::output, none, 512, 0); }},
    {"failure flag 2", [](UnitWriter &w) { w.add(Op::report, none, 0, 2); }},
    {"unknown kind 9", [](UnitWriter &w) { w.params[0].kind = 9; }},
    {"unknown type 0", [](UnitWriter &w) { w.params[0].type = 0; }},
    {"a scalar with a rank", [](UnitWriter &w) { w.params[0].rank = 1; }},
    {"unknown alias class 4", [](UnitWriter &w) { w.params[1].alias = 4; }},
    {"a shared buffer of 0 elements and rank 1", [](UnitWriter &w) { w.params[1].alias = QD_ALIAS_SHARED; }},
    {"a shared buffer of 2000000 elements", [](UnitWriter &w) { w.params[1] = {QD_PARAM_BUFFER, uint8_t(f32), 0, QD_ALIAS_SHARED, 2000000}; }},
    {"rank 200 is above", [](UnitWriter &w) { w.params[1].rank = 200; }},
    {"only scratch and shared buffers have a count", [](UnitWriter &w) { w.params[1].count = 4; }},
};

TEST(View, EachFaultHasItsMessage) {
  for (const Bad &bad : bad_units) {
    UnitWriter w;
    w.scalar(i32), w.buffer(f32);
    w.constant(i32, 1), w.constant(f32, 0), w.constant(b1, 1);
    ASSERT_EQ(fault_of(w.bytes()), "");
    bad.make(w);
    const std::string message = fault_of(w.bytes());
    EXPECT_NE(message.find(bad.what), std::string::npos) << "expected \"" << bad.what << "\", found \"" << message << "\"";
  }
}

}  // namespace
}  // namespace qd::test
