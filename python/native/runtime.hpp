// runtime.hpp: what Python holds of the runtime. The handles keep the core's shared objects; each knows its context,
// since a result or a copy may have to wait for the device.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>

#include "core/api/core.hpp"
#include "py.hpp"

namespace qd::py {

struct ContextHandle {
  std::shared_ptr<Context> context;  // null after close()
  std::string arch, device_name;
  bool host_shared = false;
  uint32_t max_block_shared = 0, clock_khz = 0;
};
struct BufferHandle {
  std::shared_ptr<Buffer> buffer;
};
struct ExecutableHandle {
  std::shared_ptr<Context> context;
  std::shared_ptr<Executable> executable;
  uint32_t result_bytes = 0;  // up to the highest output slot
  std::string plan;           // in stored form, when it was asked for
};

ContextConfig config_of(PyObject *dict);   // ValueError, KeyError naming the field
BufferHandle &buffer_handle(PyObject *o);  // TypeError when it is none
ExecutableHandle &executable_handle(PyObject *o);

void init_runtime(nanobind::module_ &m);
void init_cache_tools(nanobind::module_ &m);
void init_streams(nanobind::module_ &m);
void init_ndarray(PyObject *module);
void init_device_array(PyObject *module);
void init_guards(PyObject *module);
void init_kernel(PyObject *module);

}  // namespace qd::py
