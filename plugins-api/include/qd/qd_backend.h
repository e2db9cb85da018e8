/* qd_backend.h: the Quadrants backend plugin ABI, major 1.
 *
 * A backend is a shared object that exports one symbol, `qdb_negotiate`. The host calls it once, is given a table of
 * functions, and gives a table of its own. Writing a backend: start from backends/null and its README.
 *
 * Layout rules (tests/abi checks them): fixed-width integers only; no enum, bool, long, size_t, bit-field or union in a
 *   struct; nothing passed or returned by value but integers and pointers; no C++, no exception across; 64-bit little-endian.
 * Growth rules: QdbHello and QdbReply are frozen for ever. Tables and cold structs are append-only, guarded by struct_size: a
 *   member exists when the producer's struct_size covers it and it is not NULL. Hot structs (QdbLaunch, QdbCopy, QdbFill) are
 *   frozen. Arrays carry a stride.
 * Ownership: every byte buffer that outlives a call is a host blob; error text goes into a host-owned slot; plugin objects are
 *   opaque handles with one destroy function that accepts NULL and cannot fail. Children are destroyed before parents.
 * Threads: every function may be called from any thread unless its line says otherwise; calls on one stream are serialised by
 *   the host. No function may take the host's locks, install signal handlers or atexit hooks, or write to standard streams.
 */
#ifndef QD_BACKEND_H
#define QD_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define QDB_CALL __cdecl
#define QDB_EXPORT __declspec(dllexport)
#else
#define QDB_CALL
#define QDB_EXPORT __attribute__((visibility("default")))
#endif
#if defined(__cplusplus)
#define QDB_NOTHROW noexcept
#else
#define QDB_NOTHROW
#endif

#define QDB_MAGIC 0x42444451u /* 'Q' 'D' 'D' 'B' */
#define QDB_ABI_MAJOR 1u
#define QDB_ABI_MINOR 0u
#define QDB_ENTRY_SYMBOL "qdb_negotiate"

/* A member may be read only when the producer's struct_size covers it. */
#define QDB_END(type, field) ((uint32_t)(offsetof(type, field) + sizeof(((type *)0)->field)))
#define QDB_HAS(p, type, field) ((p)->struct_size >= QDB_END(type, field))

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------------- 1. base types */

typedef int32_t QdbStatus; /* 0 ok; > 0 ok with a remark; < 0 error; unknown errors are treated as QDB_E_INTERNAL */
#define QDB_OK 0
#define QDB_S_NOT_READY 1
#define QDB_E_INTERNAL (-1) /* meanings and Python classes: status.def */
#define QDB_E_INVALID (-2)
#define QDB_E_UNSUPPORTED (-3)
#define QDB_E_HOST_MEMORY (-4)
#define QDB_E_DEVICE_MEMORY (-5)
#define QDB_E_DEVICE_LOST (-6)
#define QDB_E_NO_DRIVER (-7)
#define QDB_E_OLD_DRIVER (-8)
#define QDB_E_NO_DEVICE (-9)
#define QDB_E_IR_VERSION (-10)
#define QDB_E_IR_OP (-11)
#define QDB_E_COMPILE (-12)
#define QDB_E_ARTIFACT (-13)
#define QDB_E_SYMBOL (-14)
#define QDB_E_LAUNCH (-15)
#define QDB_E_CANCELLED (-16)
#define QDB_E_FORKED (-17)
#define QDB_E_ABI (-18)
#define QDB_E_NO_CODEGEN (-19)

typedef struct QdbStr {
  const char *ptr; /* UTF-8, not NUL-terminated; may be NULL when len is 0 */
  uint64_t len;
} QdbStr;

typedef struct QdbBytes {
  const void *ptr;
  uint64_t len;
} QdbBytes;

typedef struct QdbErr QdbErr;   /* host-owned error slot of the running call; may be NULL */
typedef struct QdbBlob QdbBlob; /* host-owned, reference-counted bytes */
typedef struct QdbInstance QdbInstance;
typedef struct QdbDevice QdbDevice;
typedef struct QdbModule QdbModule;
typedef struct QdbEntry QdbEntry;
typedef struct QdbMem QdbMem;
typedef struct QdbStream QdbStream;

/* --------------------------------------------------------------------------------------------------- 2. negotiation */

#define QDB_HELLO_PROBE 1u /* answer only: load no driver, start no thread, touch no device */

typedef struct QdbHello { /* frozen */
  uint32_t magic;
  uint32_t struct_size;
  uint32_t major_min, major_max; /* majors that the host speaks, inclusive */
  uint32_t minor;                /* the host's minor of major_max */
  uint32_t flags;                /* QDB_HELLO_ */
  uint32_t sanitizer;            /* 0 none, 1 address, 3 thread */
  uint32_t reserved;
  const void *(QDB_CALL *host_table)(void *host_ctx, uint32_t major); /* major 1: QdbHost; NULL outside the range */
  void *host_ctx; /* first argument of every host function; valid until the process ends, like the tables */
} QdbHello;

typedef struct QdbReply { /* frozen; zeroed by the host, which sets struct_size */
  uint32_t magic;
  uint32_t struct_size;
  uint32_t major, minor; /* what the plugin will speak; minor at most its own header's */
  uint32_t flags;
  uint32_t sanitizer;
  const void *backend;  /* table of `major`, static storage; major 1: QdbBackend */
  char arch[32];        /* "cuda"; [a-z][a-z0-9_]*, third parties "vendor_arch" */
  char name[64];        /* for people */
  char version[64];     /* of the plugin */
  uint8_t build_id[32]; /* changes with any change of generated code; part of every cache key */
  char reason[512];     /* filled only on failure */
} QdbReply;

/* Pure: no driver, thread, file or environment; callable any number of times and in a child process. */
typedef QdbStatus(QDB_CALL *QdbNegotiateFn)(const QdbHello *hello, QdbReply *reply) QDB_NOTHROW;

/* ------------------------------------------------------------------------------------------------- 3. host services */

typedef struct QdbErrInfo {
  uint32_t struct_size;
  int32_t status;
  const char *domain; /* "cuda", "llvm", "ir", ...; static storage */
  int64_t native;     /* CUresult, VkResult, ... */
  QdbStr message;     /* copied */
  QdbStr where;       /* task name, operation or file:line; copied */
} QdbErrInfo;

typedef void(QDB_CALL *QdbRangeFn)(void *arg, uint64_t begin, uint64_t end, uint32_t worker);

typedef struct QdbHost { /* every function: any thread, never throws, never calls back except parallel_for */
  uint32_t struct_size;
  uint32_t minor;
  void(QDB_CALL *err_set)(void *hctx, QdbErr *err, const QdbErrInfo *info); /* once per failing call; again appends a note */
  uint32_t(QDB_CALL *log_level)(void *hctx); /* 0 off, 1 error .. 5 trace: lets the plugin skip formatting */
  void(QDB_CALL *log)(void *hctx, uint32_t level, const QdbStr *component, const QdbStr *message);
  /* Blobs are 64-byte aligned and followed by at least 16 zero bytes. */
  QdbStatus(QDB_CALL *blob_new)(void *hctx, uint64_t size, QdbBlob **out, void **data);
  QdbStatus(QDB_CALL *blob_resize)(void *hctx, QdbBlob *blob, uint64_t size, void **data);
  void(QDB_CALL *blob_view)(void *hctx, const QdbBlob *blob, QdbBytes *out);
  void(QDB_CALL *blob_retain)(void *hctx, QdbBlob *blob);
  void(QDB_CALL *blob_release)(void *hctx, QdbBlob *blob); /* NULL is fine */
  QdbStatus(QDB_CALL *parallel_for)(void *hctx, uint64_t n, uint64_t grain, QdbRangeFn fn, void *arg); /* compile threads */
  uint32_t(QDB_CALL *worker_count)(void *hctx); /* of parallel_for */
  int32_t(QDB_CALL *cancel_requested)(void *hctx, const QdbErr *call); /* the slot given to the running call */
  void(QDB_CALL *dump)(void *hctx, const QdbStr *kind, const QdbStr *name, const QdbBytes *data); /* "llvm", "asm", "ptx" */
  /* Text that the user put in place of a dump (QD_LOAD_IR); QDB_S_NOT_READY when there is none. */
  QdbStatus(QDB_CALL *dump_override)(void *hctx, const QdbStr *kind, const QdbStr *name, QdbBlob **out);
} QdbHost;

/* ---------------------------------------------------------------------------------- 4. capabilities, devices, targets */

#define QDB_UNIT_TASK 1u   /* compile one task; modules take any number of artifacts */
#define QDB_UNIT_KERNEL 2u /* compile all tasks of a kernel into one artifact */

#define QDB_CAP_COMPILE_MT 1ull  /* compile() may run on many threads at once */
#define QDB_CAP_OFFLINE 2ull     /* compile() needs no driver and no device */
#define QDB_CAP_FINISH 4ull      /* finish() turns a portable artifact into a native one */
#define QDB_CAP_HOST_SHARED 8ull /* device memory is host memory: `host` of QdbMemInfo is never NULL, host pointers are valid args */
#define QDB_CAP_RECURSION 16ull  /* functions may call themselves */
#define QDB_CAP_KERNEL_DEFAULT 32ull /* per_offload_cache="auto" means whole kernel here */
#define QDB_CAP_THREADS 64ull /* threads of a block work together: barriers, shared buffers, shuffles (ir.md, "Threads") */

typedef struct QdbCaps {
  uint32_t struct_size;
  uint32_t units; /* QDB_UNIT_ */
  uint64_t caps;  /* QDB_CAP_ */
  uint32_t ir_major, ir_minor; /* newest unit that compile() reads */
  uint32_t max_compile_threads; /* 0: no limit */
  uint32_t reserved;
} QdbCaps;

#define QDB_KIND_CPU 1u
#define QDB_KIND_GPU 2u
#define QDB_KIND_OTHER 3u

typedef struct QdbDeviceInfo {
  uint32_t struct_size;
  uint32_t kind; /* QDB_KIND_ */
  char name[128];
  char isa[64]; /* "sm_90a", "x86-64-v4" */
  char driver_version[64];
  uint64_t total_memory;
  uint32_t subgroup_size;
  uint32_t max_block_threads;
  uint32_t max_block_shared; /* bytes that the threads of a block share at most; 0: they share none */
  uint32_t clock_khz;        /* nominal rate of what `clock` counts; 0: not known */
} QdbDeviceInfo;

typedef struct QdbOption { /* names and types: options.def; values in decimal text */
  QdbStr name, value;
} QdbOption;

typedef struct QdbInstanceDesc {
  uint32_t struct_size;
  uint32_t n_options;
  const QdbOption *options;
  uint32_t option_stride;
  uint32_t reserved;
} QdbInstanceDesc;

/* -------------------------------------------------------------------------------------------- 5. compile and load */

typedef struct QdbTask { /* array element */
  QdbBytes ir;   /* wire.h */
  QdbStr symbol; /* name of the entry that the artifact must provide; made from the digest of ir */
  QdbStr name;   /* for people and dumps, never in code */
} QdbTask;

#define QDB_COMPILE_KEEP_ASM 1u /* host->dump the assembly as well */
#define QDB_COMPILE_DUMP_IR 2u  /* host->dump the backend's own IR, and ask host->dump_override for it */

typedef struct QdbCompileReq {
  uint32_t struct_size;
  uint32_t unit; /* QDB_UNIT_ */
  const QdbTask *tasks;
  uint32_t n_tasks, task_stride;
  QdbBytes target; /* from target_of_device, level 1 */
  const QdbOption *options;
  uint32_t n_options, option_stride;
  uint32_t flags; /* QDB_COMPILE_ */
  uint32_t reserved;
} QdbCompileReq;

typedef struct QdbArtifactOut {
  uint32_t struct_size;
  uint32_t reserved;
  char kind[16]; /* "elf", "ptx", "cubin", "hsaco", "spirv", "ir" */
  QdbBlob *blob; /* the reference passes to the host */
} QdbArtifactOut;

typedef struct QdbArtifact { /* array element */
  QdbStr kind;
  QdbBytes bytes;
} QdbArtifact;

/* -------------------------------------------------------------------------------------- 6. memory, streams, launch */

typedef struct QdbMemInfo {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t size;
  uint64_t address; /* what a buffer parameter's word holds */
  void *host;       /* mapped pointer or NULL */
} QdbMemInfo;

typedef struct QdbCopy { /* frozen, hot. A place is an offset in `mem`, or a host address when mem is NULL */
  QdbMem *dst;
  uint64_t dst_offset;
  QdbMem *src;
  uint64_t src_offset;
  uint64_t size;
} QdbCopy;

typedef struct QdbFill { /* frozen, hot */
  QdbMem *dst;
  uint64_t dst_offset;
  uint64_t size; /* bytes, a multiple of pattern_bytes */
  uint64_t pattern;
  uint32_t pattern_bytes; /* 1, 2, 4 or 8 */
  uint32_t reserved;
} QdbFill;

#define QDB_LAUNCH_RANGE_UNKNOWN 1u /* begin and end say nothing: the task's bounds depend on memory, the plugin finds them */
/* Bits 16 to 31: the task's section, 0 for none. Tasks of different sections are in no order with each other until a task of
   none comes, which is in order with all. A backend may take them in the order of the array. */
#define QDB_LAUNCH_SECTION(n) ((uint32_t)(n) << 16)
#define QDB_LAUNCH_SECTION_OF(flags) ((uint32_t)(flags) >> 16)
#define QDB_LAUNCH_REPORTS 2u       /* before this task: skip it and the rest when QdReportHeader.failed is set */

typedef struct QdbLaunch { /* frozen, hot */
  QdbEntry *entry;
  const void *args; /* wire.h, "argument block"; copied before launch returns, 8-byte aligned */
  uint64_t arg_bytes;
  int64_t begin, end; /* positions of the task's grid, the last axis fastest; [0, 1) for serial tasks; empty is a no-op.
                         Where threads of a block work together, begin is a multiple of the block size */
  uint32_t task_ordinal;
  uint32_t flags; /* QDB_LAUNCH_ */
} QdbLaunch;

/* ---------------------------------------------------------------------------------------------- 7. the backend table */

typedef struct QdbBackend {
  uint32_t struct_size;
  uint32_t minor;

  /* life cycle */
  QdbStatus(QDB_CALL *instance_create)(const QdbInstanceDesc *, QdbInstance **, QdbErr *);
  void(QDB_CALL *instance_destroy)(QdbInstance *); /* joins all threads of the plugin */
  void(QDB_CALL *instance_quiesce)(QdbInstance *, uint32_t why); /* 1 in a forked child: all later calls answer E_FORKED; 2 exit */
  QdbStatus(QDB_CALL *caps)(QdbInstance *, QdbCaps *, QdbErr *);
  const void *(QDB_CALL *extension)(QdbInstance *, const QdbStr *name, uint32_t version); /* optional; NULL: not there */

  /* devices and targets */
  QdbStatus(QDB_CALL *device_count)(QdbInstance *, uint32_t *, QdbErr *);
  QdbStatus(QDB_CALL *device_info)(QdbInstance *, uint32_t index, QdbDeviceInfo *, QdbErr *);
  QdbStatus(QDB_CALL *device_open)(QdbInstance *, uint32_t index, QdbDevice **, QdbErr *);
  void(QDB_CALL *device_close)(QdbDevice *);
  QdbStatus(QDB_CALL *device_sync)(QdbDevice *, QdbErr *);
  /* Canonical bytes of all that can change code (level 1) or finished code (level 2). No ordinal, pointer, path, pid. */
  QdbStatus(QDB_CALL *target_of_device)(QdbDevice *, uint32_t level, QdbBlob **, QdbErr *);

  /* compile: needs no device, deterministic, polls cancel_requested */
  QdbStatus(QDB_CALL *compile)(QdbInstance *, const QdbCompileReq *, QdbArtifactOut *, QdbErr *);
  QdbStatus(QDB_CALL *finish)(QdbInstance *, const QdbBytes *target, const QdbArtifact *, QdbArtifactOut *, QdbErr *); /* with QDB_CAP_FINISH */

  /* modules: QDB_E_ARTIFACT means recompile */
  QdbStatus(QDB_CALL *module_load)(QdbDevice *, const QdbArtifact *, uint32_t stride, uint32_t n, QdbModule **, QdbErr *);
  void(QDB_CALL *module_unload)(QdbModule *);
  QdbStatus(QDB_CALL *module_entry)(QdbModule *, const QdbStr *symbol, QdbEntry **, QdbErr *); /* lives as long as the module */

  /* memory: zeroed, at least 64-byte aligned; size 0 is an error */
  QdbStatus(QDB_CALL *mem_alloc)(QdbDevice *, uint64_t size, QdbMem **, QdbErr *);
  void(QDB_CALL *mem_free)(QdbMem *);
  QdbStatus(QDB_CALL *mem_info)(QdbMem *, QdbMemInfo *, QdbErr *);

  /* streams, in order */
  QdbStatus(QDB_CALL *stream_create)(QdbDevice *, QdbStream **, QdbErr *);
  void(QDB_CALL *stream_destroy)(QdbStream *);
  QdbStatus(QDB_CALL *stream_sync)(QdbStream *, QdbErr *);
  QdbStatus(QDB_CALL *copy)(QdbStream *, const QdbCopy *, uint32_t stride, uint32_t n, QdbErr *);
  QdbStatus(QDB_CALL *fill)(QdbStream *, const QdbFill *, uint32_t stride, uint32_t n, QdbErr *);
  QdbStatus(QDB_CALL *launch)(QdbStream *, const QdbLaunch *, uint32_t stride, uint32_t n, QdbErr *); /* stops at the first error */
} QdbBackend;

#define QDB_BACKEND_MINOR0_SIZE QDB_END(QdbBackend, launch)

#ifdef __cplusplus
}
#endif
#endif
