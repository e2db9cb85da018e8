/* ext_streams.h: extension "qd.streams", version 1: streams beside the device's first one, events, and order with streams of
 * other libraries. extension() answers a `const QdExtStreams *` of static storage. A backend without it has one queue.
 *
 * The first stream of a device is in order with the driver's default stream, where the driver has one: what other libraries
 * launch there waits for it, and it for them. Later streams are in no order with anything but what these functions make.
 */
#ifndef QD_EXT_STREAMS_H
#define QD_EXT_STREAMS_H

#include "qd/qd_backend.h"

#define QD_EXT_STREAMS_NAME "qd.streams"
#define QD_EXT_STREAMS_VERSION 1u

#ifdef __cplusplus
extern "C" {
#endif

typedef struct QdbEvent QdbEvent; /* a point in a stream */

typedef struct QdExtStreams { /* append-only, guarded by struct_size */
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t(QDB_CALL *native_stream)(QdbStream *); /* the driver's handle */
  uint64_t(QDB_CALL *native_event)(QdbEvent *);
  QdbStatus(QDB_CALL *event_create)(QdbDevice *, QdbEvent **, QdbErr *);
  void(QDB_CALL *event_destroy)(QdbEvent *);
  QdbStatus(QDB_CALL *event_record)(QdbEvent *, QdbStream *, QdbErr *); /* the present end of the stream */
  QdbStatus(QDB_CALL *event_wait)(QdbEvent *, QdbStream *, QdbErr *);   /* what the stream is given from here on waits */
  QdbStatus(QDB_CALL *event_sync)(QdbEvent *, QdbErr *);                /* the host waits */
  /* `native`: a stream of somebody else by the driver's handle, used during the call only. */
  QdbStatus(QDB_CALL *after_native)(QdbStream *, uint64_t native, QdbErr *);  /* the stream waits for what `native` has now */
  QdbStatus(QDB_CALL *before_native)(QdbStream *, uint64_t native, QdbErr *); /* `native` waits for what the stream has now */
  /* Events that keep the time when the stream came to them. NULL: the device has no clock that can be asked. */
  QdbStatus(QDB_CALL *timer_create)(QdbDevice *, QdbEvent **, QdbErr *);
  QdbStatus(QDB_CALL *timer_elapsed)(QdbEvent *from, QdbEvent *to, uint64_t *ns, QdbErr *); /* both were waited for */
} QdExtStreams;

#ifdef __cplusplus
}
#endif
#endif
