// host.hpp: our side of the ABI: the table of host functions, and the error slot that a running call is known by.
// Inside core/plugin only.
#pragma once
#include <functional>
#include <string>

#include "core/plugin/plugin.hpp"
#include "core/plugin/status.hpp"

// The slot of one running call. It lives on the caller's stack; its strings cost nothing until something fails.
struct QdbErr {
  const std::function<bool()> *cancelled = nullptr;
  QdbStatus status = QDB_OK;
  const char *domain = nullptr;
  int64_t native = 0;
  std::string message, where;
};

struct QdbBlob {
  std::atomic<uint32_t> references = 1;
  std::shared_ptr<qd::cache::Bytes> bytes;
};

namespace qd::plugin {

const void *QDB_CALL host_table(void *host_ctx, uint32_t major);

// Makes `services` the ones that host functions act on while this thread is inside the plugin.
class Inside {
 public:
  explicit Inside(const Services *services);
  ~Inside();
  Inside(const Inside &) = delete;

 private:
  const Services *before_;
};

// Throws unless `status` is a success. `what` names the function of the table, `subject` a task or the like.
void check(const Library &, QdbStatus status, const QdbErr &, const char *what, std::string_view subject = {});
[[noreturn]] void no_handle(const Library &, const char *what);

inline QdbStr str(std::string_view s) { return {s.data(), s.size()}; }
inline QdbBytes bytes(std::string_view s) { return {s.data(), s.size()}; }
cache::Blob take(QdbBlob *);  // the reference passes to us; null gives null

}  // namespace qd::plugin
