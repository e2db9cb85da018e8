// random_program.cpp: see random_program.hpp. Expressions are kept different from one another, because whether two
// equal ones are shared depends on where they are written, which is allowed to show (docs/ir.md, "Canonical form").
#include "tests/ir/random_program.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace qd::ir::testing {
namespace {

struct Generator {
  std::mt19937 &rng;
  Program p;
  std::set<std::vector<uint64_t>> seen;
  int budget;

  int below(int n) { return int(rng() % uint32_t(n)); }
  int add(Expr e) {
    p.exprs.push_back(e);
    return int(p.exprs.size() - 1);
  }
  int add_region(int parent, What kind, bool arm) {
    p.regions.push_back({parent, kind, arm, {}});
    return int(p.regions.size() - 1);
  }
  bool inside(int region, int outer) const {
    for (; region >= 0; region = p.regions[size_t(region)].parent)
      if (region == outer) return true;
    return false;
  }

  int constant(Type t) {
    const uint64_t bits = t == Type::f32 ? std::bit_cast<uint32_t>(float(below(50)) + 1.5f) : uint64_t(below(50) + 2);
    return add({Op::const_, t, {-1, -1, -1}, bits, 0, false});
  }

  // A value of the type that can be seen in the region, made now or before.
  int value(Type t, int region, int depth = 0) {
    std::vector<int> fit;
    for (size_t i = 0; i < p.exprs.size(); ++i)
      if (p.exprs[i].type == t && p.exprs[i].op != Op::const_ && inside(region, p.exprs[i].region))
        fit.push_back(int(i));
    const int kind = below(10);
    if (!fit.empty() && (kind < 3 || depth > 3)) return fit[size_t(below(int(fit.size())))];
    if (kind == 3 || depth > 3) return constant(t);
    static constexpr Op ops[] = {Op::add, Op::mul, Op::sub, Op::min, Op::max, Op::add, Op::xor_};
    const Op op = ops[below(t == Type::i32 ? 7 : 5)];
    const int x = value(t, region, depth + 1), y = value(t, region, depth + 1);
    Expr e{op, t, {x, y, -1}, 0, region, false};
    const bool plain = x == y || (p.exprs[size_t(x)].op == Op::const_ && p.exprs[size_t(y)].op == Op::const_);
    if (plain || !fresh(e)) return fit.empty() ? constant(t) : fit[size_t(below(int(fit.size())))];
    return add(e);
  }
  bool fresh(const Expr &e) {
    std::vector<uint64_t> key[2];
    for (int i = 0; i < 2; ++i) {
      const Expr &o = p.exprs[size_t(e.operand[i])];
      key[i] = {uint64_t(o.op), o.literal, o.op == Op::const_ ? 0 : uint64_t(e.operand[i])};
    }
    if (info(e.op).flags & Comm && key[1] < key[0]) std::swap(key[0], key[1]);
    std::vector<uint64_t> all{uint64_t(e.op), uint64_t(e.type)};
    for (auto &k : key) all.insert(all.end(), k.begin(), k.end());
    return seen.insert(all).second;
  }
  // Below 8, so that it is in bounds and loops are short.
  int index(int region) {
    const Expr mask{Op::const_, Type::i32, {-1, -1, -1}, 7, 0, false},
        bound{Op::const_, Type::i32, {-1, -1, -1}, uint64_t(below(8)), 0, false};
    const int x = value(Type::i32, region), m = add(mask);
    const Expr e{Op::and_, Type::i32, {x, m, -1}, 0, region, false};
    return p.exprs[size_t(x)].op != Op::const_ && fresh(e) ? add(e) : add(bound);
  }

  void statement(int region, int depth, int labels) {
    --budget;
    Stmt s{What::store};
    const int kind = below(16);
    auto define = [&](Type t) { s.value = add({Op::load, t, {-1, -1, -1}, 0, region, true}); };
    if (kind < 3) {
      s.use[0] = index(region), s.use[1] = value(Type::f32, region), s.param = below(3);
    } else if (kind < 6) {
      s = {What::load}, s.use[0] = index(region), s.param = below(3), define(Type::f32);
    } else if (kind == 6) {
      s = {What::atomic}, s.use[0] = index(region), s.use[1] = value(Type::f32, region), s.param = below(3),
      define(Type::f32);
    } else if (kind == 7) {
      s = {What::set}, s.use[0] = value(Type::f32, region), s.param = below(p.n_vars);
    } else if (kind == 8) {
      s = {What::get}, s.param = below(p.n_vars), define(Type::f32);
    } else if (kind < 11 && depth < 4 && budget > 4) {
      s = {What::loop}, s.use[0] = index(region), s.use[1] = index(region);
      s.body = add_region(region, What::loop, false);
      s.value = add({Op::load, Type::i32, {-1, -1, -1}, 0, s.body, true});
      body(s.body, depth + 1, labels + 1);
    } else if (kind < 13 && depth < 4 && budget > 4) {
      s = {What::when}, s.use[0] = index(region), s.use[1] = index(region);
      body(s.body = add_region(region, What::when, true), depth + 1, labels);
      if (below(2)) body(s.other = add_region(region, What::when, true), depth + 1, labels);
    } else if (kind == 13 && depth < 4 && budget > 4) {
      s = {What::block};
      body(s.body = add_region(region, What::block, false), depth + 1, labels + 1);
    } else if (kind == 14) {
      s = {What::call}, s.use[0] = value(Type::f32, region), s.param = below(p.n_functions), define(Type::f32);
    } else {
      s = {What::report}, s.use[0] = value(Type::f32, region), s.param = below(4);
    }
    add_statement(region, s);
  }
  void add_statement(int region, const Stmt &s) {
    p.stmts.push_back(s);
    p.regions[size_t(region)].stmts.push_back(int(p.stmts.size() - 1));
  }
  void body(int region, int depth, int labels) {
    for (int n = 1 + below(5); n > 0 && budget > 0; --n) statement(region, depth, labels);
    // Only an arm ends in a leave: what stands behind one would be dead.
    if (labels > 0 && p.regions[size_t(region)].arm && below(3) == 0) {
      Stmt s{What::leave};
      s.param = below(labels);
      add_statement(region, s);
    }
  }
};

struct Speller {
  const Program &p;
  std::mt19937 &rng;
  Builder b{};
  std::vector<uint32_t> param{}, site{};
  std::vector<uint32_t> function{};
  std::vector<Val> vars{}, value{};
  std::vector<int> at{};  // region where each expression is written this time

  bool coin() { return rng() & 1; }
  bool is_outer(int outer, int region) const {
    for (; region >= 0; region = p.regions[size_t(region)].parent)
      if (region == outer) return true;
    return false;
  }

  void functions() {
    std::vector<int> order(size_t(p.n_functions));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), rng);
    function.resize(order.size());
    for (const int k : order) {
      if (coin()) one_function(77.5f, 0);  // of no use
      function[size_t(k)] = one_function(float(k) + 2.25f, k);
    }
  }
  uint32_t one_function(float factor, int k) {
    const uint32_t number = b.open_function(1, 1);
    Val x = b.emit(Op::farg, Type::f32, {0});
    const Val c = b.constant_of(Type::f32, double(factor));
    x = coin() ? b.emit(Op::mul, Type::none, {x, c}) : b.emit(Op::mul, Type::none, {c, x});
    b.emit(Op::store, Type::none, {param[size_t(k % 3)], b.constant_of(Type::i32, int64_t(3)), x});
    const Val out[] = {x};
    b.emit_taking(Op::ret, Type::none, out);
    b.close_function();
    return number;
  }

  void choose_places() {
    at.resize(p.exprs.size());
    for (size_t i = 0; i < at.size(); ++i) {
      const Expr &e = p.exprs[i];
      at[i] = e.region;
      if (e.of_statement || e.op == Op::axis) continue;
      while (at[i] > 0 && !p.regions[size_t(at[i])].arm && coin()) {
        const int out = p.regions[size_t(at[i])].parent;
        bool fits = true;
        for (const int o : e.operand) fits &= o < 0 || is_outer(at[size_t(o)], out);
        if (!fits) break;
        at[i] = out;
      }
    }
  }

  void write(int i) {
    const Expr &e = p.exprs[size_t(i)];
    if (value[size_t(i)] != no_val) return;
    if (e.op == Op::const_) return void(value[size_t(i)] = b.constant(e.type, e.literal));
    if (e.op == Op::arg) return void(value[size_t(i)] = b.emit(Op::arg, e.type, {param[e.literal]}));
    if (e.op == Op::axis) return void(value[size_t(i)] = b.emit(Op::axis, e.type, {uint32_t(e.literal)}));
    int x = e.operand[0], y = e.operand[1];
    if (coin()) write(x), write(y);
    else write(y), write(x);
    if (info(e.op).flags & Comm && coin()) std::swap(x, y);
    value[size_t(i)] = b.emit(e.op, e.type, {use(x), use(y), 0});
  }
  // Constants and arguments are written wherever they are needed, each time.
  Val use(int i) {
    const Op op = p.exprs[size_t(i)].op;
    if (op == Op::const_ || op == Op::arg) value[size_t(i)] = no_val;
    write(i);
    return value[size_t(i)];
  }

  // Expressions of this region that the statement needs, its nested ones included.
  void needs(int region, int i, std::vector<int> &out) {
    if (i < 0 || value[size_t(i)] != no_val || p.exprs[size_t(i)].of_statement) return;
    for (const int o : p.exprs[size_t(i)].operand) needs(region, o, out);
    if (at[size_t(i)] == region) out.push_back(i);
  }
  void needs_of(int region, const Stmt &s, std::vector<int> &out) {
    for (const int u : s.use) needs(region, u, out);
    for (const int r : {s.body, s.other})
      if (r >= 0)
        for (const int inner : p.regions[size_t(r)].stmts) needs_of(region, p.stmts[size_t(inner)], out);
  }

  void dead_code() {
    const Val x = b.emit(Op::arg, Type::f32, {param[3]});
    const Val y = b.emit(Op::mul, Type::none, {x, b.constant_of(Type::f32, double(rng() % 1000) + 0.25)});
    if (coin()) b.emit(Op::load, Type::f32, {param[rng() % 3], b.constant_of(Type::i32, int64_t(rng() % 8))});
    if (coin()) {
      const Val v = b.emit(Op::var, Type::none, {y});
      b.emit(Op::set, Type::none, {v, b.emit(Op::get, Type::none, {v})});
    }
    if (coin()) {
      b.emit(Op::when, Type::none, {b.emit(Op::lt, Type::none, {x, y})});
      b.emit(Op::end, Type::none);
    }
  }

  void region(int r) {
    for (const int k : p.regions[size_t(r)].stmts) {
      std::vector<int> first;
      needs_of(r, p.stmts[size_t(k)], first);
      std::shuffle(first.begin(), first.end(), rng);
      for (const int i : first) write(i);
      if (rng() % 4 == 0 && (r > 0 || !is_parallel())) dead_code();
      statement(p.stmts[size_t(k)]);
    }
    for (size_t i = 0; i < at.size(); ++i)
      if (at[i] == r && !p.exprs[i].of_statement) value[i] = no_val;
  }

  Val zero() { return b.constant_of(Type::i32, int64_t(0)); }
  Val define(const Stmt &s, Val v) { return value[size_t(s.value)] = v; }
  void statement(const Stmt &s) {
    auto use_of = [&](int k) { return use(s.use[k]); };
    switch (s.what) {
      case What::store: {
        const Val i = use_of(0), x = use_of(1);
        b.emit(Op::store, Type::none, {param[size_t(s.param)], i, x});
        break;
      }
      case What::atomic: {
        const Val i = use_of(0), x = use_of(1);
        define(s, b.emit(Op::atomic_add, Type::f32, {param[size_t(s.param)], i, x}));
        break;
      }
      case What::load: define(s, b.emit(Op::load, Type::f32, {param[size_t(s.param)], use_of(0)})); break;
      case What::set: b.emit(Op::set, Type::none, {vars[size_t(s.param)], use_of(0)}); break;
      case What::get: define(s, b.emit(Op::get, Type::none, {vars[size_t(s.param)]})); break;
      case What::random: break;
      case What::parallel: {
        const Val bounds[] = {zero(), use_of(0)};
        b.emit_taking(Op::parallel, Type::i32, bounds, {1, 0, 0});
        make_vars();
        nest(s.body);
        break;
      }
      case What::loop: {
        const Val lo = use_of(0), hi = use_of(1);
        define(s, b.emit(Op::loop, Type::none, {lo, hi}));
        nest(s.body);
        break;
      }
      case What::when: {
        const Val x = use_of(0), y = use_of(1);
        b.emit(Op::when, Type::none, {b.emit(Op::lt, Type::none, {x, y})});
      }
        region(s.body);
        if (s.other >= 0) b.emit(Op::other, Type::none), region(s.other);
        b.emit(Op::end, Type::none);
        break;
      case What::block:
        b.emit(Op::block, Type::none);
        nest(s.body);
        break;
      case What::leave: b.emit(Op::leave, Type::none, {uint32_t(s.param)}); break;
      case What::call: {
        const Val in[] = {use_of(0)};
        const Val c = b.emit_taking(Op::call, Type::none, in, {function[size_t(s.param)]});
        define(s, b.emit(Op::result, Type::f32, {c, 0}));
        break;
      }
      case What::report: {
        const Val in[] = {use_of(0)};
        b.emit_taking(Op::report, Type::none, in, {site[size_t(s.param)], 0});
        break;
      }
    }
  }
  void nest(int r) {
    region(r);
    b.emit(Op::end, Type::none);
  }

  // A task with a parallel has nothing with an effect beside it.
  bool is_parallel() const { return p.stmts.back().what == What::parallel; }
  void make_vars() {
    for (int k = 0; k < p.n_vars; ++k)
      vars.push_back(b.emit(Op::var, Type::none, {b.constant_of(Type::f32, double(k) + 0.5)}));
  }

  Unit run() {
    std::vector<size_t> order(p.params.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), rng);
    param.resize(order.size());
    for (const size_t k : order) {
      if (coin()) b.param({QD_PARAM_BUFFER, Type::f32, 1});  // of no use
      param[k] = b.param(p.params[k], "p" + std::to_string(k));
    }
    site = {0, 1, 2, 3};
    std::shuffle(site.begin(), site.end(), rng);
    functions();
    choose_places();
    value.assign(p.exprs.size(), no_val);
    if (!is_parallel()) make_vars();
    region(0);
    return std::move(b).finish("random");
  }
};

}  // namespace

Program random_program(std::mt19937 &rng, int size) {
  Generator g{rng, {}, {}, size};
  Program &p = g.p;
  for (int k = 0; k < 3; ++k) p.params.push_back({QD_PARAM_BUFFER, Type::f32, 1});
  for (const Type t : {Type::f32, Type::f32, Type::i32, Type::i32}) p.params.push_back({QD_PARAM_SCALAR, t});
  p.n_vars = 2, p.n_functions = 3;
  g.add_region(-1, What::block, false);
  for (uint64_t k = 3; k < 7; ++k) g.add({Op::arg, p.params[k].type, {-1, -1, -1}, k, 0, false});
  if (g.below(2)) {
    Stmt s{What::parallel};
    s.use[0] = g.index(0);
    s.body = g.add_region(0, What::parallel, false);
    g.add({Op::axis, Type::i32, {-1, -1, -1}, 0, s.body, false});
    while (g.budget > 0) g.statement(s.body, 0, 0);
    g.add_statement(0, s);
  } else {
    while (g.budget > 0) g.statement(0, 0, 0);
  }
  return std::move(p);
}

Unit spell(const Program &p, std::mt19937 &rng) { return Speller{p, rng}.run(); }

}  // namespace qd::ir::testing
