// device_array.cpp: arrays of other libraries in the memory of the device. A DeviceArray is what a call reads of one:
// address, extents, kind; it holds the array, or the DLPack capsule, that the memory belongs to.
#include "arrays.hpp"

#include <structmember.h>

#include "dlpack.hpp"
#include "values.hpp"

namespace qd::py {
namespace {

struct DeviceArrayObject {
  PyObject_HEAD PyObject *owner;
  uint64_t kind, address;
  int64_t shape[max_dims];
};
PyTypeObject *type = nullptr;

DeviceArrayObject *self(PyObject *o) { return reinterpret_cast<DeviceArrayObject *>(o); }

PyObject *make(uint64_t address, int dtype, std::span<const int64_t> shape, bool readonly, bool contiguous,
               PyObject *owner) {
  if (shape.size() > size_t(max_dims)) raise("ValueError", "an array has at most 12 dimensions");
  auto *a = self(checked(type->tp_alloc(type, 0)));
  uint64_t total = 1;
  for (size_t k = 0; k < shape.size(); ++k) total *= uint64_t(a->shape[k] = shape[k]);
  const ArrayKind kind{Source::device,
                       DT(dtype < 0 ? 0 : dtype),
                       dtype >= 0,
                       uint8_t(shape.size()),
                       0,
                       {0, 0},
                       false,
                       total < uint64_t(1) << 31,
                       readonly,
                       contiguous};
  a->kind = kind.packed(), a->address = address, a->owner = Py_NewRef(owner);
  return reinterpret_cast<PyObject *>(a);
}

bool packed_strides(std::span<const int64_t> shape, const int64_t *strides) {
  int64_t step = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    if (shape[k] == 0) return true;
    if (shape[k] != 1 && strides[k] != step) return false;
    step *= shape[k];
  }
  return true;
}

// device_array(address, dtype or None, shape, readonly, contiguous, owner)
PyObject *device_array(PyObject *, PyObject *args) {
  return guarded([&]() -> PyObject * {
    unsigned long long address;
    PyObject *dtype, *shape, *owner;
    int readonly, contiguous;
    if (!PyArg_ParseTuple(args, "KOOppO:device_array", &address, &dtype, &shape, &readonly, &contiguous, &owner))
      return nullptr;
    const Items extents = items_of(shape, "shape");
    std::vector<int64_t> numbers;
    for (PyObject *e : extents.items) numbers.push_back(int_arg(e, "shape"));
    return make(address, dtype == Py_None ? -1 : int(dtype_arg(dtype)), numbers, readonly, contiguous, owner);
  });
}

// device_array_of(capsule, device type, number): takes a DLPack capsule over, so that nobody else gives its memory back.
PyObject *device_array_of(PyObject *, PyObject *args) {
  return guarded([&]() -> PyObject * {
    PyObject *capsule;
    int type, number;
    if (!PyArg_ParseTuple(args, "Oii:device_array_of", &capsule, &type, &number)) return nullptr;
    const Ref holder = owned(dlpack::take(capsule));
    const dlpack::Seen seen = dlpack::look(holder.get());
    const dlpack::Device at = seen.tensor->device;
    if (at.type != type || at.id != number)
      raise("BufferError", "the capsule holds memory of DLPack device (" + std::to_string(at.type) + ", " +
                               std::to_string(at.id) + "), its exporter said (" + std::to_string(type) + ", " +
                               std::to_string(number) + ")");
    const std::span<const int64_t> shape(seen.tensor->shape, size_t(seen.tensor->ndim));
    const uint64_t address = reinterpret_cast<uint64_t>(seen.tensor->data) + seen.tensor->byte_offset;
    return make(address, dlpack::dtype_of(seen.tensor->dtype), shape, seen.readonly,
                !seen.tensor->strides || packed_strides(shape, seen.tensor->strides), holder.get());
  });
}

void free_array(PyObject *o) {
  PyTypeObject *t = Py_TYPE(o);
  Py_CLEAR(self(o)->owner);
  t->tp_free(o);
  Py_DECREF(t);
}

PyMethodDef functions[] = {
    {"device_array", device_array, METH_VARARGS, "An array in device memory that somebody else owns"},
    {"device_array_of", device_array_of, METH_VARARGS, "The array of a DLPack capsule, which is used up"},
    {}};
PyMemberDef members[] = {{"owner", T_OBJECT, offsetof(DeviceArrayObject, owner), READONLY, "whose memory it is"}, {}};
PyType_Slot slots[] = {{Py_tp_dealloc, (void *)free_array},
                       {Py_tp_members, members},
                       {Py_tp_doc, (void *)"What a kernel call reads of an array in device memory."},
                       {0, nullptr}};
PyType_Spec spec = {"quadrants._native.DeviceArray", sizeof(DeviceArrayObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

bool read_device_array(PyObject *o, ArrayArg &out) {
  if (Py_TYPE(o) != type) return false;
  out = {self(o)->kind, self(o)->address, self(o)->shape};
  return true;
}

void init_device_array(PyObject *module) {
  type = make_type(module, spec);
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace qd::py
