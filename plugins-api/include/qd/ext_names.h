/* ext_names.h: extension "qd.names", version 1: what people call kernels and tasks, for profilers and debuggers. Symbols are
 * made from digests (qd_backend.h, QdbTask), and code that is cached carries them; names come beside the code, when it is loaded.
 * extension() answers a `const QdExtNames *` of static storage while a tool is attached to the process, else NULL: the host
 * asks once an instance, and a process without a tool pays nothing.
 */
#ifndef QD_EXT_NAMES_H
#define QD_EXT_NAMES_H

#include "qd/qd_backend.h"

#define QD_EXT_NAMES_NAME "qd.names"
#define QD_EXT_NAMES_VERSION 1u

#ifdef __cplusplus
extern "C" {
#endif

typedef struct QdExtNames { /* append-only, guarded by struct_size; names are letters, digits and '_' */
  uint32_t struct_size;
  uint32_t reserved;
  /* Before the module that has the task is loaded. Equal tasks of several kernels have the name that came first. */
  QdbStatus(QDB_CALL *task)(QdbDevice *, const QdbStr *symbol, const QdbStr *name, QdbErr *);
  void(QDB_CALL *kernel_begin)(const char *name); /* around the calls that launch a kernel, on their thread; they nest */
  void(QDB_CALL *kernel_end)(void);
} QdExtNames;

#ifdef __cplusplus
}
#endif
#endif
