// functions.hpp: the functions of the table, written in the file of what they work on: device, codegen, module, memory,
// launch.
#pragma once
#include "qd/qd_backend.h"

namespace qd::checked {

// device.cpp
QdbStatus QDB_CALL instance_create(const QdbInstanceDesc *, QdbInstance **, QdbErr *) noexcept;
void QDB_CALL instance_destroy(QdbInstance *) noexcept;
void QDB_CALL instance_quiesce(QdbInstance *, uint32_t why) noexcept;
QdbStatus QDB_CALL caps(QdbInstance *, QdbCaps *, QdbErr *) noexcept;
const void *QDB_CALL extension(QdbInstance *, const QdbStr *name, uint32_t version) noexcept;
QdbStatus QDB_CALL device_count(QdbInstance *, uint32_t *, QdbErr *) noexcept;
QdbStatus QDB_CALL device_info(QdbInstance *, uint32_t index, QdbDeviceInfo *, QdbErr *) noexcept;
QdbStatus QDB_CALL device_open(QdbInstance *, uint32_t index, QdbDevice **, QdbErr *) noexcept;
void QDB_CALL device_close(QdbDevice *) noexcept;
QdbStatus QDB_CALL device_sync(QdbDevice *, QdbErr *) noexcept;
QdbStatus QDB_CALL target_of_device(QdbDevice *, uint32_t level, QdbBlob **, QdbErr *) noexcept;
QdbStatus QDB_CALL stream_create(QdbDevice *, QdbStream **, QdbErr *) noexcept;
void QDB_CALL stream_destroy(QdbStream *) noexcept;
QdbStatus QDB_CALL stream_sync(QdbStream *, QdbErr *) noexcept;
// codegen.cpp
QdbStatus QDB_CALL compile(QdbInstance *, const QdbCompileReq *, QdbArtifactOut *, QdbErr *) noexcept;
QdbStatus QDB_CALL finish(QdbInstance *, const QdbBytes *target, const QdbArtifact *, QdbArtifactOut *,
                          QdbErr *) noexcept;
// module.cpp
QdbStatus QDB_CALL module_load(QdbDevice *, const QdbArtifact *, uint32_t stride, uint32_t n, QdbModule **,
                               QdbErr *) noexcept;
void QDB_CALL module_unload(QdbModule *) noexcept;
QdbStatus QDB_CALL module_entry(QdbModule *, const QdbStr *symbol, QdbEntry **, QdbErr *) noexcept;
// memory.cpp
QdbStatus QDB_CALL mem_alloc(QdbDevice *, uint64_t size, QdbMem **, QdbErr *) noexcept;
void QDB_CALL mem_free(QdbMem *) noexcept;
QdbStatus QDB_CALL mem_info(QdbMem *, QdbMemInfo *, QdbErr *) noexcept;
QdbStatus QDB_CALL copy(QdbStream *, const QdbCopy *, uint32_t stride, uint32_t n, QdbErr *) noexcept;
QdbStatus QDB_CALL fill(QdbStream *, const QdbFill *, uint32_t stride, uint32_t n, QdbErr *) noexcept;
// launch.cpp
QdbStatus QDB_CALL launch(QdbStream *, const QdbLaunch *, uint32_t stride, uint32_t n, QdbErr *) noexcept;

}  // namespace qd::checked
