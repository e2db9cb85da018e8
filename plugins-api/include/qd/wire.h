/* wire.h: the bytes of a compile unit, of a task's argument block and of the report buffer. C11 and C++17.
 *
 * A unit is one task (or one kernel before it is split): a header, a section table, and flat arrays. The same bytes go from
 * the front end to the core, from the core to a plugin, and into the cache key: they are the identity of the task. They hold
 * no name, line, pointer or path, and there is exactly one way to write a given unit (docs/ir.md, "Canonical form").
 * Everything is little-endian, 8-byte aligned and without implicit padding.
 */
#ifndef QD_WIRE_H
#define QD_WIRE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QD_WIRE_MAGIC 0x52494451u /* 'Q' 'D' 'I' 'R' */
#define QD_WIRE_MAJOR 1u
#define QD_WIRE_MINOR 0u /* + 1 whenever a row is appended to ops.def or types.def or a section kind is added */

#define QD_NO_VALUE 0xffffffffu /* an unused operand field */

typedef struct QdWireHeader {
  uint32_t magic;
  uint16_t major, minor;
  uint32_t n_sections;
  uint32_t reserved; /* 0 */
  uint64_t size;     /* of the whole unit, this header included */
} QdWireHeader;

#define QD_SECTION_PARAMS 1u /* QdParam[] */
#define QD_SECTION_FUNCS 2u  /* QdFunc[], the entry first */
#define QD_SECTION_CODE 3u   /* QdInst[], function after function */

typedef struct QdWireSection { /* in ascending order of kind; all three kinds are always there */
  uint32_t kind;
  uint32_t count;  /* of elements */
  uint64_t offset; /* from the start of the unit, a multiple of 8 */
} QdWireSection;

#define QD_PARAM_SCALAR 0u
#define QD_PARAM_BUFFER 1u

#define QD_ALIAS_EXTERNAL 0u /* array arguments: any two may overlap */
#define QD_ALIAS_FIELD 1u    /* memory of fields: no two parameters overlap, nor with any other class; 64-byte aligned */
#define QD_ALIAS_SCRATCH 2u  /* values carried between tasks: as FIELD; one element unless `count` says more */
#define QD_ALIAS_SHARED 3u   /* `count` elements of each block of threads: as FIELD; no words in the argument block */

typedef struct QdParam {
  uint8_t kind;
  uint8_t type;  /* row of types.def: the scalar, or the buffer's element */
  uint8_t rank;  /* of a buffer: number of extents that `shape` can ask for */
  uint8_t alias; /* of a buffer: QD_ALIAS_ */
  uint32_t count; /* of a scratch or shared buffer: number of elements; else 0 */
} QdParam;

typedef struct QdFunc {
  uint32_t first, count; /* its records in the code section; values are numbered from 0 in each function */
  uint32_t n_args;       /* `farg` records may name 0 .. n_args - 1 */
  uint32_t n_results;
} QdFunc;

typedef struct QdInst { /* the record; a value is the index of its record */
  uint16_t op;  /* row of ops.def */
  uint8_t type; /* row of types.def: of the result; of `store` and the like: none */
  uint8_t aux;  /* 0 */
  uint32_t a, b, c;
} QdInst;

/* --- argument block of a task: 8-byte words -------------------------------------------------------------------------
 *
 *   word 0  address of the kernel's result buffer        word 2  random key: seed in bits 0-31, launch number above
 *   word 1  address of the report buffer                 word 3  task ordinal in the kernel, in bits 0-31
 *   (word 2 is 0 in a task that draws no number, so that equal launches have equal blocks)
 *   then for each parameter in order: a scalar's bits, zero-extended; or a buffer's address and its `rank` extents (int64);
 *   nothing for a shared buffer
 */
#define QD_ARG_RESULT 0u
#define QD_ARG_REPORT 1u
#define QD_ARG_RANDOM 2u
#define QD_ARG_ORDINAL 3u
#define QD_ARG_FIRST 4u /* word of the first parameter */

#define QD_RESULT_BYTES 4096u

/* --- report buffer: header, then records back to back; a record that does not fit is dropped and counted -------------- */
typedef struct QdReportHeader {
  uint32_t failed;  /* set by a report with b = 1: later tasks of the launch do not run */
  uint32_t dropped; /* records that did not fit */
  uint64_t used;    /* bytes of records, reserved by atomic add; may exceed capacity */
  uint64_t capacity;
} QdReportHeader;

typedef struct QdReportRecord {
  uint32_t task; /* ordinal */
  uint32_t site;
  int64_t iteration; /* position in the task's range; 0 in serial code */
  uint32_t n_values; /* uint64_t bits that follow, zero-extended */
  uint32_t reserved;
} QdReportRecord;

/* --- random: Philox4x32-10, key = random key word, counter = {ordinal, iteration low, iteration high, draw} ------------
 * The first output word (i64, f64: the first two, low first) is the draw. f32 = (w >> 8) * 2^-24, f64 = (w >> 11) * 2^-53,
 * f16 = (w >> 21) * 2^-11, b1 = w & 1. `draw` counts from 0 in each iteration (in each task for serial code). */

#ifdef __cplusplus
}
static_assert(sizeof(QdWireHeader) == 24 && sizeof(QdWireSection) == 16 && sizeof(QdParam) == 8 && sizeof(QdFunc) == 16 &&
              sizeof(QdInst) == 16 && sizeof(QdReportHeader) == 24 && sizeof(QdReportRecord) == 24, "wire layout");
#endif
#endif
