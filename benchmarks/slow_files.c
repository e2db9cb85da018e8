// slow_files.c: a slow file system in front of a fast one. Each open, stat, read and rename of a file below SLOW_BELOW sleeps
// SLOW_US microseconds, as a network file system does. Preloaded by cache.py.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void nap(void) {
  static long us = -1;
  if (us < 0) us = getenv("SLOW_US") ? atol(getenv("SLOW_US")) : 0;
  struct timespec t = {us / 1000000, us % 1000000 * 1000};
  if (us) nanosleep(&t, 0);
}

static int below(const char *path) {
  const char *root = getenv("SLOW_BELOW");
  return root && path && !strncmp(path, root, strlen(root));
}

static int fd_below(int fd) {
  char link[40], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0) return 0;
  path[n] = 0;
  return below(path);
}

#define REAL(name) (__typeof__(&name)) dlsym(RTLD_NEXT, #name)

int openat(int dir, const char *path, int flags, ...) {
  static int (*next)(int, const char *, int, ...);
  if (!next) next = REAL(openat);
  va_list args;
  va_start(args, flags);
  mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
  va_end(args);
  if (path[0] == '/' ? below(path) : dir >= 0 && fd_below(dir)) nap();
  return next(dir, path, flags, mode);
}

int fstat(int fd, struct stat *s) {
  static int (*next)(int, struct stat *);
  if (!next) next = REAL(fstat);
  if (fd_below(fd)) nap();
  return next(fd, s);
}

ssize_t read(int fd, void *to, size_t size) {
  static ssize_t (*next)(int, void *, size_t);
  if (!next) next = REAL(read);
  if (fd_below(fd)) nap();
  return next(fd, to, size);
}

int renameat(int a, const char *from, int b, const char *to) {
  static int (*next)(int, const char *, int, const char *);
  if (!next) next = REAL(renameat);
  if (a >= 0 && fd_below(a)) nap();
  return next(a, from, b, to);
}
