// tasks.hpp: tasks that tests of the cuda backend share.
#pragma once

namespace qd::test {

inline const char *const scale = R"(
func @k($x: buf f32 1, $n: i32) {
  %0 = const.i32 0
  %1 = arg.i32 $n
  operand %0, %1
  parallel.i32 1, 0 {
    %i = axis.i32 0
    %v = load.f32 $x, %i
    %w = add.f32 %v, %v
    store $x, %i, %w
  }
})";
inline const char *const serial = R"(
func @k($x: buf f32 1) {
  %0 = const.i32 0
  %1 = const.f32 1
  store $x, %0, %1
})";
inline const char *const sum = R"(
func @k($x: buf f32 1, $s: field f32, $n: i32) {
  %0 = const.i32 0
  %1 = arg.i32 $n
  operand %0, %1
  parallel.i32 1, 96 {
    %i = axis.i32 0
    %v = load.f32 $x, %i
    %o = atomic_add.f32 $s, %0, %v
  }
})";

}  // namespace qd::test
