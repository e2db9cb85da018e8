// sdk_headers.cpp: the C++ headers of the SDK compile as C++17. fold.hpp, which only interpreters include, needs C++20.
#include "qd/ir_view.hpp"
#include "qd/philox.hpp"
#include "qd/plugin.hpp"

int main() { return 0; }
