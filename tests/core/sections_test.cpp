// sections_test.cpp: which loops of a kernel the plugin may run beside each other, and what loops are called.
#include <gtest/gtest.h>

#include "core/compile/compiler.hpp"
#include "core/ir/ir.hpp"
#include "tests/core/fake_backend.hpp"

using namespace qd;
using namespace qd::test;

namespace {

// A loop that stores to `to` and reads from `from`.
std::string loop(const std::string &to, const std::string &from, int k) {
  const std::string n = std::to_string(k);
  return "  operand %z, %e\n  parallel.i32 1, 0 {\n    %i" + n + " = axis.i32 0\n    %v" + n + " = load.f32 $" + from +
         ", %i" + n + "\n    store $" + to + ", %i" + n + ", %v" + n + "\n  }\n";
}

struct Loop {
  std::string to, from;
  uint32_t section;
};

struct Kernel {
  explicit Kernel(const std::vector<Loop> &loops, const std::string &more = {}) {
    std::string text =
        "func @k($a: field f32, $b: field f32, $x: buf f32 1, $y: buf f32 1) {\n  %z = const.i32 0\n  %e = const.i32 "
        "9\n";
    for (size_t k = 0; k < loops.size(); k++) text += loop(loops[k].to, loops[k].from, int(k));
    ir::Unit unit = ir::parse(text + more + "}\n");
    const auto &code = unit.code();
    for (uint32_t at = 0, next = 0; at < code.size() && next < loops.size(); at++) {
      if (code[at].op != ir::Op::parallel) continue;
      unit.debug.loops[at] = {"loop" + std::to_string(next), loops[next].section};
      next++;
    }
    compile::Compiler compiler(backend, cache::make_memory_store(1 << 20), std::make_shared<ThreadPool>(1), {});
    executable = compiler.compile(unit, &plan);
    stored = compiler.compile_plan(plan);
  }
  std::vector<uint32_t> sections(uint64_t x = 0x5000, uint64_t y = 0x6000, bool from_plan = false) {
    backend->launched.clear();
    uint64_t words[10] = {0, 0, 0, 0, 0x1000, 0x2000, x, 9, y, 9};
    (from_plan ? stored : executable)->launch(words);
    std::vector<uint32_t> out;
    for (const auto &l : backend->launched) out.push_back(QDB_LAUNCH_SECTION_OF(l.flags));
    return out;
  }
  std::shared_ptr<FakeBackend> backend = std::make_shared<FakeBackend>();
  std::string plan;
  std::shared_ptr<Executable> executable, stored;
};

using List = std::vector<uint32_t>;

TEST(Sections, ReachTheLaunchAndSurviveThePlan) {
  Kernel k({{"a", "a", 1}, {"b", "b", 2}, {"b", "a", 0}});
  EXPECT_EQ(k.sections(), (List{1, 2, 0}));
  EXPECT_EQ(k.sections(0x5000, 0x6000, true), (List{1, 2, 0}));
}

TEST(Sections, WhatSharesMemoryThatIsWrittenStaysInOrder) {
  EXPECT_EQ(Kernel({{"a", "a", 1}, {"a", "b", 2}}).sections(), (List{0, 0}));
  EXPECT_EQ(Kernel({{"a", "a", 1}, {"b", "a", 2}}).sections(), (List{0, 0}));
  EXPECT_EQ(Kernel({{"x", "a", 1}, {"b", "a", 2}}).sections(), (List{1, 2})) << "both only read a";
  EXPECT_EQ(Kernel({{"a", "a", 1}, {"a", "a", 1}, {"b", "b", 2}}).sections(), (List{1, 1, 2}));
  EXPECT_EQ(Kernel({{"a", "a", 1}, {"b", "b", 2}, {"x", "x", 0}, {"a", "a", 1}, {"b", "a", 2}}).sections(),
            (List{1, 2, 0, 0, 0}))
      << "each group by itself";
  EXPECT_EQ(Kernel({{"a", "a", 1}}).sections(), (List{0})) << "alone";
}

TEST(Sections, ArraysThatMayBeTheSameAreLookedAtByEachLaunch) {
  Kernel k({{"x", "x", 1}, {"y", "y", 2}});
  EXPECT_EQ(k.sections(), (List{1, 2}));
  EXPECT_EQ(k.sections(0x5000, 0x5000), (List{0, 0}));
  EXPECT_EQ(k.sections(), (List{1, 2}));
  Kernel reads({{"a", "x", 1}, {"b", "y", 2}});
  EXPECT_EQ(reads.sections(0x5000, 0x5000), (List{1, 2}));
}

TEST(Sections, SerialStatementsBetweenThemAreInOrderWithAll) {
  Kernel k({{"a", "a", 1}, {"b", "b", 2}}, "  %c = const.f32 3\n  store $x, %z, %c\n");
  EXPECT_EQ(k.sections(), (List{1, 2, 0}));
}

TEST(Sections, AreNoPartOfATask) {
  Kernel with({{"a", "a", 1}, {"b", "b", 2}}), without({{"a", "a", 0}, {"b", "b", 0}});
  EXPECT_EQ(with.sections(), (List{1, 2}));
  EXPECT_EQ(without.sections(), (List{0, 0}));
  for (size_t k = 0; k < 2; k++) EXPECT_EQ(with.backend->launched[k].symbol, without.backend->launched[k].symbol);
}

TEST(Names, OfLoopsArePartOfTheTasksName) {
  Kernel k({{"a", "a", 0}, {"b", "a", 0}});
  EXPECT_EQ(k.backend->names.size(), 2u);
  for (const auto &[symbol, name] : k.backend->names) EXPECT_TRUE(name == "k_0_loop0" || name == "k_1_loop1") << name;
}

}  // namespace
