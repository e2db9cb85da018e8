// faults.hpp: every file-system call of the store can be made to fail, one at a time, by number and error.
#pragma once
#include <cstddef>

namespace qd::test {

enum class Call : size_t { open, create, write, read, rename, mkdir, unlink, lock, truncate, touch, stat };
inline constexpr size_t n_calls = 11;
inline constexpr const char *call_names[n_calls] = {"open",   "create", "write",    "read",  "rename", "mkdir",
                                                    "unlink", "lock",   "truncate", "touch", "stat"};

// The call of that number from now on (0 the first; -1 every one) fails with `error`; 0: it does half of its work.
void plan_fault(Call, int number, int error);
void no_faults();
int calls_of(Call);  // since the last of the two above

}  // namespace qd::test
