// names.hpp: names of kernels and tasks for tools (names.cpp, rename.cpp).
#pragma once
#include <string>
#include <string_view>

namespace qd::cuda {

const void *names_extension();  // null: no tool is attached

// The cubin with the function `from` called `to`; empty where it isn't such a file.
std::string renamed(std::string_view cubin, std::string_view from, std::string_view to);

}  // namespace qd::cuda
