// status.cpp: the table of status.def as data. The python class of a row decides the Kind; the binding reads the same
// table.
#include "core/plugin/status.hpp"

#include <string_view>

namespace qd::plugin {
namespace {

struct Row {
  std::string_view name;
  QdbStatus code;
  std::string_view python, meaning;
};

constexpr Row rows[] = {
#define STATUS(name, code, python, meaning) {"QDB_" #name, code, python, meaning},
#include "qd/status.def"
};

const Row *find(QdbStatus status) {
  for (const Row &r : rows)
    if (r.code == status) return &r;
  return nullptr;
}

}  // namespace

Kind kind_of(QdbStatus status) {
  const Row *r = find(status);
  if (!r || r->code == QDB_E_INTERNAL) return Kind::internal;
  if (r->python == "QuadrantsCompilationError") return Kind::compilation;
  if (r->python == "MemoryError") return Kind::memory;
  if (r->python == "KeyboardInterrupt") return Kind::interrupted;
  return Kind::runtime;
}

std::string name_of(QdbStatus status) {
  const Row *r = find(status);
  return r ? std::string(r->name) : "status " + std::to_string(status) + ", which this version does not know";
}

std::string meaning_of(QdbStatus status) {
  const Row *r = find(status);
  return std::string(r ? r->meaning : "a fault of the plugin");
}

}  // namespace qd::plugin
