// builder_threads.cpp: builder methods for threads of a block that work together, and for what a thread knows of itself.
#include <cstring>

#include "builder_method.hpp"

namespace qd::py {
namespace {

using ir::Op;

// What `together` takes besides its kind: a row of ops.def, its operands, and the type of its result.
struct Row {
  const char *name;
  Op op;
  int operands;
  bool truth;      // the first operand is a truth value
  int literal;     // field of the record that holds the kind, -1: none
  DT result;       // of shuffle: that of the operand
};
constexpr Row rows[] = {
    {"thread", Op::thread, 0, false, -1, DT::i32},        {"position", Op::position, 0, false, -1, DT::i32},
    {"barrier", Op::barrier, 0, false, 0, DT::i32},       {"barrier_vote", Op::barrier_vote, 1, true, 1, DT::i32},
    {"fence", Op::fence, 0, false, 0, DT::i32},           {"shuffle", Op::shuffle, 2, false, 2, DT::i32},
    {"vote", Op::vote, 1, true, 1, DT::i32},              {"match", Op::match, 1, false, 1, DT::i32},
    {"active", Op::active, 0, false, -1, DT::i32},        {"clock", Op::clock, 0, false, -1, DT::i64},
};

const Row &row_of(std::string_view name) {
  for (const Row &r : rows)
    if (r.name == name) return r;
  raise("ValueError", "together: no operation '" + std::string(name) + "'");
}

// together(name, kind, mask or None, *operands)
PyObject *together(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 3, 5, "together");
    BuilderState &s = state(self);
    const Row &row = row_of(text(args[0]));
    expect_args(n - 3, row.operands, row.operands, row.name);
    std::array<uint32_t, 3> fields{0, 0, 0};
    DT result = row.result;
    if (row.operands > 0) {
      const Typed x = row.truth ? as_bool(s.lang, operand(s, args[3])) : operand(s, args[3]);
      fields[0] = x.v;
      if (row.op == Op::shuffle) result = x.t, fields[1] = convert(s.lang, operand(s, args[4]), DT::i32).v;
    }
    if (row.literal >= 0) fields[size_t(row.literal)] = uint32_t(int_arg(args[1], "kind"));
    std::vector<ir::Val> mask;
    if (args[2] != Py_None) mask.push_back(convert(s.lang, operand(s, args[2]), DT::i32).v);
    ++s.effects;
    const ir::Type t = ir::info(row.op).result == ir::Result::None ? ir::Type::none : info(result).type;
    const ir::Val v = s.lang.b.emit_taking(row.op, t, mask, fields);
    return t == ir::Type::none ? Py_NewRef(Py_None) : new_value(s, {v, result});
  });
}

PyObject *shared(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 3, 3, "shared");
    BuilderState &s = state(self);
    const DT t = dtype_arg(args[0]);
    const int64_t count = int_arg(args[1], "count");
    if (count < 1 || count > 1 << 20)
      raise("ValueError", "shared: expected 1 to 1048576 elements, found " + std::to_string(count));
    s.param_types.push_back(t);
    const ir::Param p{QD_PARAM_BUFFER, info(t).type, 0, QD_ALIAS_SHARED, uint32_t(count)};
    return PyLong_FromUnsignedLong(s.lang.b.param(p, std::string(text(args[2]))));
  });
}

PyObject *note_loop(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 2, 2, "note_loop");
    const int64_t section = int_arg(args[1], "section");
    if (section < 0 || section > UINT16_MAX) raise("ValueError", "note_loop: section out of range");
    state(self).lang.b.loop() = {std::string(text(args[0])), uint32_t(section)};
    return Py_NewRef(Py_None);
  });
}

PyObject *block_size(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return guarded([&] {
    expect_args(n, 0, 1, "block_size");
    BuilderState &s = state(self);
    if (n == 1) s.lang.b.set_block_size(uint32_t(int_arg(args[0], "block size")));
    return PyLong_FromUnsignedLong(s.lang.b.block_size());
  });
}

}  // namespace

PyMethodDef builder_threads_methods[] = {
    method("together", together, "What threads of a block do together: a row of ops.def by name, its kind, a mask"),
    method("shared", shared, "Memory of a block: the number of its parameter"),
    method("note_loop", note_loop, "Name and section of the parallel that is open: for people, and for the plan"),
    method("block_size", block_size, "Block size of the parallel that is open; sets it when one is given"),
    {}};

}  // namespace qd::py
