// outside.cpp: the closed list of functions that generated code may call: the C library's math, its vector forms
// (opened on the first name that needs them), three memory functions, half conversions for processors without them, and
// our report and poll.
#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "backends/cpu/interrupt.hpp"
#include "backends/cpu/loader.hpp"
#include "backends/cpu/report.hpp"

extern "C" {
float __extendhfsf2(_Float16);
_Float16 __truncsfhf2(float);
_Float16 __truncdfhf2(double);
}

namespace qd::cpu {
namespace {

struct Outside {
  std::string_view name;
  void *address;
};

template <class F>
constexpr void *address_of(F *f) {
  return reinterpret_cast<void *>(f);
}

// Both precisions of a math function; the casts choose the C overloads.
#define MATH1(fn)                                                \
  {#fn, address_of(static_cast<double (*)(double)>(::fn))}, {    \
#fn "f", address_of(static_cast <float (*)(float)>(::fn##f)) \
  }
#define MATH2(fn)                                                       \
  {#fn, address_of(static_cast<double (*)(double, double)>(::fn))}, {   \
#fn "f", address_of(static_cast <float (*)(float, float)>(::fn##f)) \
  }
const Outside table[] = {
    MATH1(sin),
    MATH1(cos),
    MATH1(tan),
    MATH1(asin),
    MATH1(acos),
    MATH1(atan),
    MATH1(tanh),
    MATH1(exp),
    MATH1(exp2),
    MATH1(log),
    MATH1(log2),
    MATH1(log10),
    MATH1(cbrt),
    MATH1(sqrt),
    MATH1(floor),
    MATH1(ceil),
    MATH1(trunc),
    MATH1(rint),
    MATH1(nearbyint),
    MATH1(roundeven),
    MATH2(atan2),
    MATH2(pow),
    MATH2(fmin),
    MATH2(fmax),
    {"ldexp", address_of(static_cast<double (*)(double, int)>(::ldexp))},
    {"ldexpf", address_of(static_cast<float (*)(float, int)>(::ldexpf))},
    {"fma", address_of(static_cast<double (*)(double, double, double)>(::fma))},
    {"fmaf", address_of(static_cast<float (*)(float, float, float)>(::fmaf))},
    {"sincos", address_of(::sincos)},
    {"sincosf", address_of(::sincosf)},
    {"memcpy", address_of(static_cast<void *(*)(void *, const void *, size_t)>(::memcpy))},
    {"memmove", address_of(static_cast<void *(*)(void *, const void *, size_t)>(::memmove))},
    {"memset", address_of(static_cast<void *(*)(void *, int, size_t)>(::memset))},
    {"__extendhfsf2", address_of(__extendhfsf2)},
    {"__truncsfhf2", address_of(__truncsfhf2)},
    {"__truncdfhf2", address_of(__truncdfhf2)},
    {"qd_cpu_report", address_of(report)},
    {"qd_cpu_poll", address_of(poll)},
};
#undef MATH1
#undef MATH2

void *libmvec() {  // nothing else loads it; kept for the life of the process, because loaded code calls into it
  static void *const handle = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
  return handle;
}

}  // namespace

void *outside_symbol(std::string_view name) {
  if (name.starts_with("_ZGV")) return libmvec() ? dlsym(libmvec(), std::string(name).c_str()) : nullptr;
  for (const auto &o : table)
    if (o.name == name) return o.address;
  return nullptr;
}

uint32_t vector_math_level() {
  if (!libmvec() || !dlsym(libmvec(), "_ZGVbN4v_sinf")) return 0;
  return dlsym(libmvec(), "_ZGVbN4v_tanhf") ? 2 : 1;
}

}  // namespace qd::cpu
