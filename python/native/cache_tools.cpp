// cache_tools.cpp: the cache folder for `python -m quadrants cache`, and traces: plain functions over core/api.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "runtime.hpp"

namespace nb = nanobind;

namespace qd::py {
namespace {

nb::dict as_dict(const CacheEntry &e) {
  nb::dict d, components;
#define FIELD(name) d[#name] = e.name;
  FIELD(path)
  FIELD(tier)
  FIELD(arch)
  FIELD(key)
  FIELD(version)
  FIELD(payload_digest)
  FIELD(problem)
  FIELD(file_bytes)
  FIELD(payload_bytes)
  FIELD(hits)
  FIELD(used)
#undef FIELD
  for (const auto &[name, digest] : e.components) components[nb::str(name.c_str())] = digest;
  d["components"] = components;
  return d;
}

nb::list list(const std::string &root, bool whole) {
  std::vector<CacheEntry> found;
  {
    nb::gil_scoped_release nogil;
    found = cache_list(root, whole);
  }
  nb::list out;
  for (const CacheEntry &e : found) out.append(as_dict(e));
  return out;
}

nb::object read(const std::string &root, const std::string &path) {
  const auto found = cache_read(root, path);
  if (!found) return nb::none();
  return nb::bytes(found->data(), found->size());
}

}  // namespace

void init_cache_tools(nb::module_ &m) {
  m.def("cache_list", list, nb::arg("root"), nb::arg("whole") = false);
  m.def("cache_read", read, nb::arg("root"), nb::arg("path"));
  m.def("cache_import", [](const std::string &root, const nb::bytes &file) {
    return cache_import(root, {file.c_str(), file.size()});
  });
  m.def("cache_clean", [](const std::string &root, const std::string &policy, uint64_t max_bytes, double factor) {
    nb::gil_scoped_release nogil;
    return cache_clean(root, policy, max_bytes, factor);
  });
  m.def("trace_start", &trace_start);
  m.def("trace_stop", [] {
    nb::gil_scoped_release nogil;
    trace_stop();
  });
  m.def("trace_add", [](const std::string &category, const std::string &name, const std::string &note, int64_t begin,
                        int64_t end) { trace_add(category, name, note, begin, end); });
  m.def("plan_tasks", [](const nb::bytes &plan) { return plan_tasks({plan.c_str(), plan.size()}); });
}

}  // namespace qd::py
