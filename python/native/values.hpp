// values.hpp: the small objects that the front end holds, and the builder object that they belong to.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "lang.hpp"
#include "py.hpp"

namespace qd::py {

struct DTypeObject {
  PyObject_HEAD DT t;
};

// Value, Var and LocalArray: a record number with its type. `owner` is the builder and function they may be used in.
struct RecordObject {
  PyObject_HEAD ir::Val v;
  uint32_t owner;
  uint32_t size;  // LocalArray: elements. Value: 0, or 1 for parameter `v`, 2 + axis for its extent (new_param_value)
  DT t;
};

struct FunctionInfo {
  uint32_t index;
  std::vector<DT> args, results;
};

struct BuilderState {
  Lang lang;
  std::string name;
  std::vector<DT> param_types;
  std::vector<FunctionInfo> functions;
  std::vector<std::pair<uint32_t, uint32_t>>
      open;              // function info and owner mark of the functions around the current one
  uint32_t owner = 0;    // mark of the current function
  uint32_t current = 0;  // its FunctionInfo, when `open` isn't empty
  uint32_t effects = 0;  // emitted so far, reads included
  bool consumed = false;
  std::unique_ptr<ir::Unit> parsed;  // from parse_ir: nothing can be added
};

struct BuilderObject {
  PyObject_HEAD BuilderState *s;
};

PyObject *dtype_object(DT t);  // borrowed
DT dtype_arg(PyObject *o);     // TypeError when it is none

PyObject *new_value(const BuilderState &, Typed);
// A parameter (axis -1) or an extent of one. It is emitted where it is used, so it may be used in any region and
// function, wherever it was first asked for.
PyObject *new_param_value(const BuilderState &, uint32_t param, int axis, DT);
Typed operand(BuilderState &, PyObject *o);                      // Value, Var (read now), number
Typed number(BuilderState &, PyObject *o, bool has_type, DT t);  // a literal, range-checked
BuilderState &state(PyObject *builder);                          // QuadrantsRuntimeError when it was compiled already
const ir::Unit &unit_of(const BuilderState &);
ir::Unit consume(PyObject *builder);  // for Context.compile

// Arguments that are a list or tuple of anything.
struct Items {
  Ref fast;
  std::span<PyObject *const> items;
};
Items items_of(PyObject *sequence, const char *what);
int64_t int_arg(PyObject *o, const char *what);

void init_dtypes(PyObject *module);
void init_values(PyObject *module);
void init_builder(PyObject *module);
extern PyMethodDef builder_memory_methods[], builder_control_methods[], builder_threads_methods[];  // builder_memory.cpp, ...

}  // namespace qd::py
