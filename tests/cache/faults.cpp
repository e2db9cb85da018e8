// faults.cpp: see faults.hpp. The wrappers are in front of the C library's because they are linked into the program.
#include "faults.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstring>

namespace qd::test {
namespace {

std::atomic<int> wanted_call{-1}, wanted_number{0}, wanted_error{0};
std::atomic<int> counts[n_calls];

}  // namespace

void plan_fault(Call call, int number, int error) {
  for (auto &c : counts) c = 0;
  wanted_number = number;
  wanted_error = error;
  wanted_call = int(call);
}
void no_faults() {
  wanted_call = -1;
  for (auto &c : counts) c = 0;
}
int calls_of(Call call) { return counts[size_t(call)]; }

// Whether this call is the one that is to fail. -1 as the number: every one.
bool fails(Call call) {
  const int n = counts[size_t(call)].fetch_add(1);
  if (wanted_call != int(call) || (wanted_number >= 0 && wanted_number != n)) return false;
  errno = wanted_error;
  return true;
}
bool short_write() { return wanted_error == 0; }

template <class F>
F *real(const char *name) {
  return reinterpret_cast<F *>(dlsym(RTLD_NEXT, name));
}

}  // namespace qd::test

using qd::test::Call;
using qd::test::fails;

extern "C" {

int openat(int dir, const char *path, int flags, ...) {
  static auto *const next = qd::test::real<int(int, const char *, int, ...)>("openat");
  va_list args;
  va_start(args, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
  va_end(args);
  if (fails(flags & O_CREAT ? Call::create : Call::open)) return -1;
  return next(dir, path, flags, mode);
}
ssize_t write(int fd, const void *data, size_t size) {
  static auto *const next = qd::test::real<ssize_t(int, const void *, size_t)>("write");
  if (fails(Call::write)) {
    if (!qd::test::short_write()) return -1;
    return next(fd, data, size / 2);  // half of it: the caller has to come back for the rest
  }
  return next(fd, data, size);
}
ssize_t read(int fd, void *data, size_t size) {
  static auto *const next = qd::test::real<ssize_t(int, void *, size_t)>("read");
  if (fails(Call::read)) return qd::test::short_write() ? next(fd, data, size / 2) : -1;
  return next(fd, data, size);
}
int renameat(int a, const char *from, int b, const char *to) noexcept {
  static auto *const next = qd::test::real<int(int, const char *, int, const char *)>("renameat");
  return fails(Call::rename) ? -1 : next(a, from, b, to);
}
int mkdirat(int dir, const char *path, mode_t mode) noexcept {
  static auto *const next = qd::test::real<int(int, const char *, mode_t)>("mkdirat");
  return fails(Call::mkdir) ? -1 : next(dir, path, mode);
}
int unlinkat(int dir, const char *path, int flags) noexcept {
  static auto *const next = qd::test::real<int(int, const char *, int)>("unlinkat");
  return fails(Call::unlink) ? -1 : next(dir, path, flags);
}
int flock(int fd, int operation) noexcept {
  static auto *const next = qd::test::real<int(int, int)>("flock");
  return fails(Call::lock) ? -1 : next(fd, operation);
}
int ftruncate(int fd, off_t size) noexcept {
  static auto *const next = qd::test::real<int(int, off_t)>("ftruncate");
  return fails(Call::truncate) ? -1 : next(fd, size);
}
int futimens(int fd, const struct timespec times[2]) noexcept {
  static auto *const next = qd::test::real<int(int, const struct timespec *)>("futimens");
  return fails(Call::touch) ? -1 : next(fd, times);
}
int fstat(int fd, struct stat *s) noexcept {
  static auto *const next = qd::test::real<int(int, struct stat *)>("fstat");
  return fails(Call::stat) ? -1 : next(fd, s);
}
}
