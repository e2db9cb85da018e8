// ir_verify.hpp: the verifier behind View::read(). One pass over the records; each is checked against its row of ops.def, then
// against the few rules that a row cannot say. A value is usable while the region that holds it is open, which one flag per
// region answers, so that the whole is linear. Included by ir_view.hpp only.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "qd/ir_view.hpp"

namespace qd::view {

struct Verifier {
  View &v;
  Fault &fault;
  ReadOptions options;

  const Function *f = nullptr;
  uint32_t func = 0;
  std::vector<uint32_t> home{};      // per record: the region that holds its value, as record + 1 of its opener; 0 the function
  std::vector<uint8_t> open{};       // per region
  std::vector<uint32_t> stack{};     // open regions: the record of the opener, or of its `other`
  std::vector<uint32_t> labels{};    // open labels
  std::vector<std::pair<uint32_t, uint32_t>> calls{};  // caller, callee; ascending caller
  std::vector<std::pair<uint32_t, uint32_t>> alone{};  // record, callee: calls of the entry where no block of threads is
  std::vector<uint8_t> team{};     // per function: works with the threads of a block
  uint32_t pending = 0;            // operands that wait for their record
  bool pending_full = true;        // the last `operand` record had three
  uint32_t outside_effect = no_value;

  bool bad(uint32_t i, const std::string &what, QdbStatus status = QDB_E_INVALID) {
    fault.status = status, fault.func = func, fault.record = i;
    fault.message = "function " + std::to_string(func) + ", record " + std::to_string(i);
    if (i < f->count && f->code[i].op < n_ops) fault.message += " (" + std::string(info(op_of(f->code[i])).name) + ")";
    fault.message += ": " + what;
    return false;
  }
  static std::string name(Type t) { return std::string(info(t).name); }
  static std::string letter(uint32_t k) { return std::string("operand ") + char('a' + k); }

  bool run() {
    signatures();
    team.assign(v.n_functions(), 0);
    for (func = 0; func < v.n_functions(); func++)
      if (!function()) return false;
    return recursion() && threads();
  }

  // Types of arguments and results, from the records that read or give them. Their own checks come later, so nothing is trusted.
  void signatures() {
    for (const Function &g : v.functions_) {
      Type *args = const_cast<Type *>(g.arg_types), *results = const_cast<Type *>(g.result_types);
      for (uint32_t i = 0; i < g.count; i++) {
        const QdInst &r = g.code[i];
        if (op_of(r) == Op::farg && r.a < g.n_args && r.type < n_types) args[r.a] = type_of(r);
      }
      if (g.count == 0 || op_of(g.code[g.count - 1]) != Op::ret) continue;
      const Operands given = v.operands_before(g, g.count - 1);
      for (uint32_t k = 0; k < g.n_results && k < given.count; k++)
        if (given[k] < g.count && g.code[given[k]].type < n_types) results[k] = type_of(g.code[given[k]]);
    }
  }

  bool function() {
    f = &v.functions_[func];
    home.assign(f->count, 0);
    open.assign(size_t(f->count) + 1, 0);
    open[0] = 1;
    stack.clear(), labels.clear();
    pending = 0, pending_full = true, outside_effect = no_value;
    for (uint32_t i = 0; i < f->count; i++)
      if (!record(i)) return false;
    if (pending) return bad(f->count - 1, "`operand` records at the end of a function belong to no record");
    if (!stack.empty()) return bad(stack.back(), "this region is never closed");
    if (func > 0 && (f->count == 0 || op_of(f->code[f->count - 1]) != Op::ret))
      return bad(f->count ? f->count - 1 : 0, "the last record of a function must be `ret`");
    if (func == 0 && options.task && !v.parallels_.empty() && outside_effect != no_value)
      return bad(outside_effect, "a task with a `parallel` may hold nothing with an effect beside it");
    return true;
  }

  bool record(uint32_t i) {
    const QdInst &r = f->code[i];
    if (r.op >= n_ops) return bad(i, "unknown operation " + std::to_string(r.op));
    if (r.type >= n_types) return bad(i, "unknown type " + std::to_string(r.type));
    if (r.aux != 0) return bad(i, "field aux is " + std::to_string(r.aux) + ", expected 0");
    const Op op = op_of(r);
    const OpInfo &row = info(op);
    v.uses_[r.op] = true, v.uses_type_[r.type] = true;
    if (op == Op::operand) return operand(i, r);
    if (pending && !has(op, Takes)) return bad(i, "`operand` records in front of an operation that takes none");
    home[i] = stack.empty() ? 0 : stack.back() + 1;
    if (!fields(i, r, row) || !types(i, r, row) || !(has(op, Index) ? memory(i, r, row) : special(i, r))) return false;
    if ((has(op, Threads) || (has(op, Index) && v.param(r.a).alias == QD_ALIAS_SHARED)) && !together(i)) return false;
    const bool effect = row.effect == Effect::Write || row.effect == Effect::Control;
    if (effect && outside_effect == no_value && op != Op::parallel && !in_parallel()) outside_effect = i;
    if (has(op, Takes) && !takes(i, r)) return false;
    if (has(op, Closes) && !close(i, r)) return false;
    if (has(op, Opens) && !enter(i)) return false;
    return op != Op::leave || leave(i, r);
  }

  // A region of a parallel is always the outermost one.
  bool in_parallel() const { return func == 0 && !stack.empty() && op_of(f->code[stack[0]]) == Op::parallel; }

  bool in_block() const { return in_parallel() && f->code[stack[0]].b != 0; }

  bool together(uint32_t i) {
    team[func] = 1, v.threads_ = true;
    if (func > 0) return true;
    if (!in_block()) return bad(i, "works with the threads of a block, but stands outside a `parallel` with a block size");
    const uint32_t size = f->code[stack[0]].b;
    return size <= max_block || bad(stack[0], "has blocks of " + std::to_string(size) + " threads that work together, expected at most " +
                                                  std::to_string(max_block));
  }

  bool usable(uint32_t i, uint32_t k, uint32_t x) {
    if (x >= i) return bad(i, letter(k) + " is %" + std::to_string(x) + ", which is not before this record");
    if (!open[home[x]]) return bad(i, letter(k) + " is %" + std::to_string(x) + ", whose region is closed");
    return true;
  }
  bool value(uint32_t i, uint32_t k, uint32_t x) {
    if (!usable(i, k, x)) return false;
    const QdInst &d = f->code[x];
    const Op op = op_of(d);
    if (op == Op::var || op == Op::array || op == Op::parallel || type_of(d) == Type::none)
      return bad(i, letter(k) + " is %" + std::to_string(x) + ", a record (" + std::string(info(op).name) + ") that holds no value");
    return true;
  }

  bool operand(uint32_t i, const QdInst &r) {
    if (r.type != 0) return bad(i, "has a type");
    if (pending && !pending_full) return bad(i, "the `operand` record before it has unused fields");
    home[i] = stack.empty() ? 0 : stack.back() + 1;
    uint32_t n = 0;
    for (uint32_t k = 0; k < 3; k++) {
      const uint32_t x = field(r, k);
      if (x == no_value) continue;
      if (n != k) return bad(i, letter(k) + " is used behind an unused field");
      if (!value(i, k, x)) return false;
      n++;
    }
    if (n == 0) return bad(i, "holds no operand");
    pending += n, pending_full = n == 3;
    return true;
  }

  bool fields(uint32_t i, const QdInst &r, const OpInfo &row) {
    const uint32_t used = row.sig == "k" ? 2u : uint32_t(row.sig.size());
    for (uint32_t k = used; k < 3; k++)
      if (field(r, k) != 0) return bad(i, letter(k) + " is not used by this operation and must be 0");
    for (uint32_t k = 0; k < row.sig.size(); k++) {
      const uint32_t x = field(r, k);
      switch (row.sig[k]) {
        case 'v':
          if (op_of(r) == Op::result) {
            if (!usable(i, k, x)) return false;
            if (op_of(f->code[x]) != Op::call) return bad(i, letter(k) + " is %" + std::to_string(x) + ", expected a `call`");
          } else if (!value(i, k, x)) {
            return false;
          }
          break;
        case 'c':
          if (!value(i, k, x)) return false;
          if (type_of(f->code[x]) != Type::b1) return bad(i, letter(k) + " has type " + name(type_of(f->code[x])) + ", expected b1");
          break;
        case 'h':
        case 'y': {
          const Op want = row.sig[k] == 'h' ? Op::var : Op::array;
          if (!usable(i, k, x)) return false;
          if (op_of(f->code[x]) != want) return bad(i, letter(k) + " is %" + std::to_string(x) + ", expected `" + std::string(info(want).name) + "`");
          break;
        }
        case 'p':
        case 's': {
          const uint32_t want = row.sig[k] == 'p' ? QD_PARAM_BUFFER : QD_PARAM_SCALAR;
          if (x >= v.n_params()) return bad(i, "parameter " + std::to_string(x) + " of " + std::to_string(v.n_params()));
          if (v.param(x).kind != want) return bad(i, "parameter " + std::to_string(x) + " must be a " + (want ? "buffer" : "scalar"));
          break;
        }
        default: break;  // literals: special()
      }
    }
    return true;
  }

  // The class of operands and the type of the result. Memory operations have rules of their own: memory().
  bool types(uint32_t i, const QdInst &r, const OpInfo &row) {
    Type first = Type::none;
    for (uint32_t k = 0; k < row.sig.size(); k++) {
      if (row.sig[k] != 'v' && row.sig[k] != 'h') continue;
      const Type t = type_of(f->code[field(r, k)]);
      if (op_of(r) == Op::result || (row.flags & Index)) break;
      if (!in_class(row.operands, t)) return bad(i, letter(k) + " has type " + name(t) + ", which this operation does not take");
      if (first == Type::none) first = t;
      if (!(row.flags & Mixed) && t != first) return bad(i, letter(k) + " has type " + name(t) + ", expected " + name(first));
    }
    Type want = type_of(r);
    switch (row.result) {
      case Result::None: want = Type::none; break;
      case Result::Bool: want = Type::b1; break;
      case Result::Same: want = first; break;
      case Result::Given:
        if (want == Type::none) return bad(i, "needs a type");
        break;
    }
    return want == type_of(r) || bad(i, "has type " + name(type_of(r)) + ", expected " + name(want));
  }

  bool memory(uint32_t i, const QdInst &r, const OpInfo &row) {
    const Type element = Type(v.param(r.a).type), index = type_of(f->code[r.b]);
    if (index != Type::i32 && index != Type::i64) return bad(i, "the index has type " + name(index) + ", expected i32 or i64");
    if (row.result == Result::Given && type_of(r) != element)
      return bad(i, "has type " + name(type_of(r)) + ", but the buffer holds " + name(element));
    if (row.sig.size() < 3) return true;
    const Type t = type_of(f->code[r.c]);
    if (t != element) return bad(i, "operand c has type " + name(t) + ", but the buffer holds " + name(element));
    return in_class(row.operands, t) || bad(i, "does not work on elements of type " + name(t));
  }

  bool below(uint32_t i, const char *what, uint64_t x, uint64_t limit) {
    return x < limit || bad(i, std::string(what) + " " + std::to_string(x) + ", expected less than " + std::to_string(limit));
  }
  bool typed(uint32_t i, Type found, Type want) {
    return found == want || bad(i, "has type " + name(found) + ", expected " + name(want));
  }

  bool special(uint32_t i, const QdInst &r) {
    const Type t = type_of(r);
    const QdInst *code = f->code;
    switch (op_of(r)) {
      case Op::arg: return typed(i, t, Type(v.param(r.a).type));
      case Op::shape:
        if (t != Type::i32 && t != Type::i64) return bad(i, "has type " + name(t) + ", expected i32 or i64");
        return below(i, "axis", r.b, v.param(r.a).rank);
      case Op::const_: {
        const uint64_t bits = const_bits(r), limit = t == Type::b1 ? 1 : ~uint64_t(0) >> (64 - 8 * info(t).bytes);
        return bits <= limit || bad(i, "has bits outside its type");
      }
      case Op::bitcast: {
        const Type from = type_of(code[r.a]);
        if ((t == Type::b1) != (from == Type::b1)) return bad(i, "b1 has no bits to reinterpret, expected `cast`");
        return info(t).bytes == info(from).bytes || bad(i, "the two types differ in size");
      }
      case Op::frexp_exp: return typed(i, t, Type::i32);
      case Op::set: return typed(i, type_of(code[r.b]), type_of(code[r.a]));
      case Op::array: return below(i, "number of elements", r.a, uint64_t(max_array) + 1);
      case Op::array_get: return typed(i, t, type_of(code[r.a]));
      case Op::array_set:
        if (!is_int(type_of(code[r.b]))) return bad(i, "the index has type " + name(type_of(code[r.b])) + ", expected an integer");
        return typed(i, type_of(code[r.c]), type_of(code[r.a]));
      case Op::axis: {
        if (!in_parallel()) return bad(i, "stands outside a `parallel`");
        const QdInst &p = code[stack[0]];
        return below(i, "axis", r.a, p.a) && typed(i, t, type_of(p));
      }
      case Op::farg: return below(i, "argument", r.a, f->n_args) && typed(i, t, f->arg_types[r.a]);
      case Op::result: {
        const Function &g = v.functions_[code[r.a].a];
        return below(i, "result", r.b, g.n_results) && typed(i, t, g.result_types[r.b]);
      }
      case Op::output: return below(i, "slot", r.a, QD_RESULT_BYTES / 8);
      case Op::thread:
      case Op::active: return typed(i, t, Type::i32);
      case Op::clock: return typed(i, t, Type::i64);
      case Op::position: return t == Type::i32 || t == Type::i64 || bad(i, "has type " + name(t) + ", expected i32 or i64");
      case Op::barrier: return below(i, "scope", r.a, 2);
      case Op::fence: return below(i, "scope", r.a, 3);
      case Op::barrier_vote: return below(i, "question", r.b, 3) && typed(i, t, Type::i32);
      case Op::vote: return below(i, "question", r.b, 4) && typed(i, t, Type::i32);
      case Op::match: return below(i, "question", r.b, 2) && typed(i, t, Type::i32);
      case Op::shuffle:
        if (type_of(code[r.b]) != Type::i32) return bad(i, "the lane has type " + name(type_of(code[r.b])) + ", expected i32");
        return below(i, "kind", r.c, 4);
      case Op::report: return below(i, "failure flag", r.b, 2);
      default: return true;
    }
  }

  bool count(uint32_t i, uint64_t want) {
    return pending == want || bad(i, "takes " + std::to_string(want) + " `operand` values, found " + std::to_string(pending));
  }

  bool takes(uint32_t i, const QdInst &r) {
    const Operands given = v.operands_before(*f, i);
    const auto type = [&](uint32_t k) { return type_of(f->code[given[k]]); };
    bool ok = true;
    switch (op_of(r)) {
      case Op::parallel: ok = parallel(i, r, given); break;
      case Op::atomic_cas: ok = count(i, 1) && typed(i, type(0), Type(v.param(r.a).type)); break;
      case Op::call: {
        if (r.a == 0 || r.a >= v.n_functions()) return bad(i, "calls function " + std::to_string(r.a) + " of " + std::to_string(v.n_functions()));
        const Function &g = v.functions_[r.a];
        if (!count(i, g.n_args)) return false;
        for (uint32_t k = 0; k < g.n_args; k++)
          if (g.arg_types[k] != Type::none && g.arg_types[k] != type(k))
            return bad(i, "argument " + std::to_string(k) + " has type " + name(type(k)) + ", expected " + name(g.arg_types[k]));
        calls.emplace_back(func, r.a);
        if (func == 0 && !in_block()) alone.emplace_back(i, r.a);
        break;
      }
      case Op::barrier:
        if (r.a == 0 && given.count) return bad(i, "a barrier of the block takes no mask");
        [[fallthrough]];
      case Op::shuffle:
      case Op::vote:
      case Op::match:
        if (given.count > 1) return bad(i, "takes at most 1 `operand` value, the mask, found " + std::to_string(given.count));
        ok = given.count == 0 || typed(i, type(0), Type::i32);
        break;
      case Op::ret:
        if (func == 0 || i + 1 != f->count || !stack.empty()) return bad(i, "must be the last record of a function that is not the entry");
        ok = count(i, f->n_results);
        break;
      default: break;
    }
    pending = 0, pending_full = true;
    return ok;
  }

  bool parallel(uint32_t i, const QdInst &r, const Operands &bounds) {
    if (func != 0 || !stack.empty()) return bad(i, "stands inside a region or function, expected depth 0 of the entry");
    if (options.task && !v.parallels_.empty()) return bad(i, "a second `parallel` in one task");
    if (type_of(r) != Type::i32 && type_of(r) != Type::i64) return bad(i, "has type " + name(type_of(r)) + ", expected i32 or i64");
    if (r.a == 0 || r.a > max_axes) return bad(i, "has " + std::to_string(r.a) + " axes, expected 1 to " + std::to_string(max_axes));
    if (!count(i, 2ull * r.a)) return false;
    for (uint32_t k = 0; k < bounds.count; k++)
      if (type_of(f->code[bounds[k]]) != type_of(r)) return bad(i, "bound " + std::to_string(k) + " is not of the type of the loop");
    v.parallels_.push_back({i, no_value, r.a, r.b, type_of(r), bounds});
    return true;
  }

  bool enter(uint32_t i) {
    if (stack.size() >= max_depth) return bad(i, "more than " + std::to_string(max_depth) + " regions inside each other", QDB_E_UNSUPPORTED);
    stack.push_back(i);
    open[i + 1] = 1;
    home[i] = i + 1;  // the value of a loop is its index: usable in the body only
    if (has(op_of(f->code[i]), Label)) labels.push_back(i);
    return true;
  }

  bool close(uint32_t i, const QdInst &r) {
    if (stack.empty()) return bad(i, "closes no region");
    const uint32_t opener = stack.back();
    const Op op = op_of(f->code[opener]);
    if (op_of(r) == Op::other && op != Op::when) return bad(i, "is the alternative of `" + std::string(info(op).name) + "`, expected `when`");
    stack.pop_back();
    open[opener + 1] = 0;
    if (has(op, Label)) labels.pop_back();
    uint32_t *match = v.match_.data() + (f->code - v.code_);
    match[opener] = i;
    if (op_of(r) == Op::end) match[i] = opener;
    if (op == Op::parallel) v.parallels_.back().end = i;
    return true;
  }

  bool leave(uint32_t i, const QdInst &r) {
    if (!below(i, "label", r.a, labels.size())) return false;
    v.match_[size_t(f->code - v.code_) + i] = labels[labels.size() - 1 - r.a];
    return true;
  }

  // What a function works with, all that call it work with.
  bool threads() {
    if (!v.threads_) return true;
    if (!options.allow_threads)
      return fail(fault, "unit: threads of a block work together, which this backend cannot do", QDB_E_UNSUPPORTED);
    std::vector<std::vector<uint32_t>> callers(v.n_functions());
    for (const auto &c : calls) callers[c.second].push_back(c.first);
    std::vector<uint32_t> todo;
    for (uint32_t g = 1; g < v.n_functions(); g++)
      if (team[g]) todo.push_back(g);
    while (!todo.empty()) {
      const uint32_t g = todo.back();
      todo.pop_back();
      for (uint32_t caller : callers[g])
        if (!team[caller] && caller > 0) team[caller] = 1, todo.push_back(caller);
    }
    func = 0, f = &v.functions_[0];
    for (const auto &[record, callee] : alone)
      if (team[callee])
        return bad(record, "calls function " + std::to_string(callee) +
                               ", which works with the threads of a block, outside a `parallel` with a block size");
    return true;
  }

  // Depth-first over the call graph with a stack of our own: 1 entered, 2 left.
  bool recursion() {
    std::vector<uint32_t> first(v.n_functions() + size_t(1), 0);
    for (const auto &c : calls) first[c.first + 1]++;
    for (uint32_t i = 0; i < v.n_functions(); i++) first[i + 1] += first[i];
    std::vector<uint8_t> state(v.n_functions(), 0);
    std::vector<uint32_t> next(first.begin(), first.end() - 1), path;
    for (uint32_t root = 0; root < v.n_functions(); root++) {
      if (state[root]) continue;
      path.push_back(root), state[root] = 1;
      while (!path.empty()) {
        const uint32_t g = path.back();
        if (next[g] == first[g + 1]) {
          state[g] = 2, path.pop_back();
          continue;
        }
        const uint32_t callee = calls[next[g]++].second;
        if (state[callee] == 1) v.recursive_ = true;
        if (state[callee] == 0) path.push_back(callee), state[callee] = 1;
      }
    }
    if (!v.recursive_ || options.allow_recursion) return true;
    return fail(fault, "unit: a function calls itself, which this backend cannot do", QDB_E_UNSUPPORTED);
  }
};

inline bool View::read(const void *bytes, uint64_t size, Fault &fault, ReadOptions options) {
  *this = View();
  if (open(bytes, size, fault)) {
    Verifier verifier{*this, fault, options};
    if (verifier.run()) return true;
  }
  *this = View();
  return false;
}

}  // namespace qd::view
