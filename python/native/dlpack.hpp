// dlpack.hpp: DLPack's structures (its documentation, versions 0.8 and 1.0), capsules of ours over device memory, and
// capsules of others taken over. Host memory goes through NumPy, which speaks the protocol itself.
#pragma once
#include <cstdint>

#include "dtype.hpp"
#include "py.hpp"

namespace qd::py::dlpack {

struct Device {
  int32_t type, id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Tensor {
  void *data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t *shape, *strides;  // strides in elements; null: packed
  uint64_t byte_offset;
};
struct Managed {  // capsule "dltensor"
  Tensor tensor;
  void *context;
  void (*deleter)(Managed *);
};
struct Versioned {  // capsule "dltensor_versioned"
  uint32_t major, minor;
  void *context;
  void (*deleter)(Versioned *);
  uint64_t flags;
  Tensor tensor;
};

int dtype_of(DataType);  // number of a DT, or -1

// A holder (a capsule of our own) of what a fresh capsule holds, which is used up. ValueError, TypeError.
PyObject *take(PyObject *capsule);
struct Seen {
  const Tensor *tensor;
  bool readonly;
};
Seen look(PyObject *holder);

void init(PyObject *module);

}  // namespace qd::py::dlpack
