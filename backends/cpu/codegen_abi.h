/* codegen_abi.h: what libqd_cpu.so and libqd_cpu_codegen.so agree on: the table that the code generator exports, the
 * shape of a compiled task, and the description that travels in its object. Any change here is a new
 * QDX_CPU_CODEGEN_VERSION, which is part of the target bytes, so an artifact of another shape is never loaded. */
#ifndef QDX_CPU_CODEGEN_ABI_H
#define QDX_CPU_CODEGEN_ABI_H

#include "qd/qd_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QDX_CPU_CODEGEN_VERSION 2u
#define QDX_CPU_CODEGEN_SYMBOL "qdx_cpu_codegen"

/* A compiled task: positions [begin, end) of its grid, and where this call leaves its partial results. With end
 * INT64_MIN it runs nothing and answers a question: begin 0, positions of the whole grid; begin 1, positions of one
 * row (last axis). */
typedef int64_t (*QdxCpuTask)(const uint64_t *args, int64_t begin, int64_t end, void *partials);

/* A partial result: `bits` is to be combined into the element at `address` when all chunks are done. A chunk writes
 * one per slot, whether or not it had anything to add: then `bits` is the identity. */
typedef struct QdxCpuPartial {
  uint64_t address;
  uint64_t bits; /* of the slot's type; f16 partials are f32 */
} QdxCpuPartial;

#define QDX_CPU_MAX_PARTIALS 32u

/* Symbol `<task>.meta` in the task's object, read-only data. */
typedef struct QdxCpuMeta {
  uint32_t version;    /* QDX_CPU_CODEGEN_VERSION */
  uint32_t cost;       /* estimate of one position, in 1/64 ns, at least 1 */
  uint32_t serial;     /* 1: the grid is one position */
  uint32_t n_partials;
  uint32_t polls;      /* 1: it calls qd_cpu_poll, so it runs where that can be left */
  uint32_t reserved;
  uint16_t partial_op[QDX_CPU_MAX_PARTIALS];  /* rows of ops.def: atomic_add ... */
  uint8_t partial_type[QDX_CPU_MAX_PARTIALS]; /* rows of types.def: of the element */
} QdxCpuMeta;

/* Canonical target bytes: everything about the machine that may change code. Little-endian, no padding. */
#define QDX_CPU_TARGET_MAGIC 0x55504351u
typedef struct QdxCpuTarget {
  uint32_t magic, version;
  uint32_t vector_math; /* 0 none, 1 the five functions of glibc 2.22, 2 all of glibc 2.35 */
  uint32_t reserved;
  uint64_t features; /* bit k: row k of features.def */
  char cpu[24];      /* LLVM's name of the processor model, or "x86-64" with a level; zero-filled */
} QdxCpuTarget;

typedef struct QdxCpuCodegen {
  uint32_t struct_size, version;
  /* Objects of all tasks of the request, side by side on the host's compile threads. */
  QdbStatus(QDB_CALL *compile)(const QdbHost *host, void *host_ctx, const QdbCompileReq *req, QdbArtifactOut *out,
                               QdbErr *err);
} QdxCpuCodegen;

typedef const QdxCpuCodegen *(QDB_CALL *QdxCpuCodegenFn)(void);

#ifdef __cplusplus
}
static_assert(sizeof(QdxCpuMeta) == 24 + 3 * QDX_CPU_MAX_PARTIALS && sizeof(QdxCpuTarget) == 48, "codegen layout");
#endif
#endif
