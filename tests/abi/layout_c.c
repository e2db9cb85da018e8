/* layout_c.c: the headers as C11 sees them. Every row of the snapshot is a static assertion; also compiled as C++17. */
#include <stddef.h>

#include "qd/ext_counts.h"
#include "qd/ext_names.h"
#include "qd/ext_streams.h"
#include "qd/qd_backend.h"
#include "qd/wire.h"

#ifdef __cplusplus
#define QD_CHECK(condition, text) static_assert(condition, text)
#define QD_ALIGNOF(type) alignof(type)
extern "C" int qd_layout_is_checked(void);
#else
#define QD_CHECK(condition, text) _Static_assert(condition, text)
#define QD_ALIGNOF(type) _Alignof(type)
int qd_layout_is_checked(void);
#endif

#define QD_MEMBER(type, member, offset, size)                                        \
  QD_CHECK(offsetof(type, member) == (offset), #type "." #member " moved");          \
  QD_CHECK(sizeof(((type *)0)->member) == (size), #type "." #member " changed size");
#define QD_SIZE(type, size, alignment)                           \
  QD_CHECK(sizeof(type) == (size), #type " changed size");       \
  QD_CHECK(QD_ALIGNOF(type) == (alignment), #type " changed alignment");
#include "layout.inc"

#define STATUS(name, code, python, meaning) QD_CHECK(QDB_##name == (code), "QDB_" #name " differs from status.def");
#include "qd/status.def"

int qd_layout_is_checked(void) { return 1; }
