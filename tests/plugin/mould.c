/* mould.c: a small working plugin in plain C, and, by -D, one named fault each. It proves that the header alone is
 * enough to write a backend, and is what the loader's failure tests load. Arch: QD_ARCH, "mould" by default.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qd/qd_backend.h"

#ifndef QD_ARCH
#define QD_ARCH "mould"
#endif

static const QdbHost *host;
static void *host_ctx;

static QdbStatus fail(QdbErr *err, QdbStatus status, const char *message) {
  QdbErrInfo info = {sizeof(QdbErrInfo), status, "mould", 42, {message, 0}, {"here", 4}};
  info.message.len = strlen(message);
  host->err_set(host_ctx, err, &info);
  return status;
}

static char handle; /* stands for every object without state */

static QdbStatus instance_create(const QdbInstanceDesc *desc, QdbInstance **out, QdbErr *err) {
  (void)desc;
#if defined(NO_DRIVER)
  return fail(err, QDB_E_NO_DRIVER, "libmould.so.1: cannot open shared object file");
#endif
  (void)err, (void)fail;
  *out = (QdbInstance *)&handle;
  return QDB_OK;
}
static void instance_destroy(QdbInstance *i) { (void)i; }
static void instance_quiesce(QdbInstance *i, uint32_t why) { (void)i, (void)why; }
static QdbStatus caps(QdbInstance *i, QdbCaps *out, QdbErr *err) {
  (void)i, (void)err;
  out->units = QDB_UNIT_TASK;
  out->caps = QDB_CAP_HOST_SHARED;
  return QDB_OK;
}
static QdbStatus device_count(QdbInstance *i, uint32_t *n, QdbErr *err) {
  (void)i, (void)err;
#if defined(NO_DEVICE)
  *n = 0;
#else
  *n = 1;
#endif
  return QDB_OK;
}
static QdbStatus device_info(QdbInstance *i, uint32_t index, QdbDeviceInfo *out, QdbErr *err) {
  (void)i, (void)index, (void)err;
  out->kind = QDB_KIND_CPU;
  memset(out->name, 'x', sizeof out->name); /* not terminated: the host must cope */
  return QDB_OK;
}
static QdbStatus device_open(QdbInstance *i, uint32_t index, QdbDevice **out, QdbErr *err) {
  (void)i, (void)index, (void)err;
#if defined(NULL_HANDLES)
  *out = NULL;
#else
  *out = (QdbDevice *)&handle;
#endif
  return QDB_OK;
}
static void device_close(QdbDevice *d) { (void)d; }
static QdbStatus device_sync(QdbDevice *d, QdbErr *err) {
  (void)d, (void)err;
  return QDB_OK;
}
static QdbStatus text_blob(const char *s, QdbBlob **out) {
  void *data;
  QdbStatus status = host->blob_new(host_ctx, strlen(s), out, &data);
  if (status == QDB_OK) memcpy(data, s, strlen(s));
  return status;
}
static QdbStatus target_of_device(QdbDevice *d, uint32_t level, QdbBlob **out, QdbErr *err) {
  (void)d, (void)level, (void)err;
  return text_blob("mould-1", out);
}

static void count(void *arg, uint64_t begin, uint64_t end, uint32_t worker) {
  (void)worker;
  __atomic_fetch_add((uint64_t *)arg, end - begin, __ATOMIC_RELAXED);
}

/* The name of the first task says what to do: a test drives the host's functions through it. */
static QdbStatus compile(QdbInstance *i, const QdbCompileReq *req, QdbArtifactOut *out, QdbErr *err) {
  (void)i;
  const char *name = req->tasks[0].name.ptr;
#define ASKED(word) (req->tasks[0].name.len == sizeof word - 1 && memcmp(name, word, sizeof word - 1) == 0)
  if (ASKED("null blob")) return QDB_OK;
  if (ASKED("unknown status")) return -77;
  if (ASKED("unsaid")) return QDB_E_COMPILE;
  if (ASKED("said")) return fail(err, QDB_E_IR_OP, "cannot fold spoons");
  if (ASKED("said twice")) {
    fail(err, QDB_E_IR_OP, "cannot fold spoons");
    return fail(err, QDB_E_IR_OP, "nor forks");
  }
  if (ASKED("no slot")) {
    fail(NULL, QDB_E_COMPILE, "into nothing");
    return QDB_E_COMPILE;
  }
  if (ASKED("huge blob")) {
    void *data;
    QdbStatus status = host->blob_new(host_ctx, (uint64_t)1 << 62, &out->blob, &data);
    return status == QDB_OK ? QDB_OK : fail(err, status, "no memory for the code");
  }
  if (ASKED("wait for cancel")) {
    while (!host->cancel_requested(host_ctx, err)) usleep(1000);
    return fail(err, QDB_E_CANCELLED, "stopped");
  }
  if (ASKED("parallel")) {
    uint64_t n = 0;
    QdbStatus status = host->parallel_for(host_ctx, 1000, 7, count, &n);
    if (status != QDB_OK || n != 1000) return fail(err, QDB_E_INTERNAL, "parallel_for lost some");
  }
  if (ASKED("dump")) {
    QdbStr kind = {"llvm", 4}, what = {"a/task", 6};
    QdbBytes data = {"text", 4};
    host->dump(host_ctx, &kind, &what, &data);
  }
  if (ASKED("override")) {
    QdbStr kind = {"llvm", 4}, what = {"a/task", 6};
    strcpy(out->kind, "ir");
    return host->dump_override(host_ctx, &kind, &what, &out->blob);
  }
  strcpy(out->kind, "ir");
  void *data;
  QdbStatus status = host->blob_new(host_ctx, 1, &out->blob, &data);
  if (status == QDB_OK) status = host->blob_resize(host_ctx, out->blob, req->tasks[0].ir.len, &data);
  if (status == QDB_OK) memcpy(data, req->tasks[0].ir.ptr, req->tasks[0].ir.len);
  return status;
}
static QdbStatus module_load(QdbDevice *d, const QdbArtifact *a, uint32_t stride, uint32_t n, QdbModule **out,
                             QdbErr *err) {
  (void)d, (void)stride;
  for (uint32_t k = 0; k < n; k++) {
    const QdbArtifact *one = (const QdbArtifact *)((const char *)a + (size_t)stride * k);
    if (one->bytes.len >= 5 && !memcmp(one->bytes.ptr, "stale", 5)) return fail(err, QDB_E_ARTIFACT, "stale");
  }
  *out = n ? (QdbModule *)&handle : NULL;
  return QDB_OK;
}
static void module_unload(QdbModule *m) { (void)m; }
static QdbStatus module_entry(QdbModule *m, const QdbStr *symbol, QdbEntry **out, QdbErr *err) {
  (void)m;
  if (symbol->len == 4 && !memcmp(symbol->ptr, "none", 4)) return fail(err, QDB_E_SYMBOL, "no such entry");
  *out = (QdbEntry *)&handle;
  return QDB_OK;
}

typedef struct Memory {
  uint64_t size;
  void *data;
} Memory;
static QdbStatus mem_alloc(QdbDevice *d, uint64_t size, QdbMem **out, QdbErr *err) {
  (void)d;
  Memory *m = size < ((uint64_t)1 << 40) ? malloc(sizeof *m) : NULL;
  void *data = m ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
  if (!data) {
    free(m);
    return fail(err, QDB_E_DEVICE_MEMORY, "no room");
  }
  memset(data, 0, size);
  m->size = size;
  m->data = data;
  *out = (QdbMem *)m;
  return QDB_OK;
}
static void mem_free(QdbMem *mem) {
  if (!mem) return;
  free(((Memory *)mem)->data);
  free(mem);
}
static QdbStatus mem_info(QdbMem *mem, QdbMemInfo *out, QdbErr *err) {
  (void)err;
  out->size = ((Memory *)mem)->size;
  out->address = (uint64_t)(uintptr_t)((Memory *)mem)->data;
  out->host = ((Memory *)mem)->data;
  return QDB_OK;
}
static QdbStatus stream_create(QdbDevice *d, QdbStream **out, QdbErr *err) {
  (void)d, (void)err;
  *out = (QdbStream *)malloc(8);
  return QDB_OK;
}
static void stream_destroy(QdbStream *s) { free(s); }
static QdbStatus stream_sync(QdbStream *s, QdbErr *err) {
  (void)s, (void)err;
  return QDB_OK;
}
static char *place(QdbMem *m, uint64_t offset) {
  return m ? (char *)((Memory *)m)->data + offset : (char *)(uintptr_t)offset;
}
static QdbStatus copy(QdbStream *s, const QdbCopy *c, uint32_t stride, uint32_t n, QdbErr *err) {
  (void)s, (void)err;
  for (uint32_t k = 0; k < n; k++, c = (const QdbCopy *)((const char *)c + stride))
    memmove(place(c->dst, c->dst_offset), place(c->src, c->src_offset), c->size);
  return QDB_OK;
}
static QdbStatus fill(QdbStream *s, const QdbFill *f, uint32_t stride, uint32_t n, QdbErr *err) {
  (void)s, (void)err;
  for (uint32_t k = 0; k < n; k++, f = (const QdbFill *)((const char *)f + stride))
    for (uint64_t at = 0; at < f->size; at += f->pattern_bytes)
      memcpy(place(f->dst, f->dst_offset + at), &f->pattern, f->pattern_bytes);
  return QDB_OK;
}
static QdbStatus launch(QdbStream *s, const QdbLaunch *l, uint32_t stride, uint32_t n, QdbErr *err) {
  (void)s, (void)stride, (void)n;
  if (l->begin < 0) return fail(err, QDB_E_LAUNCH, "a grid below zero");
  return QDB_OK;
}

typedef struct Table {
  QdbBackend backend;
  void *later[4]; /* members of a header newer than the host's */
} Table;

__attribute__((unused)) static Table table = {{sizeof(QdbBackend),
                                               QDB_ABI_MINOR,
                                               instance_create,
                                               instance_destroy,
                                               instance_quiesce,
                                               caps,
                                               NULL,
                                               device_count,
                                               device_info,
                                               device_open,
                                               device_close,
                                               device_sync,
                                               target_of_device,
                                               compile,
                                               NULL,
                                               module_load,
                                               module_unload,
                                               module_entry,
                                               mem_alloc,
                                               mem_free,
                                               mem_info,
                                               stream_create,
                                               stream_destroy,
                                               stream_sync,
                                               copy,
                                               fill,
                                               launch},
                                              {(void *)1, (void *)1, (void *)1, (void *)1}};

#if defined(MARKS) || defined(CONSTRUCTOR_SEGFAULT) || defined(CONSTRUCTOR_EXIT)
__attribute__((constructor)) static void on_load(void) {
#if defined(CONSTRUCTOR_SEGFAULT)
  static int *volatile nowhere; /* volatile: or the compiler knows what happens, and leaves it out */
  *nowhere = 1;
#elif defined(CONSTRUCTOR_EXIT)
  _exit(0);
#else
  const char *mark = getenv("QD_TEST_MARK"); /* seen by the test: this file was opened */
  if (mark) rmdir(mark);
#endif
}
#endif

#if defined(UNDEFINED_SYMBOL)
extern void missing_symbol(void);
#endif

#if !defined(NO_ENTRY)
QDB_EXPORT QdbStatus QDB_CALL qdb_negotiate(const QdbHello *hello, QdbReply *reply) {
#if defined(UNDEFINED_SYMBOL)
  missing_symbol();
#endif
#if defined(ABORT)
  abort();
#elif defined(HANG)
  for (;;) pause();
#elif defined(OVERRUN)
  memset(reply->reason, 'x', sizeof reply->reason + 8);
#elif defined(NEEDS_MAJOR_2)
  strcpy(reply->reason, "needs qdb major 2; upgrade quadrants");
  return QDB_E_ABI;
#elif defined(ONLY_MAJOR_0)
  if (hello->major_min > 0) {
    strcpy(reply->reason, "speaks qdb major 0 only; upgrade this plugin");
    return QDB_E_ABI;
  }
#endif
  host = (const QdbHost *)hello->host_table(hello->host_ctx, 1);
  host_ctx = hello->host_ctx;
  const char *arch = QD_ARCH;
#if defined(ARCH_FROM_ENVIRONMENT)
  if (getenv("QD_TEST_ARCH")) arch = getenv("QD_TEST_ARCH");
#endif
  reply->magic = QDB_MAGIC;
  reply->major = 1;
  reply->minor = 0;
  strncpy(reply->arch, arch, sizeof reply->arch);
  strcpy(reply->name, "Mould");
  strcpy(reply->version, "1.2.3");
  memset(reply->build_id, 7, sizeof reply->build_id);
#if defined(BAD_MAGIC)
  reply->magic = 0;
#elif defined(CHOSE_MAJOR_2)
  reply->major = 2;
#elif defined(LONGER_TABLE)
  table.backend.struct_size = sizeof table;
  reply->minor = 5;
#elif defined(SHORTER_TABLE)
  table.backend.struct_size = (uint32_t)offsetof(QdbBackend, launch);
  memset(&table.backend.launch, 0x41, sizeof table.backend.launch);
#elif defined(NULL_MEMBER)
  table.backend.mem_alloc = NULL;
#elif defined(OTHER_SANITIZER)
  reply->sanitizer = 2;
#endif
  reply->backend = &table.backend;
  return QDB_OK;
}
#endif
