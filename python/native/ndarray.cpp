// ndarray.cpp: the base of the Ndarray classes. Python keeps everything that a user sees; here are the fields that a
// call reads.
#include "arrays.hpp"

#include <structmember.h>

#include "runtime.hpp"
#include "values.hpp"

namespace qd::py {
namespace {

NdarrayObject *self(PyObject *o) { return reinterpret_cast<NdarrayObject *>(o); }

int64_t extent(PyObject *o) {
  const int64_t n = int_arg(o, "shape");
  if (n < 0) raise("ValueError", "shape: expected an extent of 0 or more, found " + std::to_string(n));
  return n;
}

int init(PyObject *o, PyObject *args, PyObject *kwargs) {
  return guarded_as<int>(-1, [&]() -> int {
    static const char *names[] = {"buffer", "dtype", "shape", "element_shape", "has_grad", nullptr};
    PyObject *buffer, *dtype, *shape, *element_shape;
    int has_grad;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOp:NdarrayBase", const_cast<char **>(names), &buffer, &dtype,
                                     &shape, &element_shape, &has_grad))
      return -1;
    NdarrayObject *a = self(o);
    ArrayKind k{Source::nd, dtype_arg(dtype), true, 0, 0, {0, 0}, has_grad != 0, true, false, true};
    const Items extents = items_of(shape, "shape"), element = items_of(element_shape, "element_shape");
    if (extents.items.size() > size_t(max_dims) || element.items.size() > 2)
      raise("ValueError", "an ndarray has at most 12 dimensions and 2 element dimensions");
    uint64_t total = 1;
    for (size_t i = 0; i < extents.items.size(); ++i) total *= uint64_t(a->shape[i] = extent(extents.items[i]));
    for (PyObject *e : element.items) {
      const int64_t n = extent(e);
      if (n < 1 || n > max_element_extent)
        raise("ValueError", "element_shape: expected extents of 1 to 4095, found " + std::to_string(n));
      total *= uint64_t(k.element[k.element_dims++] = uint16_t(n));
    }
    k.narrow = total < uint64_t(1) << 31;
    k.ndim = uint8_t(extents.items.size());
    const BufferHandle &handle = buffer_handle(buffer);
    if (handle.buffer->size() < total * info(k.dtype).bytes)
      raise("ValueError", "a buffer of " + std::to_string(handle.buffer->size()) + " bytes is too small for " +
                              std::to_string(total) + " elements");
    a->dtype = k.dtype;
    a->ndim = k.ndim;
    a->kind = k.packed();
    a->address = handle.buffer->address();
    Py_XSETREF(a->buffer, Py_NewRef(buffer));
    return 0;
  });
}

int traverse(PyObject *o, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self(o)->dict);
  Py_VISIT(self(o)->buffer);
  return 0;
}
int clear(PyObject *o) {
  self(o)->kind = self(o)->address = 0;
  Py_CLEAR(self(o)->dict);
  Py_CLEAR(self(o)->buffer);
  return 0;
}
void free_ndarray(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  if (self(o)->weak_references) PyObject_ClearWeakRefs(o);
  clear(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject *shape(PyObject *o, void *) {
  PyObject *t = PyTuple_New(self(o)->ndim);
  if (!t) return nullptr;
  for (int i = 0; i < self(o)->ndim; ++i) {
    PyObject *n = PyLong_FromLongLong(self(o)->shape[i]);
    if (!n) return Py_DECREF(t), nullptr;
    PyTuple_SET_ITEM(t, i, n);
  }
  return t;
}
PyObject *buffer(PyObject *o, void *) { return Py_NewRef(self(o)->buffer ? self(o)->buffer : Py_None); }
PyObject *kind(PyObject *o, void *) { return PyLong_FromUnsignedLongLong(self(o)->kind); }
PyObject *release(PyObject *o, PyObject *) {
  self(o)->kind = self(o)->address = 0;
  Py_CLEAR(self(o)->buffer);
  return Py_NewRef(Py_None);
}

// Marks an array whose axes the front end takes in another order, so that no call takes it for one in the usual order.
PyObject *lay_out(PyObject *o, PyObject *code) {
  return guarded([&] {
    const int64_t bits = int_arg(code, "layout");
    if (bits < 0 || bits >> 24) raise("ValueError", "a layout has 24 bits");
    NdarrayObject *a = self(o);
    a->kind = (a->kind & ((uint64_t(1) << 40) - 1)) | uint64_t(bits) << 40;
    return Py_NewRef(Py_None);
  });
}

PyGetSetDef getset[] = {{"shape", shape, nullptr, "extents, without those of an element", nullptr},
                        {"_buffer", buffer, nullptr, "the Buffer; None once released", nullptr},
                        {"_kind", kind, nullptr, "kind id", nullptr},
                        {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                        {}};
PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(NdarrayObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(NdarrayObject, weak_references), READONLY, nullptr},
    {}};
PyMethodDef methods[] = {
    {"_lay_out", lay_out, METH_O, "Makes a code of 24 bits part of the kind id"},
    {"_release", release, METH_NOARGS, "Lets go of the memory; no call accepts the array from then on"},
    {}};
PyType_Slot slots[] = {{Py_tp_init, (void *)init},
                       {Py_tp_traverse, (void *)traverse},
                       {Py_tp_clear, (void *)clear},
                       {Py_tp_dealloc, (void *)free_ndarray},
                       {Py_tp_getset, getset},
                       {Py_tp_members, members},
                       {Py_tp_methods, methods},
                       {Py_tp_new, (void *)PyType_GenericNew},
                       {Py_tp_doc, (void *)"What a kernel call reads of an ndarray."},
                       {0, nullptr}};
PyType_Spec spec = {"quadrants._native.NdarrayBase", sizeof(NdarrayObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

bool is_ndarray(PyObject *o) { return PyObject_TypeCheck(o, types.ndarray); }

bool read_ndarray(PyObject *o, ArrayArg &out) {
  if (!is_ndarray(o)) return false;
  out = {self(o)->kind, self(o)->address, self(o)->shape};
  return true;
}

void init_ndarray(PyObject *module) {
  types.ndarray = make_type(module, spec);
  init_array_kind(module);
}

}  // namespace qd::py
