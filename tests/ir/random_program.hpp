// random_program.hpp: random kernels that can be spelled in many ways which all mean the same.
//
// A program is a tree of statements over a graph of pure expressions. A spelling is one way to build it: parameters and
// functions in another order and some of no use, expressions earlier or later and outside the loops that they do not
// depend on, operands of commutative operations swapped, dead code between. The canonical form must not show which
// spelling it came from.
#pragma once
#include <random>

#include "core/ir/builder.hpp"
#include "core/ir/ir.hpp"

namespace qd::ir::testing {

enum class What { store, atomic, load, set, get, loop, when, block, leave, call, report, parallel, random };

struct Expr {  // pure, or the value of a statement
  Op op = Op::const_;
  Type type = Type::i32;
  int operand[3] = {-1, -1, -1};
  uint64_t literal = 0;  // bits of a constant; parameter; axis
  int region = 0;        // where the program writes it; a spelling may write it further out
  bool of_statement = false;
};

struct Stmt {
  What what;
  int value = -1;  // expression that it defines
  int use[3] = {-1, -1, -1};
  int param = 0;              // parameter, variable, function, site
  int body = -1, other = -1;  // regions
};

struct Region {
  int parent = -1;
  What kind = What::block;  // block: a region that runs once and may be left; the root has parent -1
  bool arm = false;
  std::vector<int> stmts;
};

struct Program {
  std::vector<Param> params;
  std::vector<Expr> exprs;
  std::vector<Stmt> stmts;
  std::vector<Region> regions;
  int n_vars = 0, n_functions = 0;
};

Program random_program(std::mt19937 &rng, int size);
Unit spell(const Program &p, std::mt19937 &rng);

}  // namespace qd::ir::testing
