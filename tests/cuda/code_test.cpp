// code_test.cpp: the PTX of small tasks: what must be in it and what must not.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "backends/cuda/early_launch.hpp"
#include "backends/cuda/target.hpp"
#include "tests/cuda/harness.hpp"
#include "tests/cuda/tasks.hpp"

namespace qd::test {
namespace {

TEST(CudaCode, text_is_for_the_gpu_and_no_newer_than_it_needs) {
  Cuda c;
  const std::string ptx = c.ptx_of(scale);
  EXPECT_NE(ptx.find(".version 7.8"), std::string::npos);
  EXPECT_NE(ptx.find(".target sm_90"), std::string::npos);
}

TEST(CudaCode, read_only_arrays_take_the_read_only_path) {
  const std::string copy = over_n("$x: field f32 1, $y: field f32 1", R"(
    %v = load.f32 $x, %i
    store $y, %i, %v
)");
  Cuda c;
  EXPECT_NE(c.ptx_of(copy).find("ld.global.nc"), std::string::npos);
  EXPECT_EQ(c.ptx_of(scale).find("ld.global.nc"), std::string::npos);
  std::string external = copy;  // arrays may overlap, and one is written
  for (size_t at; (at = external.find("field f32")) != std::string::npos;) external.replace(at, 9, "buf f32");
  EXPECT_EQ(c.ptx_of(external).find("ld.global.nc"), std::string::npos);
}

// Lines of the text that hold all of the words.
size_t lines_with(const std::string &ptx, std::initializer_list<const char *> words) {
  std::istringstream in(ptx);
  size_t n = 0;
  for (std::string line; std::getline(in, line);)
    n += std::all_of(words.begin(), words.end(), [&](const char *w) { return line.find(w) != std::string::npos; });
  return n;
}

TEST(CudaCode, a_float_sum_is_gathered_in_f64_and_in_the_order_of_the_blocks) {
  Cuda c;
  const std::string ptx = c.ptx_of(sum);
  EXPECT_GE(lines_with(ptx, {"shfl.sync.bfly"}), 20u);
  EXPECT_GE(lines_with(ptx, {"bar"}), 3u);
  EXPECT_GE(lines_with(ptx, {"add", "f64"}), 11u);  // the body, and twice five steps of a warp
  EXPECT_EQ(lines_with(ptx, {"atom", "add.f32"}), 1u) << ptx;
  EXPECT_EQ(lines_with(ptx, {"atom", "inc.u32"}), 1u) << ptx;
  EXPECT_NE(ptx.find("_param_4"), std::string::npos);
}

TEST(CudaCode, an_integer_sum_leaves_one_atomic_a_block) {
  std::string text = sum;
  for (size_t at; (at = text.find("f32")) != std::string::npos;) text.replace(at, 3, "i32");
  Cuda c;
  const std::string ptx = c.ptx_of(text);
  EXPECT_EQ(lines_with(ptx, {"atom"}), 1u) << ptx;
  EXPECT_EQ(ptx.find("_param_4"), std::string::npos);
}

TEST(CudaCode, positions_side_by_side_load_before_they_store) {
  Cuda c;
  const std::string ptx = c.ptx_of(scale);
  size_t at = 0;
  for (int k = 0; k < 4; k++) ASSERT_NE(at = ptx.find("ld.global", at + 1), std::string::npos);
  EXPECT_LT(at, ptx.find("st.global")) << ptx;
}

TEST(CudaCode, neighbouring_additions_are_joined_where_the_gpu_can) {
  const std::string scatter = over_n("$p: field i32 1, $g: field f32 1", R"(
    %c = load.i32 $p, %i
    %x = mul.i32 %c, %two
    %y = add.i32 %x, %one
    %a = atomic_add.f32 $g, %x, %v
    %b = atomic_add.f32 $g, %y, %v
)",
                                     "  %two = const.i32 2\n  %one = const.i32 1\n  %v = const.f32 3\n");
  Cuda c;
  const std::string ptx = c.ptx_of(scatter);
  EXPECT_EQ(lines_with(ptx, {"red.relaxed.gpu.global.add.v2.f32"}), 1u) << ptx;
  EXPECT_NE(ptx.find(".version 8.1"), std::string::npos);
  const auto sm89 = cuda::target_of(89, 13000, 1);
  Cuda older;
  older.other_target.assign(reinterpret_cast<const char *>(&sm89), sizeof sm89);
  EXPECT_EQ(lines_with(older.ptx_of(scatter), {"atom.global.add.f32"}), 2u);
  std::string external = scatter;  // nothing is known of the address
  external.replace(external.find("$g: field"), 9, "$g: buf");
  EXPECT_EQ(lines_with(Cuda().ptx_of(external), {".v2.f32"}), 0u);
}

// Rounds of a loop that walks memory from its beginning load several elements at once: where fields are that is known,
// for arrays it is asked in front of the loop.
TEST(CudaCode, an_inner_loop_over_an_array_has_wide_loads_where_the_array_is_aligned) {
  const char *const walk = R"(
func @k($x: buf f32 1, $y: field f32 1, $n: i32, $m: i32) {
  %0 = const.i32 0
  %1 = arg.i32 $n
  %m = arg.i32 $m
  %z = const.f32 0
  operand %0, %1
  parallel.i32 1, 0 {
    %i = axis.i32 0
    %s = var.f32 %z
    %j = loop.i32 %0, %m {
      %v = load.f32 $x, %j
      %o = get.f32 %s
      %w = mul.f32 %v, %v
      %t = add.f32 %o, %w
      set %s, %t
    }
    %r = get.f32 %s
    store $y, %i, %r
  }
})";
  Cuda c;
  const std::string array = c.ptx_of(walk);
  EXPECT_EQ(lines_with(array, {"ld.global.nc.v4.b32"}), 4u) << array;
  EXPECT_EQ(lines_with(array, {"ld.global.nc.b32"}), 16u + 2u);  // the other loop, and the rest of both
  std::string field = walk;
  field.replace(field.find("$x: buf"), 7, "$x: field");
  field = c.ptx_of(field);
  EXPECT_EQ(lines_with(field, {"ld.global.nc.v4.b32"}), 4u) << field;
  EXPECT_EQ(lines_with(field, {"ld.global.nc.b32"}), 1u);
  std::string shifted = walk;  // where the walk begins is not known
  shifted.replace(shifted.find("loop.i32 %0"), 11, "loop.i32 %1");
  EXPECT_EQ(lines_with(c.ptx_of(shifted), {".v4."}), 0u);
}

TEST(CudaCode, a_task_waits_for_the_one_before_it_ahead_of_all_else) {
  const auto sm89 = cuda::target_of(89, 13000, 1);
  for (const std::string &text : std::vector<std::string>{scale, serial, sum}) {
    EXPECT_TRUE(cuda::waits_first(Cuda().ptx_of(text))) << text;
    Cuda older;
    older.other_target.assign(reinterpret_cast<const char *>(&sm89), sizeof sm89);
    const std::string ptx = older.ptx_of(text);
    EXPECT_FALSE(cuda::waits_first(ptx));
    EXPECT_EQ(ptx.find("griddepcontrol"), std::string::npos);
  }
  const std::string ptx = Cuda().ptx_of(scale), wait = "\tgriddepcontrol.wait;\n";
  const size_t at = ptx.find(wait);
  for (const char *line :
       {"ld.global.b32 %r1, [%rd1];", "ld.b32 %r1, [%rd1];", "@%p1 bra $L__BB0_3;", "bra.uni $L__BB0_3;",
        "st.global.b32 [%rd1], %r1;", "call.uni f, ();", "red.global.add.u32 [%rd1], 1;", "ret;"})
    EXPECT_FALSE(cuda::waits_first(std::string(ptx).insert(at, std::string("\t") + line + "\n"))) << line;
  EXPECT_FALSE(cuda::waits_first(std::string(ptx).erase(at, wait.size())));
  EXPECT_FALSE(cuda::waits_first(""));
}

TEST(CudaCode, what_the_assembler_gets_wrong_is_written_another_way) {
  const char *const lowest = R"(
func @k($x: field i16 1, $y: field i32 1, $s: f64, $b: field i8 1) {
  %0 = const.i32 0
  %v = load.i16 $x, %0
  %n = neg.i16 %v
  %w = cast.i32 %n
  store $y, %0, %w
  %f = arg.f64 $s
  %d = add.f64 %f, %f
  %i = bitcast.i64 %d
  %c = cast.i8 %i
  store $b, %0, %c
})";
  Cuda c;
  const std::string ptx = c.ptx_of(lowest);
  EXPECT_EQ(lines_with(ptx, {"neg.s16"}), 0u) << ptx;
  EXPECT_EQ(lines_with(ptx, {"neg.s32"}), 1u) << ptx;
  EXPECT_EQ(lines_with(ptx, {"mov.b64 %"}), 1u) << ptx;
  const char *const chosen = R"(
func @k($x: field i32 1, $b: field i8 1, $f: field f32 1) {
  %0 = const.i32 0
  %1 = const.i32 1
  %v = load.i32 $x, %0
  %w = load.i32 $x, %1
  %n = neg.i32 %v
  %m = max.i32 %w, %n
  store $x, %0, %m
  %p = load.i8 $b, %0
  %q = load.i8 $b, %1
  %r = min.i8 %p, %q
  store $b, %0, %r
  %t = lt.i32 %v, %w
  %u = ucast.f32 %t
  store $f, %0, %u
  %a = abs.i32 %v
  store $x, %1, %a
})";
  const std::string other = Cuda().ptx_of(chosen);
  EXPECT_EQ(lines_with(other, {"neg.s32"}), 0u) << other;
  EXPECT_EQ(lines_with(other, {"abs.s32"}), 0u) << other;
  EXPECT_EQ(lines_with(other, {"min.s16"}), 0u) << other;
  EXPECT_EQ(lines_with(other, {"min.s32"}), 1u) << other;
  EXPECT_EQ(lines_with(other, {"cvt.rn.f32"}), 0u) << other;
  EXPECT_EQ(lines_with(other, {"selp", "0f3F800000"}), 1u) << other;
}

std::string with_shared(int first, int second) {
  return "func @k($x: field f32 1, $a: shared f32 " + std::to_string(first) + ", $b: shared i16 " +
         std::to_string(second) +
         R"() {
  %0 = const.i32 0
  %n = const.i32 64
  operand %0, %n
  parallel.i32 1, 64 {
    %i = axis.i32 0
    %v = load.f32 $x, %i
    store $a, %i, %v
    %c = cast.i16 %i
    store $b, %i, %c
    barrier 0
    %w = load.f32 $a, %0
    %d = load.i16 $b, %0
    %e = cast.f32 %d
    %s = add.f32 %w, %e
    store $x, %i, %s
  }
})";
}

TEST(CudaCode, small_shared_arrays_are_the_codes_own_and_large_ones_the_launchs) {
  Cuda c;
  const std::string small = c.ptx_of(with_shared(64, 64));
  EXPECT_EQ(lines_with(small, {".shared .align 16"}), 2u) << small;
  EXPECT_EQ(lines_with(small, {".extern .shared"}), 0u);
  const std::string large = c.ptx_of(with_shared(12000, 2000));  // 48,000 and 4,000 bytes
  EXPECT_EQ(lines_with(large, {".extern .shared .align 16"}), 1u) << large;
  EXPECT_EQ(lines_with(large, {"shared+48000"}), 1u) << large;
}

TEST(CudaCode, additions_of_f16_are_one_instruction) {
  const char *const scatter = R"(
func @k($p: field i32 1, $g: field f16 1, $n: i32) {
  %0 = const.i32 0
  %1 = arg.i32 $n
  %v = const.f16 3
  operand %0, %1
  parallel.i32 1, 0 {
    %i = axis.i32 0
    %c = load.i32 $p, %i
    %a = atomic_add.f16 $g, %c, %v
  }
})";
  Cuda c;
  const std::string ptx = c.ptx_of(scatter);
  EXPECT_GE(lines_with(ptx, {"add.noftz.f16"}), 1u) << ptx;
  EXPECT_EQ(lines_with(ptx, {"cas"}), 0u) << ptx;
}

TEST(CudaCode, rounds_of_an_inner_loop_are_under_way_together) {
  const std::string inner = over_n("$x: field f32 1, $y: field f32 1", R"(
    %s = var %z
    %j = loop.i32 %0, %1 {
      %v = load.f32 $x, %j
      %a = get.f32 %s
      %b = add.f32 %a, %v
      set %s, %b
    }
    %t = get.f32 %s
    store $y, %i, %t
)",
                                   "  %z = const.f32 0\n");
  Cuda c;
  EXPECT_GE(lines_with(c.ptx_of(inner), {"ld.global.nc"}), 4u);
}

TEST(CudaCode, exclusive_updates_are_no_atomics) {
  const std::string each = over_n("$x: field f32 1", "    %o = atomic_add.f32 $x, %i, %c\n", "  %c = const.f32 1\n");
  Cuda c;
  const std::string ptx = c.ptx_of(each);
  EXPECT_EQ(ptx.find("atom."), std::string::npos);
  EXPECT_EQ(ptx.find("red."), std::string::npos);
}

}  // namespace
}  // namespace qd::test
