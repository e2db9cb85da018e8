// module.cpp: puts the module together. Classes on hot paths are hand-written heap types; the runtime's handles are
// nanobind's.
#include <nanobind/nanobind.h>

#include "dlpack.hpp"
#include "runtime.hpp"
#include "values.hpp"

NB_MODULE(_native, m) {
  using namespace qd::py;
  nanobind::set_leak_warnings(false);  // kernels and arrays may live until the interpreter ends
  try {
    PyObject *module = m.ptr();
    init_dtypes(module);
    init_values(module);
    init_builder(module);
    init_runtime(m);
    init_cache_tools(m);
    init_streams(m);
    init_ndarray(module);
    init_device_array(module);
    dlpack::init(module);
    init_guards(module);
    init_kernel(module);
  } catch (const PythonError &) { throw nanobind::python_error(); }
}
