// dlpack.cpp: see dlpack.hpp.
#include "dlpack.hpp"

#include <memory>
#include <vector>

#include "runtime.hpp"
#include "values.hpp"

namespace qd::py::dlpack {
namespace {

constexpr const char *old_name = "dltensor", *new_name = "dltensor_versioned";
constexpr const char *used_old_name = "used_dltensor", *used_new_name = "used_dltensor_versioned";
constexpr const char *held_old = "quadrants dltensor", *held_new = "quadrants dltensor_versioned";
constexpr uint64_t flag_readonly = 1;
constexpr uint8_t code_int = 0, code_uint = 1, code_float = 2, code_bool = 6;

uint8_t code_of(DT t) {
  if (t == DT::u1) return code_bool;
  return is_real(t) ? code_float : info(t).sign ? code_int : code_uint;
}

// What a capsule of ours keeps: the objects that the memory belongs to, the extents.
struct Kept {
  std::vector<int64_t> shape, strides;
  Ref owner;
};

// May be called on any thread, with or without the GIL, and after the interpreter ended.
template <class M>
void give_back(M *m) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  delete static_cast<Kept *>(m->context);
  delete m;
  PyGILState_Release(state);
}

template <class M>
M *managed(PyObject *capsule, const char *name) {
  return static_cast<M *>(PyCapsule_GetPointer(capsule, name));
}

// A capsule that nobody took.
void drop_unused(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, old_name)) {
    auto *m = managed<Managed>(capsule, old_name);
    m->deleter(m);
  } else if (PyCapsule_IsValid(capsule, new_name)) {
    auto *m = managed<Versioned>(capsule, new_name);
    m->deleter(m);
  }
}

void drop_held(PyObject *holder) {
  if (PyCapsule_IsValid(holder, held_old)) {
    auto *m = managed<Managed>(holder, held_old);
    if (m->deleter) m->deleter(m);
  } else if (PyCapsule_IsValid(holder, held_new)) {
    auto *m = managed<Versioned>(holder, held_new);
    if (m->deleter) m->deleter(m);
  }
}

void fill(Tensor &t, uint64_t address, DT dtype, Device device, Kept &kept) {
  t.data = reinterpret_cast<void *>(uintptr_t(address));
  t.device = device;
  t.ndim = int32_t(kept.shape.size());
  t.dtype = {code_of(dtype), uint8_t(dtype == DT::u1 ? 8 : 8 * info(dtype).bytes), 1};
  t.shape = kept.shape.data(), t.strides = kept.strides.data();
  t.byte_offset = 0;
}

template <class M>
PyObject *capsule_of(std::unique_ptr<M> m, std::unique_ptr<Kept> kept, const char *name) {
  m->context = kept.release();
  m->deleter = give_back<M>;
  PyObject *capsule = PyCapsule_New(m.get(), name, drop_unused);
  if (!capsule) return give_back(m.release()), nullptr;
  m.release();
  return capsule;
}

std::vector<int64_t> numbers(PyObject *sequence, const char *what) {
  const Items items = items_of(sequence, what);
  std::vector<int64_t> r;
  for (PyObject *o : items.items) r.push_back(int_arg(o, what));
  return r;
}

// dlpack(buffer, offset, dtype, shape, strides, device type, versioned, owner): offset in bytes; `owner` lives as long
// as the capsule or whoever took it.
PyObject *make(PyObject *, PyObject *args) {
  return guarded([&]() -> PyObject * {
    PyObject *buffer, *dtype, *shape, *strides, *owner;
    unsigned long long offset;
    int device, versioned;
    if (!PyArg_ParseTuple(args, "OKOOOipO:dlpack", &buffer, &offset, &dtype, &shape, &strides, &device, &versioned,
                          &owner))
      return nullptr;
    auto kept = std::make_unique<Kept>();
    kept->shape = numbers(shape, "shape"), kept->strides = numbers(strides, "strides");
    const Ref pair = owned(PyTuple_Pack(2, buffer, owner));
    kept->owner = pair;
    if (kept->shape.size() != kept->strides.size()) raise("ValueError", "dlpack: one stride for each extent");
    const uint64_t address = buffer_handle(buffer).buffer->address() + offset;
    if (versioned) {
      auto m = std::make_unique<Versioned>();
      m->major = 1, m->minor = 0, m->flags = 0;
      fill(m->tensor, address, dtype_arg(dtype), {device, 0}, *kept);
      return capsule_of(std::move(m), std::move(kept), new_name);
    }
    auto m = std::make_unique<Managed>();
    fill(m->tensor, address, dtype_arg(dtype), {device, 0}, *kept);
    return capsule_of(std::move(m), std::move(kept), old_name);
  });
}

PyMethodDef functions[] = {{"dlpack", make, METH_VARARGS, "A DLPack capsule over device memory"}, {}};

}  // namespace

int dtype_of(DataType d) {
  if (d.lanes != 1) return -1;
  for (int k = 0; k < int(DT::count); ++k) {
    const int bits = DT(k) == DT::u1 ? 8 : 8 * info(DT(k)).bytes;
    if (code_of(DT(k)) == d.code && bits == d.bits) return k;
  }
  return -1;
}

PyObject *take(PyObject *capsule) {
  const bool old = PyCapsule_IsValid(capsule, old_name);
  if (!old && !PyCapsule_IsValid(capsule, new_name))
    raise("ValueError", "expected a DLPack capsule that nobody has taken, found " + type_name(capsule));
  void *m = PyCapsule_GetPointer(capsule, old ? old_name : new_name);
  if (!old && static_cast<Versioned *>(m)->major != 1)
    raise("ValueError", "DLPack version " + std::to_string(static_cast<Versioned *>(m)->major) + ", expected 1");
  PyObject *holder = checked(PyCapsule_New(m, old ? held_old : held_new, drop_held));
  checked(PyCapsule_SetName(capsule, old ? used_old_name : used_new_name));
  return holder;
}

Seen look(PyObject *holder) {
  if (PyCapsule_IsValid(holder, held_old)) return {&managed<Managed>(holder, held_old)->tensor, true};
  const auto *m = managed<Versioned>(holder, held_new);
  return {&m->tensor, (m->flags & flag_readonly) != 0};
}

void init(PyObject *module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace qd::py::dlpack
