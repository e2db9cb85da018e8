/* ext_counts.h: extension "qd.test.counts", version 1: how often a backend was asked to work. Tests assert on it ("this edit
 * recompiles one task"). extension() answers a `const QdTestCounts *` that lives as long as the instance and changes under the
 * reader: take a copy of each member with qd_count(). Plugins made with plugin.hpp offer it without doing anything.
 */
#ifndef QD_EXT_COUNTS_H
#define QD_EXT_COUNTS_H

#include <stdint.h>

#define QD_EXT_COUNTS_NAME "qd.test.counts"
#define QD_EXT_COUNTS_VERSION 1u

typedef struct QdTestCounts { /* append-only, guarded by struct_size */
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t compile_calls;  /* of compile() */
  uint64_t tasks_compiled; /* tasks in the requests of compile() that succeeded */
  uint64_t finish_calls;
  uint64_t load_calls;     /* of module_load() */
  uint64_t launch_calls;   /* of launch() */
  uint64_t tasks_launched; /* elements of the launch arrays */
  uint64_t live_objects;   /* devices, modules, memory and streams not yet destroyed */
} QdTestCounts;

#if defined(__GNUC__)
static inline uint64_t qd_count(const uint64_t *member) { return __atomic_load_n(member, __ATOMIC_RELAXED); }
static inline void qd_count_add(uint64_t *member, uint64_t n) { __atomic_fetch_add(member, n, __ATOMIC_RELAXED); }
#endif

#endif
