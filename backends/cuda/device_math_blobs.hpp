// device_math_blobs.hpp: the functions that make_device_math.cpp wrote at build time, as bitcode.
#pragma once
#include <cstddef>

namespace qd::cuda {

struct DeviceFunction {
  const char *name;  // "qd_sin_f32"
  const unsigned char *bitcode;
  size_t size;
};
extern const DeviceFunction device_functions[];
extern const size_t n_device_functions;

}  // namespace qd::cuda
