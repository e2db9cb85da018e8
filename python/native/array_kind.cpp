// array_kind.cpp: NumPy arrays without their headers. The head of an array object has had the same layout since
// NumPy 1.7; it is checked against what an array says of itself before the first use, and where it differs arrays are
// read through the buffer protocol, which is slower. array_kind() describes a kind for the front end.
#include <cstring>
#include <unordered_map>

#include "arrays.hpp"
#include "values.hpp"

namespace qd::py {
namespace {

struct NumpyArray {  // head of PyArrayObject
  PyObject_HEAD char *data;
  int nd;
  Py_ssize_t *dimensions, *strides;
  PyObject *base, *descr;
  int flags;
};
constexpr int c_contiguous = 0x1, aligned = 0x100, writeable = 0x400;
static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));

// What was learnt of NumPy; guarded by the GIL. References are kept: NumPy is never unloaded.
struct Numpy {
  PyTypeObject *array = nullptr;
  bool layout_holds = false;
  PyObject *last_descr = nullptr;  // the dtype object met last, and its type
  int last_dtype = -1;
  std::unordered_map<PyObject *, int> dtypes;  // dtype object to DT, or -1
};
Numpy &numpy() {
  static auto &n = *new Numpy;
  return n;
}

Ref attribute(PyObject *o, const char *name) { return owned(PyObject_GetAttrString(o, name)); }
long long integer(PyObject *o) { return int_arg(o, "NumPy"); }

int find_dtype(char kind, long long bytes) {
  for (size_t i = 0; i < size_t(DT::count); ++i)
    if (info(DT(i)).numpy == kind && info(DT(i)).bytes == bytes) return int(i);
  return -1;
}

int describe_dtype(PyObject *descr) {
  const Ref kind = attribute(descr, "kind"), size = attribute(descr, "itemsize"), native = attribute(descr, "isnative");
  return native.get() == Py_True ? find_dtype(text(kind.get())[0], integer(size.get())) : -1;
}

int dtype_of(PyObject *descr) {
  Numpy &n = numpy();
  if (descr == n.last_descr) return n.last_dtype;
  auto it = n.dtypes.find(descr);
  if (it == n.dtypes.end()) {
    const int t = describe_dtype(descr);
    if (n.dtypes.size() >= 1024) return t;  // odd dtypes made by the thousand: described each time
    it = n.dtypes.emplace(Py_NewRef(descr), t).first;
  }
  n.last_descr = descr;
  return n.last_dtype = it->second;
}

// Makes an array and compares what the structure says with what the array says.
bool check_layout(PyObject *module) {
  const Ref list = owned(Py_BuildValue("((ddd)(ddd))", 1., 2., 3., 4., 5., 6.));
  const Ref probe = owned(PyObject_CallMethod(module, "array", "(O)", list.get()));
  const auto *a = reinterpret_cast<NumpyArray *>(probe.get());
  const Ref interface = attribute(probe.get(), "__array_interface__"), descr = attribute(probe.get(), "dtype");
  const Ref flags_object = attribute(probe.get(), "flags"), flags = attribute(flags_object.get(), "num");
  PyObject *data = PyDict_GetItemString(interface.get(), "data");
  const Ref basic_size =
      owned(PyObject_GetAttrString(reinterpret_cast<PyObject *>(Py_TYPE(probe.get())), "__basicsize__"));
  return integer(basic_size.get()) >= long(sizeof(NumpyArray)) && data && PyTuple_Check(data) && a->nd == 2 &&
         reinterpret_cast<long long>(a->data) == integer(PyTuple_GET_ITEM(data, 0)) && a->descr == descr.get() &&
         a->flags == integer(flags.get()) && a->dimensions[0] == 2 && a->dimensions[1] == 3 && a->strides[0] == 24 &&
         a->strides[1] == 8;
}

PyTypeObject *numpy_array_type() {
  Numpy &n = numpy();
  if (n.array) return n.array;
  PyObject *modules = PyImport_GetModuleDict();
  PyObject *module = PyDict_GetItemString(modules, "numpy");
  if (!module) return nullptr;
  try {
    const Ref type = attribute(module, "ndarray");
    n.layout_holds = check_layout(module);
    n.array = reinterpret_cast<PyTypeObject *>(Py_NewRef(type.get()));
  } catch (const PythonError &) {
    PyErr_Clear();  // NumPy is half imported: there are no arrays yet
  }
  return n.array;
}

ArrayKind numpy_kind(int dtype, int nd, const int64_t *shape, bool readonly, bool contiguous) {
  uint64_t total = 1;
  for (int i = 0; i < nd; ++i) total *= uint64_t(shape[i]);
  return {Source::numpy, DT(dtype < 0 ? 0 : dtype), dtype >= 0, uint8_t(nd), 0, {0, 0},
          false,         total < uint64_t(1) << 31, readonly,   contiguous};
}

bool read_by_protocol(PyObject *o, ArrayArg &out) {
  const Ref descr = attribute(o, "dtype");
  Py_buffer view;
  bool readonly = false;
  if (PyObject_GetBuffer(o, &view, PyBUF_STRIDED) < 0) {
    PyErr_Clear();
    readonly = true;
    if (PyObject_GetBuffer(o, &view, PyBUF_STRIDED_RO) < 0) return PyErr_Clear(), false;
  }
  static thread_local int64_t shape[max_dims];
  const bool fits = view.ndim <= max_dims;
  if (fits) {
    std::memcpy(shape, view.shape, sizeof(int64_t) * size_t(view.ndim));
    const bool contiguous = PyBuffer_IsContiguous(&view, 'C') == 1;
    out = {numpy_kind(dtype_of(descr.get()), view.ndim, shape, readonly, contiguous).packed(),
           reinterpret_cast<uint64_t>(view.buf), shape};
  }
  PyBuffer_Release(&view);
  return fits;
}

PyObject *tuple_of(const int64_t *extents, unsigned n) {
  Ref t = owned(PyTuple_New(n));
  for (unsigned i = 0; i < n; ++i) PyTuple_SET_ITEM(t.get(), i, checked(PyLong_FromLongLong(extents[i])));
  return t.release();
}

constexpr const char *source_names[] = {"none", "nd", "numpy", "device"};

PyObject *describe(const ArrayArg &a) {
  const uint64_t k = a.kind;
  const unsigned dtype = k >> 2 & 15, element_dims = k >> 10 & 3;
  const int64_t element[2] = {int64_t(k >> 12 & 4095), int64_t(k >> 24 & 4095)};
  const auto bit = [k](int at) { return k >> at & 1 ? Py_True : Py_False; };
  const Ref shape = owned(tuple_of(a.shape, ndim_of(k))), elements = owned(tuple_of(element, element_dims));
  return Py_BuildValue("(K{s:s,s:O,s:I,s:O,s:O,s:O,s:O,s:O,s:O})", (unsigned long long)k, "source",
                       source_names[size_t(source_of(k))], "dtype", dtype == 15 ? Py_None : dtype_object(DT(dtype)),
                       "ndim", ndim_of(k), "shape", shape.get(), "element_shape", elements.get(), "needs_grad", bit(36),
                       "narrow", bit(37), "readonly", bit(38), "contiguous", bit(39));
}

PyObject *array_kind(PyObject *, PyObject *o) {
  return guarded([&]() -> PyObject * {
    ArrayArg a;
    if ((read_ndarray(o, a) || read_numpy(o, a) || read_device_array(o, a)) && a.kind) return describe(a);
    return Py_NewRef(Py_None);
  });
}
PyMethodDef functions[] = {
    {"array_kind", array_kind, METH_O, "Kind id and description of an array that a call takes; None for anything else"},
    {}};

}  // namespace

bool is_numpy_array(PyObject *o) {
  PyTypeObject *type = numpy_array_type();
  return type && PyObject_TypeCheck(o, type);
}

bool read_numpy(PyObject *o, ArrayArg &out) {
  if (!is_numpy_array(o)) return false;
  if (!numpy().layout_holds) return read_by_protocol(o, out);
  const auto *a = reinterpret_cast<NumpyArray *>(o);
  if (a->nd > max_dims) return false;
  const bool whole = (a->flags & (c_contiguous | aligned)) == (c_contiguous | aligned);
  const auto *shape = reinterpret_cast<const int64_t *>(a->dimensions);
  out = {numpy_kind(dtype_of(a->descr), a->nd, shape, !(a->flags & writeable), whole).packed(),
         reinterpret_cast<uint64_t>(a->data), shape};
  return true;
}

void init_array_kind(PyObject *module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace qd::py
