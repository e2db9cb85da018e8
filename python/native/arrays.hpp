// arrays.hpp: array arguments as a call sees them: an address, extents and a kind. The kind is everything that a
// specialisation may depend on, packed into 64 bits, so that "does this argument fit" is one comparison.
#pragma once
#include <cstdint>

#include "dtype.hpp"
#include "py.hpp"

namespace qd::py {

inline constexpr int max_dims = 12;
inline constexpr int max_element_extent = 4095;

enum class Source : uint8_t { nd = 1, numpy = 2, device = 3 };  // no kind is 0: that of a released array

// Kind id, from the lowest bit: source 2, dtype 4 (15: none of ours), ndim 4, element dims 2, element extents 12 each,
// needs_grad 1, narrow 1 (fewer than 2^31 scalars), readonly 1, contiguous 1, then the 24 bits of NdarrayBase._lay_out.
struct ArrayKind {
  Source source;
  DT dtype;
  bool known_dtype;
  uint8_t ndim, element_dims;
  uint16_t element[2];
  bool needs_grad, narrow, readonly, contiguous;

  uint64_t packed() const {
    return uint64_t(source) | uint64_t(known_dtype ? uint8_t(dtype) : 15) << 2 | uint64_t(ndim) << 6 |
           uint64_t(element_dims) << 10 | uint64_t(element[0]) << 12 | uint64_t(element[1]) << 24 |
           uint64_t(needs_grad) << 36 | uint64_t(narrow) << 37 | uint64_t(readonly) << 38 | uint64_t(contiguous) << 39;
  }
};
constexpr Source source_of(uint64_t kind) { return Source(kind & 3); }
constexpr unsigned ndim_of(uint64_t kind) { return kind >> 6 & 15; }

// What a call packs. `shape` points into the array object.
struct ArrayArg {
  uint64_t kind = 0, address = 0;
  const int64_t *shape = nullptr;
};

struct NdarrayObject {
  PyObject_HEAD PyObject *dict, *weak_references, *buffer;
  uint64_t kind, address;  // both 0 once released
  DT dtype;
  uint8_t ndim;
  int64_t shape[max_dims];
};

bool is_ndarray(PyObject *o);
bool is_numpy_array(PyObject *o);  // never imports NumPy: without it there is no array of it
// False when `o` isn't an array of the given source, or has too many dimensions. Sets no error.
bool read_ndarray(PyObject *o, ArrayArg &out);
bool read_numpy(PyObject *o, ArrayArg &out);
bool read_device_array(PyObject *o, ArrayArg &out);  // of another library (device_array.cpp)

void init_ndarray(PyObject *module);
void init_array_kind(PyObject *module);

}  // namespace qd::py
