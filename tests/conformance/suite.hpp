// suite.hpp: the parts of the conformance suite. Each part runs units on the plugin and on the reference, and enters
// what it found in the grid of operations and types.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tests/ir/execute.hpp"

namespace qd::conformance {

using ir::Op;
using ir::Type;
using ir::testing::Executor;
using ir::testing::Memory;
using ir::testing::Outcome;

struct Cell {
  int tests = 0;
  std::vector<std::string> faults;
};
using Grid = std::map<std::pair<Op, Type>, Cell>;  // Type::none: the row has no type

struct Bench {
  Executor &plugin, &reference;
  bool fast_math = false;
  bool load_only = false;  // compile and load, run nothing
  Grid grid{};

  // Runs `test`, which gives the first fault that it saw or nothing; an exception is a fault too.
  template <class F>
  void enter(Op op, Type t, const std::string &name, F test) {
    Cell &cell = grid[{op, t}];
    cell.tests++;
    std::string fault;
    try {
      fault = test();
    } catch (const std::exception &e) { fault = e.what(); }
    if (!fault.empty()) cell.faults.push_back(name + ": " + fault);
  }
};

constexpr Type all_types[] = {Type::b1, Type::i8, Type::i16, Type::i32, Type::i64, Type::f16, Type::f32, Type::f64};
bool in_class(ir::Class, Type);
bool has_meaning(Op);                       // a value in the column of ops.def
ir::Unit unit_of(const std::string &text);  // parsed record by record and verified

void run_measure(Executor &plugin, size_t count, bool fast);
void run_pure(Bench &);     // rows with a meaning and select: generated
void run_atomics(Bench &);  // generated
void run_cases(Bench &);    // all others: the table of cases.cpp

}  // namespace qd::conformance
