// builder_control.cpp: builder methods for regions, functions, results and reports.
#include <tuple>

#include "builder_method.hpp"

namespace qd::py {
namespace {

using ir::Op;

PyObject *none() { return Py_NewRef(Py_None); }

ir::Val record(BuilderState &s, Op op, std::array<uint32_t, 3> arg = {0, 0, 0}, ir::Type type = ir::Type::none) {
  ++s.effects;
  return s.lang.b.emit(op, type, arg);
}

// A loop bound: an integer as an index; of a real, its integer part.
Typed bound(BuilderState &s, PyObject *o) {
  const Typed x = operand(s, o);
  return is_real(x.t) ? convert(s.lang, x, DT::i32) : as_index(s.lang, x);
}

PyObject *parallel(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 3, "parallel");
    BuilderState &s = state(self);
    const Items lo = items_of(args[0], "lo"), hi = items_of(args[1], "hi");
    const int64_t block = n == 3 ? int_arg(args[2], "block_dim") : 0;
    if (lo.items.empty() || lo.items.size() != hi.items.size() || lo.items.size() > 12)
      raise("ValueError", "parallel: expected 1 to 12 axes, with a low and a high bound each");
    if (block < 0 || block > UINT16_MAX) raise("ValueError", "parallel: block_dim out of range");
    std::vector<Typed> bounds;
    bool wide = false;
    for (size_t i = 0; i < lo.items.size(); ++i)
      for (PyObject *o : {lo.items[i], hi.items[i]}) wide |= bounds.emplace_back(bound(s, o)).t == DT::i64;
    const DT t = wide ? DT::i64 : DT::i32;
    std::vector<ir::Val> taken;
    for (const Typed &x : bounds) taken.push_back(convert(s.lang, x, t).v);
    ++s.effects;
    s.lang.b.emit_taking(Op::parallel, info(t).type, taken, {uint32_t(lo.items.size()), uint32_t(block), 0});
    Ref list = owned(PyList_New(Py_ssize_t(lo.items.size())));
    for (size_t i = 0; i < lo.items.size(); ++i)
      PyList_SET_ITEM(list.get(), Py_ssize_t(i),
                      new_value(s, {s.lang.b.emit(Op::axis, info(t).type, {uint32_t(i), 0, 0}), t}));
    return list.release();
  });
}

PyObject *loop(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "loop");
    BuilderState &s = state(self);
    const Typed lo = bound(s, args[0]), hi = bound(s, args[1]);
    const DT t = promote(lo.t, hi.t);
    const ir::Val a = convert(s.lang, lo, t).v, b = convert(s.lang, hi, t).v;
    return new_value(s, {record(s, Op::loop, {a, b, 0}, info(t).type), t});
  });
}

template <Op op>
PyObject *bare(PyObject *self, PyObject *const *, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 0, 0, "this method");
    record(state(self), op);
    return none();
  });
}

PyObject *end(PyObject *self, PyObject *const *, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 0, 0, "end");
    BuilderState &s = state(self);
    if (s.lang.b.depth() == 0) raise("QuadrantsCompilationError", "end: no region is open");
    record(s, Op::end);
    return none();
  });
}

PyObject *when(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 1, 1, "when");
    BuilderState &s = state(self);
    const Typed cond = as_bool(s.lang, operand(s, args[0]));
    record(s, Op::when, {cond.v, 0, 0});
    return none();
  });
}

PyObject *leave(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 1, 1, "leave");
    BuilderState &s = state(self);
    const int64_t depth = int_arg(args[0], "depth");
    if (depth < 0 || depth >= int64_t(s.lang.b.depth()))
      raise("ValueError", "leave: no label at depth " + std::to_string(depth));
    record(s, Op::leave, {uint32_t(depth), 0, 0});
    return none();
  });
}

PyObject *depth(PyObject *self, PyObject *const *, Py_ssize_t) {
  return guarded([&] { return PyLong_FromUnsignedLong(state(self).lang.b.depth()); });
}

std::vector<DT> dtypes_of(PyObject *o, const char *what) {
  std::vector<DT> r;
  const Items list = items_of(o, what);
  for (PyObject *t : list.items) r.push_back(dtype_arg(t));
  return r;
}

std::vector<ir::Val> converted(BuilderState &s, PyObject *sequence, const std::vector<DT> &to, const char *what) {
  const Items list = items_of(sequence, what);
  if (list.items.size() != to.size())
    raise("ValueError", std::string(what) + ": expected " + std::to_string(to.size()) + " values, found " +
                            std::to_string(list.items.size()));
  std::vector<ir::Val> r;
  for (size_t i = 0; i < to.size(); ++i) r.push_back(convert(s.lang, operand(s, list.items[i]), to[i]).v);
  return r;
}

PyObject *open_function(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "open_function");
    BuilderState &s = state(self);
    FunctionInfo f{0, dtypes_of(args[0], "args"), dtypes_of(args[1], "results")};
    f.index = s.lang.b.open_function(uint32_t(f.args.size()), uint32_t(f.results.size()));
    s.open.emplace_back(s.current, s.owner);
    s.current = uint32_t(s.functions.size());
    s.owner = new_owner();
    s.functions.push_back(f);
    Ref list = owned(PyList_New(Py_ssize_t(f.args.size())));
    for (size_t i = 0; i < f.args.size(); ++i)
      PyList_SET_ITEM(list.get(), Py_ssize_t(i),
                      new_value(s, {s.lang.b.emit(Op::farg, info(f.args[i]).type, {uint32_t(i), 0, 0}), f.args[i]}));
    return Py_BuildValue("(IO)", f.index, list.get());
  });
}

PyObject *close_function(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 1, 1, "close_function");
    BuilderState &s = state(self);
    if (s.open.empty()) raise("QuadrantsCompilationError", "close_function: no function is open");
    const auto results = converted(s, args[0], s.functions[s.current].results, "results");
    s.lang.b.emit_taking(Op::ret, ir::Type::none, results);
    s.lang.b.close_function();
    std::tie(s.current, s.owner) = s.open.back();
    s.open.pop_back();
    return none();
  });
}

PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "call");
    BuilderState &s = state(self);
    const int64_t index = int_arg(args[0], "function");
    const FunctionInfo *f = nullptr;
    for (const FunctionInfo &candidate : s.functions)
      if (candidate.index == index) f = &candidate;
    if (!f) raise("ValueError", "call: no function number " + std::to_string(index));
    const auto values = converted(s, args[1], f->args, "args");
    ++s.effects;
    const ir::Val site = s.lang.b.emit_taking(Op::call, ir::Type::none, values, {uint32_t(index), 0, 0});
    Ref list = owned(PyList_New(Py_ssize_t(f->results.size())));
    for (size_t i = 0; i < f->results.size(); ++i)
      PyList_SET_ITEM(
          list.get(), Py_ssize_t(i),
          new_value(s, {s.lang.b.emit(Op::result, info(f->results[i]).type, {site, uint32_t(i), 0}), f->results[i]}));
    return list.release();
  });
}

PyObject *output(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "output");
    BuilderState &s = state(self);
    const int64_t slot = int_arg(args[0], "slot");
    if (slot < 0 || slot >= int64_t(QD_RESULT_BYTES / 8))
      raise("QuadrantsCompilationError",
            "a kernel returns at most " + std::to_string(QD_RESULT_BYTES / 8) + " scalars");
    const ir::Val x = operand(s, args[1]).v;
    record(s, Op::output, {uint32_t(slot), x, 0});
    return none();
  });
}

PyObject *report(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 3, 3, "report");
    BuilderState &s = state(self);
    const int64_t site = int_arg(args[0], "site");
    const int failure = PyObject_IsTrue(args[1]);
    checked(failure);
    if (site < 0 || site > UINT32_MAX) raise("ValueError", "report: site out of range");
    const Items list = items_of(args[2], "values");
    std::vector<ir::Val> values;
    for (PyObject *o : list.items) values.push_back(operand(s, o).v);
    ++s.effects;
    s.lang.b.emit_taking(Op::report, ir::Type::none, values, {uint32_t(site), uint32_t(failure), 0});
    return none();
  });
}

}  // namespace

PyMethodDef builder_control_methods[] = {
    method("parallel", parallel, "Opens a parallel loop; the index along each axis"),
    method("loop", loop, "Opens a serial loop; its index"),
    method("repeat", bare<Op::repeat>, "Opens a loop that runs until left"),
    method("block", bare<Op::block>, "Opens a block"),
    method("when", when, "Opens a conditional"),
    method("other", bare<Op::other>, "Its alternative"),
    method("end", end, "Closes the innermost region"),
    method("leave", leave, "Goes to the end of an enclosing label"),
    method("depth", depth, "Open regions"),
    method("open_function", open_function, "Begins a function; its number and arguments"),
    method("close_function", close_function, "Ends it with its results"),
    method("call", call, "Calls a function; its results"),
    method("output", output, "Writes a slot of the result buffer"),
    method("report", report, "Appends to the report buffer"),
    {}};

}  // namespace qd::py
