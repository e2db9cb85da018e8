// equality_test.cpp: kernels whose split would be wrong if anything were recomputed, hoisted or assumed apart
// (spec/caching.md 4), run on the reference plugin as a whole and per offload, with distinct and with aliased arrays.
// Expectations are computed by hand here, statement by statement in source order.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/api/core.hpp"
#include "core/ir/ir.hpp"

using namespace qd;

namespace {

class Equality : public testing::TestWithParam<int> {
 protected:
  std::shared_ptr<Context> context() {
    ContextConfig c;
    c.archs = {"reference"};
    c.plugin_dir = QD_PLUGIN_DIR;
    c.offline_cache = true;
    c.cache_root = testing::TempDir() + "qd_equality_cache";
    c.per_offload = GetParam();
    c.options["fast_math"] = "0";
    return Context::open(c);
  }
  using Floats = std::vector<float>;

  static uint64_t word(const std::vector<float> &v) { return uint64_t(reinterpret_cast<uintptr_t>(v.data())); }
  // Runs the kernel on arrays of rank 1, in order of its parameters, and a last scalar n.
  void run(const char *text, std::vector<Floats *> arrays, int64_t n) {
    auto c = context();
    const auto e = c->compile(ir::parse(text));
    std::vector<uint64_t> words(QD_ARG_FIRST);
    for (Floats *a : arrays) words.push_back(word(*a)), words.push_back(a->size());
    words.push_back(uint64_t(n));
    ASSERT_EQ(words.size(), e->n_words());
    e->launch(words.data());
    c->sync();
    EXPECT_EQ(e->observations().constructs_total, GetParam() == 1 ? int(e->n_tasks()) : -1);
    std::memcpy(result_, e->result(), sizeof result_);
  }
  uint64_t result_[4] = {};
};

const char stale[] = R"(func @stale($x: buf f32 1, $y: buf f32 1, $n: i32) {
  %z = const.i32 0
  %two = const.i32 2
  %n = arg.i32 $n
  %old = load.f32 $x, %two
  operand %z, %n
  parallel.i32 1, 0 {
    %i = axis.i32 0
    %c = const.f32 7
    store $y, %i, %c
  }
  %new = load.f32 $x, %two
  operand %z, %n
  parallel.i32 1, 0 {
    %k = axis.i32 0
    %d = sub.f32 %new, %old
    %e = load.f32 $x, %k
    %s = add.f32 %e, %d
    store $x, %k, %s
  }
  output 0, %old
})";

const char total[] = R"(func @total($x: buf f32 1, $y: buf f32 1, $n: i32) {
  %z = const.i32 0
  %n = arg.i32 $n
  %zero = const.f32 0
  %t = var.f32 %zero
  operand %z, %n
  parallel.i32 1, 0 {
    %i = axis.i32 0
    %v = load.f32 $x, %i
    %g = get.f32 %t
    %s = add.f32 %g, %v
    set %t, %s
  }
  %m = get.f32 %t
  operand %z, %n
  parallel.i32 1, 0 {
    %k = axis.i32 0
    %w = load.f32 $x, %k
    %q = fdiv.f32 %w, %m
    store $y, %k, %q
    %h = get.f32 %t
    %u = add.f32 %h, %q
    set %t, %u
  }
  %r = get.f32 %t
  output 0, %r
  output 1, %m
})";

const char gradient[] = R"(func @gradient($x: buf f32 1, $g: buf f32 1, $n: i32) {
  %z = const.i32 0
  %one = const.i32 1
  %n = arg.i32 $n
  %first = load.f32 $g, %z
  operand %z, %n
  parallel.i32 1, 0 {
    %i = axis.i32 0
    %v = load.f32 $x, %i
    %a = atomic_add.f32 $g, %i, %v
  }
  %second = load.f32 $g, %z
  operand %z, %n
  parallel.i32 1, 0 {
    %k = axis.i32 0
    %d = sub.f32 %second, %first
    %b = atomic_add.f32 $g, %k, %d
  }
})";

const char branchy[] = R"(func @branchy($x: buf f32 1, $y: buf f32 1, $n: i32) {
  %z = const.i32 0
  %three = const.i32 3
  %n = arg.i32 $n
  %c = lt.b1 %three, %n
  %one = const.f32 1
  %five = const.f32 5
  %a = var.f32 %one
  when %c {
    %e = load.f32 $x, %z
    set %a, %e
  } other {
    set %a, %five
  }
  operand %z, %n
  parallel.i32 1, 0 {
    %i = axis.i32 0
    %v = get.f32 %a
    store $x, %i, %v
  }
  %w = get.f32 %a
  %t = add.f32 %w, %one
  set %a, %t
  operand %z, %n
  parallel.i32 1, 0 {
    %k = axis.i32 0
    %u = get.f32 %a
    store $y, %k, %u
  }
})";

}  // namespace

TEST_P(Equality, SnapshotOfAnElementThatALoopOverwrites) {
  Floats x{1, 2, 3, 4}, y(4);
  run(stale, {&x, &y}, 4);
  EXPECT_EQ(x, (Floats{1, 2, 3, 4})) << "nothing changed between the two reads";
  EXPECT_EQ(y, Floats(4, 7));
  Floats both{1, 2, 3, 4};
  run(stale, {&both, &both}, 4);
  EXPECT_EQ(both, Floats(4, 7 + (7 - 3))) << "the first read came before the loop, the second after";
  float old;
  std::memcpy(&old, result_, sizeof old);
  EXPECT_EQ(old, 3);
}

TEST_P(Equality, RunningTotal) {
  Floats x{1, 2, 4, 1}, y(4);
  run(total, {&x, &y}, 4);
  EXPECT_EQ(y, (Floats{0.125, 0.25, 0.5, 0.125}));
  float r, m;
  std::memcpy(&r, &result_[0], sizeof r);
  std::memcpy(&m, &result_[1], sizeof m);
  EXPECT_EQ(m, 8) << "the value between the loops";
  EXPECT_EQ(r, 9) << "the value behind them";
}

TEST_P(Equality, GradientSnapshot) {
  Floats x{1, 2, 3}, g{10, 20, 30};
  run(gradient, {&x, &g}, 3);
  EXPECT_EQ(g, (Floats{12, 23, 34}));
  Floats both{1, 2, 3};
  run(gradient, {&both, &both}, 3);
  EXPECT_EQ(both, (Floats{3, 5, 7})) << "doubled, then 2 - 1 added";
}

TEST_P(Equality, VariableAssignedUnderACondition) {
  Floats x{9, 2, 3, 4}, y(4);
  run(branchy, {&x, &y}, 4);
  EXPECT_EQ(x, Floats(4, 9));
  EXPECT_EQ(y, Floats(4, 10));
  run(branchy, {&x, &y}, 2);
  EXPECT_EQ(x, (Floats{5, 5, 9, 9}));
  EXPECT_EQ(y, (Floats{6, 6, 10, 10}));
}

TEST_P(Equality, KernelsOutliveTheirContext) {
  auto c = context();
  const auto e = c->compile(ir::parse(stale));
  c->close();
  std::vector<uint64_t> words(e->n_words());
  EXPECT_THROW(e->launch(words.data()), Error);
}

INSTANTIATE_TEST_SUITE_P(Modes, Equality, testing::Values(0, 1),
                         [](const auto &info) { return info.param ? "PerOffload" : "WholeKernel"; });
