// digest_test.cpp: the promise of the split (decisions 1): an edit of one construct changes the identity of that
// construct and of nothing else. A kernel of 16 loops with values carried from loop to loop is edited everywhere, and
// digests are compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/ir/ir.hpp"
#include "core/split/split.hpp"

using namespace qd;

namespace {

struct Loop {
  int constant;
  bool loads;  // reads a value of its own in front, which this loop and the next use
};

struct Shape {
  std::string name = "many";
  bool extra_param = false;
};

// Loop k adds what was loaded before it and before its predecessor; the last statement uses all that was loaded.
std::string text(const std::vector<Loop> &loops, const Shape &shape = {}) {
  std::string s = "func @" + shape.name + "(" + (shape.extra_param ? "$u: field f64, $w: i32, " : "") +
                  "$x: buf f32 1, $y: buf f32 1, $n: i32) {\n";
  s += "  %z = const.i32 0\n  %n = arg.i32 $n\n";
  std::string previous, all;
  int k = 0;
  for (const Loop &l : loops) {
    const std::string id = std::to_string(l.constant), at = std::to_string(k++);
    std::string own;
    if (l.loads) {
      s += "  %c" + id + " = const.i32 " + std::to_string(100 + l.constant) + "\n  %s" + id + " = load.f32 $x, %c" +
           id + "\n";
      own = "%s" + id;
    }
    s += "  operand %z, %n\n  parallel.i32 1, 0 {\n    %i" + at + " = axis.i32 0\n    %k" + at + " = const.f32 " + id +
         ".5\n";
    s += "    %l" + at + " = load.f32 $y, %i" + at + "\n    %a" + at + " = mul.f32 %l" + at + ", %k" + at + "\n";
    std::string value = "%a" + at;
    if (!previous.empty()) s += "    %b" + at + " = add.f32 " + value + ", " + previous + "\n", value = "%b" + at;
    if (!own.empty()) s += "    %d" + at + " = add.f32 " + own + ", " + value + "\n", value = "%d" + at;
    s += "    store $y, %i" + at + ", " + value + "\n  }\n";
    if (!own.empty()) {
      if (all.empty()) all = own;
      else s += "  %t" + at + " = add.f32 " + all + ", " + own + "\n", all = "%t" + at;
      previous = own;
    }
  }
  return s + "  store $x, %z, " + all + "\n}\n";
}

std::vector<Loop> sixteen() {
  std::vector<Loop> v;
  for (int i = 0; i < 16; ++i) v.push_back({10 + i, true});
  return v;
}

using Digests = std::multiset<std::string>;
Digests digests(const std::string &kernel) {
  Digests out;
  for (const auto &t : split::split(ir::parse(kernel)).tasks) out.insert(t.digest.hex());
  return out;
}

// How many of `now` are not in `before`.
size_t added(const Digests &before, const Digests &now) {
  Digests d;
  std::set_difference(now.begin(), now.end(), before.begin(), before.end(), std::inserter(d, d.end()));
  return d.size();
}

const Digests &original() {
  static const Digests d = digests(text(sixteen()));
  return d;
}

}  // namespace

TEST(Digests, KernelHasALoadAndALoopPerStep) { EXPECT_EQ(original().size(), 16u * 2 + 1); }

TEST(Digests, EditOfOneLoopChangesOneDigest) {
  for (size_t k = 0; k < 16; ++k) {
    std::string edited = text(sixteen());
    const std::string from = "%k" + std::to_string(k) + " = const.f32 ", to = from + "9";
    edited.replace(edited.find(from), from.size(), to);
    const Digests now = digests(edited);
    EXPECT_EQ(added(original(), now), 1u) << "loop " << k;
    EXPECT_EQ(added(now, original()), 1u) << "loop " << k;
  }
}

TEST(Digests, InsertedLoopAddsOneDigest) {
  for (size_t k = 1; k <= 16; ++k) {
    auto loops = sixteen();
    loops.insert(loops.begin() + ptrdiff_t(k), {77, false});
    const Digests now = digests(text(loops));
    EXPECT_EQ(added(original(), now), 1u) << "before loop " << k;
    EXPECT_EQ(added(now, original()), 0u) << "before loop " << k;
  }
}

TEST(Digests, DeletedLoopTakesOneDigestAway) {
  for (size_t k = 1; k <= 16; ++k) {
    auto loops = sixteen();
    loops.insert(loops.begin() + ptrdiff_t(k), {77, false});
    const Digests before = digests(text(loops));
    EXPECT_EQ(added(original(), before), 1u);
    loops.erase(loops.begin() + ptrdiff_t(k));
    EXPECT_EQ(digests(text(loops)), original());
  }
}

TEST(Digests, NamesAndUnrelatedParametersPlayNoPart) {
  EXPECT_EQ(digests(text(sixteen(), {"other_name", false})), original());
  EXPECT_EQ(digests(text(sixteen(), {"many", true})), original());
}

// A pure value of depth 0 that an earlier sibling happens to share must not show in the task that uses it.
TEST(Digests, SharingWithASiblingDoesNotShow) {
  const std::string head =
      "func @f($x: buf f32 1, $y: buf f32 1, $n: i32) {\n  %z = const.i32 0\n  %n = arg.i32 $n\n  %one = const.i32 1\n";
  const auto loop = [](const std::string &buffer, const std::string &k, const std::string &offset) {
    return "  operand %z, %n\n  parallel.i32 1, 0 {\n    %i" + k + " = axis.i32 0\n    %j" + k + " = add.i32 %i" + k +
           ", " + offset + "\n    %v" + k + " = load.f32 " + buffer + ", %j" + k + "\n    store $y, %i" + k + ", %v" +
           k + "\n  }\n";
  };
  const std::string m = "  %m = add.i32 %n, %one\n";
  const Digests alone = digests(head + m + loop("$x", "b", "%m") + "}\n");
  const Digests after = digests(head + m + loop("$y", "a", "%m") + loop("$x", "b", "%m") + "}\n");
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(after.size(), 2u);
  EXPECT_EQ(after.count(*alone.begin()), 1u);
}

// Two kernels with the same text that call functions of one signature with other bodies are not the same code.
TEST(Digests, BodiesOfFunctionsCount) {
  const auto kernel = [](const std::string &operation) {
    return "func @k($x: buf f32 1, $n: i32) {\n  %z = const.i32 0\n  %n = arg.i32 $n\n  operand %z, %n\n"
           "  parallel.i32 1, 0 {\n    %i = axis.i32 0\n    %v = load.f32 $x, %i\n    operand %v\n    %c = call 1\n"
           "    %r = result.f32 %c, 0\n    store $x, %i, %r\n  }\n}\nfunc @f(1 args, 1 results) {\n  %a = farg.f32 0\n"
           "  %b = " + operation + ".f32 %a, %a\n  operand %b\n  ret\n}\n";
  };
  EXPECT_NE(digests(kernel("add")), digests(kernel("mul")));
}

TEST(Digests, SplitIsTheSameEveryTime) { EXPECT_EQ(digests(text(sixteen())), original()); }
