/* codegen_abi.h: what libqd_cuda.so and libqd_cuda_codegen.so agree on: the table that the code generator exports, how a
 * task is called, and the description that travels beside its code. Any change here is a new QDX_CUDA_CODEGEN_VERSION,
 * which is part of the target bytes, so an artifact of another shape is never loaded. */
#ifndef QDX_CUDA_CODEGEN_ABI_H
#define QDX_CUDA_CODEGEN_ABI_H

#include "qd/qd_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QDX_CUDA_CODEGEN_VERSION 5u
#define QDX_CUDA_CODEGEN_SYMBOL "qdx_cuda_codegen"

/* A task is a kernel of four or five parameters: the argument block, begin, end, check, scratch (64 bits each). The block is the first
 * parameter itself, by value, when it has at most QDX_CUDA_MAX_BLOCK words; otherwise its address in global memory. With
 * end INT64_MIN a task finds its range itself; with check 1 it does nothing after a failure was reported. The block size
 * is a multiple of 32. Scratch is there where `scratch` below is above 0: the address of 8 * (1 + scratch * blocks) bytes in
 * global memory. Their first word is 0 before and after a launch; a launch that may run beside this one has other ones. */
#define QDX_CUDA_MAX_BLOCK 500u /* with the others below the 4096 bytes that every driver takes */

/* Beside the object `<task>` in a pack: the object `<task>.meta`. */
typedef struct QdxCudaMeta {
  uint32_t version;   /* QDX_CUDA_CODEGEN_VERSION */
  uint32_t arg_words; /* of the argument block */
  uint32_t serial;    /* 1: one thread */
  uint32_t block;     /* block size that the code is made for: what was asked for, or at most this; a multiple of 32 but where
                         threads work together */
  uint32_t partials;  /* reductions: 0 or more */
  uint32_t asked;     /* 1: the block size was asked for and is not made smaller */
  uint32_t axes;      /* of the grid; 0: serial */
  uint32_t scratch;   /* reductions whose parts go through scratch memory */
  uint32_t batch;     /* positions that a thread works on side by side when there are more of them than threads, or 1 */
  uint32_t recursive; /* 1: functions call themselves: how much stack that takes is not known */
  uint32_t shared;    /* bytes of a block's memory that the launch brings; 0: the code has what it needs */
  uint32_t early;     /* 1: waits for the tasks before it, ahead of everything else (early_launch.hpp) */
} QdxCudaMeta;

/* Canonical target bytes. Level 1: what may change PTX. Level 2 adds what may change a cubin. */
#define QDX_CUDA_TARGET_MAGIC 0x44554351u
typedef struct QdxCudaTarget {
  uint32_t magic, version;
  uint32_t sm;     /* that code is generated for: 90 */
  uint32_t device; /* level 2: the device's own; else 0 */
  uint32_t driver; /* level 2: the driver's version; else 0 */
  uint32_t reserved;
} QdxCudaTarget;

typedef struct QdxCudaCodegen {
  uint32_t struct_size, version;
  /* PTX of all tasks of the request, side by side on the host's compile threads. `tail` is put behind each text. */
  QdbStatus(QDB_CALL *compile)(const QdbHost *host, void *host_ctx, const QdbCompileReq *req, const QdbStr *tail,
                               QdbArtifactOut *out, QdbErr *err);
} QdxCudaCodegen;

typedef const QdxCudaCodegen *(QDB_CALL *QdxCudaCodegenFn)(void);

#ifdef __cplusplus
}
static_assert(sizeof(QdxCudaMeta) == 48 && sizeof(QdxCudaTarget) == 24, "codegen layout");
#endif
#endif
