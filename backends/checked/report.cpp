// report.cpp: how a violation is put into words and reaches people, and the checks of answers and of plain arguments.
#include <algorithm>
#include <cctype>

#include "backends/checked/checked.hpp"

namespace qd::checked {
namespace {

struct Row {
  const char *name, *fault;
  QdbStatus status;
  const char *expected;
};
constexpr Row rows[] = {
#define VIOLATION(name, fault, status, expected) {#name, #fault, status, expected},
#include "backends/checked/violations.def"
};

const Row &row(Violation v) { return rows[size_t(v)]; }

std::string words(Violation v, const std::string &found) {
  const Row &r = row(v);
  const bool host = std::string_view(r.fault) == "Host";
  return std::string("ABI violation `") + r.name + "` by the " + (host ? "host" : "wrapped plugin") +
         ": expected: " + r.expected + "; found: " + found + "; " +
         (host ? "correct the caller" : "report this to the plugin's authors");
}

constexpr QdbStatus known_statuses[] = {
#define STATUS(name, code, python, meaning) code,
#include "qd/status.def"
};

struct OptionRow {
  std::string_view name;
  bool truth;
};
constexpr OptionRow option_rows[] = {
#define OPTION(name, type, otherwise, changes, doc) {#name, std::string_view(#type) == "bool"},
#include "qd/options.def"
};

bool decimal(std::string_view s) {
  if (!s.empty() && s[0] == '-') s.remove_prefix(1);
  return !s.empty() && s.size() < 20 && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Broken::Broken(Violation v, const std::string &found, std::string where)
    : Failure(row(v).status, words(v, found), std::move(where)) {
  domain = "checked";
  native = int64_t(v);
}

void remember(const Failure &failure) noexcept {
  if (failure.status == QDB_E_FORKED) return;  // a child lets go of what its parent owns
  try {
    if (Wrapped *w = last_wrapped()) w->host.log(1, "checked", failure.message + " [" + failure.where + "]");
    std::lock_guard<std::mutex> lock(tables().mutex);
    tables().pending.push_back(failure);
  } catch (...) {  // out of memory: nothing can be said
  }
}

void ready(Instance &instance, const char *function) {
  if (instance.quiesced.load() == 2) throw Broken(Violation::after_quiesce, "a call", function);
  std::lock_guard<std::mutex> lock(tables().mutex);
  if (tables().pending.empty()) return;
  Failure first = tables().pending.front();
  if (const size_t more = tables().pending.size() - 1)
    first.message += " (and " + std::to_string(more) + " more, in the log)";
  first.message += " (found in an earlier call that has no error slot)";
  tables().pending.clear();
  throw first;
}

void check_answer(const Slot &slot, QdbStatus status, const char *function) {
  const std::string number = "status " + std::to_string(status);
  if (status > 0 || std::find(std::begin(known_statuses), std::end(known_statuses), status) == std::end(known_statuses))
    throw Broken(Violation::bad_status, number, function);
  if (status == QDB_OK) {
    if (slot.sets)
      throw Broken(Violation::reason_of_success, "success and a reason for " + std::to_string(slot.status), function);
    return;
  }
  if (!slot.sets) throw Broken(Violation::no_reason, number + " and no word", function);
  if (slot.status != status)
    throw Broken(Violation::no_reason, number + " and a reason for " + std::to_string(slot.status), function);
}

void check_size(uint32_t found, uint32_t expected, const char *name, const std::string &where) {
  if (found < expected)
    throw Broken(Violation::short_struct,
                 "`" + std::string(name) + "` of " + std::to_string(found) + " bytes, not " + std::to_string(expected),
                 where);
}

void check_stride(const void *array, uint32_t stride, uint32_t n, uint32_t element, const char *name,
                  const std::string &where) {
  if (n == 0) return;
  required(array, name, where);
  if (stride < element || stride % 8)
    throw Broken(
        Violation::short_struct,
        "stride " + std::to_string(stride) + " of `" + name + "`, elements have " + std::to_string(element) + " bytes",
        where);
}

void check_text(const QdbStr &s, const char *name, const std::string &where) {
  if (s.len) required(s.ptr, name, where);
}

void check_options(const QdbOption *options, uint32_t stride, uint32_t n, const std::string &where) {
  check_array(options, stride, n, "options", where);
  for (uint32_t i = 0; i < n; i++) {
    const QdbOption &o = plugin::at(options, stride, i);
    check_text(o.name, "option name", where), check_text(o.value, "option value", where);
    const std::string_view name = plugin::text(o.name), value = plugin::text(o.value);
    const auto found = std::find_if(std::begin(option_rows), std::end(option_rows),
                                    [&](const OptionRow &r) { return r.name == name; });
    if (found == std::end(option_rows))
      throw Broken(Violation::bad_option, "an option \"" + std::string(name) + "\"", where);
    if (!decimal(value) || (found->truth && value != "0" && value != "1"))
      throw Broken(Violation::bad_option, std::string(name) + " = \"" + std::string(value) + "\"", where);
  }
}

}  // namespace qd::checked
