// driver.cpp: see driver.hpp. libcuda.so.1 is what a driver installs; libcuda.so is a link that some systems have
// besides. QD_CUDA_DRIVER names another file: tests bring a stand-in.
#include "backends/cuda/driver.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <mutex>

namespace qd::cuda {
namespace {

using plugin::Failure;

struct Opened {
  Driver table;
  QdbStatus status = QDB_OK;  // why there is no driver
  std::string why;
  int native = 0;
};

void *open_library(std::string &tried) {
  const char *given = std::getenv("QD_CUDA_DRIVER");
  const char *const usual[] = {"libcuda.so.1", "libcuda.so"};
  const char *const only[] = {given, given};
  for (const char *name : given &&*given ? only : usual) {
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    const char *why = dlerror();
    tried += (tried.empty() ? "" : "; ") + std::string(why ? why : name);
    if (given && *given) break;
  }
  return nullptr;
}

std::string text_of(const Driver &d, CUresult r) {
  const char *name = nullptr, *text = nullptr;
  if (d.cuGetErrorName) d.cuGetErrorName(r, &name);
  if (d.cuGetErrorString) d.cuGetErrorString(r, &text);
  return std::string(name ? name : "error") + " (" + std::to_string(r) + (text ? std::string(", ") + text : "") + ")";
}

struct Answer {
  CUresult code;
  QdbStatus status;
  const char *text;
};
constexpr Answer answers[] = {
#define ERROR(code, name, status, text) {code, QDB_E_##status, text},
#include "backends/cuda/errors.def"
};

const Answer &answer_of(CUresult r) {
  static constexpr Answer unexpected{0, QDB_E_INTERNAL, "unexpected"};
  for (const Answer &a : answers)
    if (a.code == r) return a;
  return unexpected;
}
const char *hint_of(CUresult r) { return answer_of(r).text; }

std::unique_ptr<Opened> open_driver() {
  auto o = std::make_unique<Opened>();
  const auto refuse = [&](QdbStatus status, std::string why, int native = 0) {
    o->status = status, o->why = std::move(why), o->native = native;
    return std::move(o);
  };
  std::string tried;
  void *library = open_library(tried);
  if (!library)
    return refuse(QDB_E_NO_DRIVER,
                  "the NVIDIA driver is not installed (" + tried + "): install the driver of your GPU");
  std::string missing;
#define FN(need, name, symbol, parameters)                                          \
  o->table.name = reinterpret_cast<CUresult(*) parameters>(dlsym(library, symbol)); \
  if (!o->table.name && std::string_view(#need) == "must" && missing.empty()) missing = symbol;
#include "backends/cuda/driver.def"
  if (!missing.empty())
    return refuse(QDB_E_OLD_DRIVER, "the NVIDIA driver lacks " + missing + ": install driver 470 (CUDA 11.4) or newer");
  if (const CUresult r = o->table.cuInit(0))
    return refuse(
        status_of(r),
        std::string("the NVIDIA driver does not start: ") + hint_of(r) + "; cuInit answered " + text_of(o->table, r),
        r);
  if (const CUresult r = o->table.cuDriverGetVersion(&o->table.version))
    return refuse(status_of(r), "cuDriverGetVersion answered " + text_of(o->table, r), r);
  const int v = o->table.version;
  if (v < oldest_driver)
    return refuse(QDB_E_OLD_DRIVER, "the NVIDIA driver speaks CUDA " + std::to_string(v / 1000) + "." +
                                        std::to_string(v % 1000 / 10) + ", expected 11.4 or newer: update the driver");
  return o;
}

}  // namespace

QdbStatus status_of(CUresult r) { return answer_of(r).status; }

void fail(const Driver &d, CUresult r, const std::string &what, std::string where) {
  Failure f(status_of(r), std::string(hint_of(r)) + "; " + what + " answered " + text_of(d, r), std::move(where));
  f.domain = "cuda";
  f.native = r;
  throw f;
}

const Driver &driver() {
  static std::mutex mutex;
  static std::unique_ptr<Opened> opened;  // of the process: the library is never closed
  const std::lock_guard lock(mutex);
  // A refusal is not kept: tests and long-lived processes may get a driver later.
  if (!opened || opened->status < 0) opened = open_driver();
  if (opened->status < 0) {
    Failure f(opened->status, opened->why);
    f.domain = "cuda";
    f.native = opened->native;
    throw f;
  }
  return opened->table;
}

}  // namespace qd::cuda
