// tasks.hpp: tasks that tests of the cuda backend share.
#pragma once
#include <string>

namespace qd::test {

// A task over positions 0 to $n: `body` sees the position as %i, zero as %0 and $n as %1; `before` stands in front of
// it.
inline std::string over_n(const std::string &params, const std::string &body, const std::string &before = {},
                          const char *block = "0") {
  return "func @k(" + params + ", $n: i32) {\n  %0 = const.i32 0\n  %1 = arg.i32 $n\n" + before +
         "  operand %0, %1\n  parallel.i32 1, " + block + " {\n    %i = axis.i32 0\n" + body + "  }\n}";
}

inline const std::string scale = over_n("$x: buf f32 1", R"(
    %v = load.f32 $x, %i
    %w = add.f32 %v, %v
    store $x, %i, %w
)");
inline const std::string serial = R"(
func @k($x: buf f32 1) {
  %0 = const.i32 0
  %1 = const.f32 1
  store $x, %0, %1
})";
inline const std::string sum = over_n("$x: buf f32 1, $s: field f32", R"(
    %v = load.f32 $x, %i
    %o = atomic_add.f32 $s, %0, %v
)",
                                      {}, "96");

}  // namespace qd::test
