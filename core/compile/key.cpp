// key.cpp: see key.hpp. Each component is hashed by itself, and the key is the digest of the components' names and
// digests: so the header of an entry can be compared with a key component by component.
#include "core/compile/key.hpp"

#include <unordered_set>

#include "cache/entry.hpp"
#include "core/support/error.hpp"

namespace qd::compile {
namespace {

enum class Changes { None, Code, Finish };
struct Row {
  std::string_view name;
  std::string_view initial;
  Changes changes;
};
constexpr Row rows[] = {
#define OPTION(name, type, initial, changes, doc) {#name, #initial, Changes::changes},
#include "qd/options.def"
};

// An entry's header has room for this many tasks by name; the tasks of a longer kernel are one component.
constexpr size_t most_named_tasks = cache::max_components - 4;
constexpr std::string_view key_format = "1";  // of this file: raised when components change their meaning

std::string_view value_of(const Row &row, const Options &options) {
  const auto it = options.find(std::string(row.name));
  return it == options.end() ? row.initial : std::string_view(it->second);
}

void check_names(const Options &options) {
  for (const auto &[name, value] : options) {
    bool known = false;
    for (const Row &row : rows) known |= row.name == name;
    if (!known)
      throw Error(Kind::internal, "option '" + name + "' has no row in options.def; add one that says what it changes");
  }
}

cache::Digest digest_of_options(const Options &options, Changes which) {
  check_names(options);
  cache::Hasher h;
  for (const Row &row : rows)
    if (row.changes == which) h.update(row.name, value_of(row, options));
  return h.finish();
}

KeyOf combine(std::string_view what, std::vector<cache::Component> components) {
  cache::Hasher h;
  h.update("key", what).update("format", key_format);
  for (const auto &c : components) h.update(c.name, c.digest.view());
  return {h.finish(), std::move(components)};
}

}  // namespace

// Of distinct tasks, in order: equal tasks are one.
cache::Digest digest_of_tasks(std::span<const split::Task *const> unit) {
  cache::Hasher all;
  std::unordered_set<cache::Digest, cache::DigestHash> seen;
  for (const split::Task *t : unit)
    if (seen.insert(t->digest).second) all.update("task", t->digest.view());
  return all.finish();
}

KeyOf artifact_key(std::span<const split::Task *const> unit, const BackendInfo &backend, const Options &options) {
  std::vector<cache::Component> c;
  c.reserve(unit.size() + 4);
  if (unit.size() <= most_named_tasks) {
    for (size_t i = 0; i < unit.size(); ++i)
      c.push_back({unit.size() == 1 ? "task" : "task " + std::to_string(i), unit[i]->digest});
  } else {
    c.push_back({"tasks", digest_of_tasks(unit)});
  }
  c.push_back({"arch", cache::digest_of(backend.arch)});
  c.push_back({"build id", backend.build_id});
  c.push_back({"target", cache::digest_of(backend.target)});
  c.push_back({"options", digest_of_options(options, Changes::Code)});
  return combine("artifact", std::move(c));
}

KeyOf finished_key(const cache::Digest &artifact, const BackendInfo &backend, const Options &options) {
  return combine("finished", {{"artifact", artifact},
                              {"arch", cache::digest_of(backend.arch)},
                              {"build id", backend.build_id},
                              {"target", cache::digest_of(backend.finish_target)},
                              {"options", digest_of_options(options, Changes::Finish)}});
}

std::vector<std::pair<std::string, std::string>> option_rows(const Options &options) {
  check_names(options);
  std::vector<std::pair<std::string, std::string>> out;
  for (const Row &row : rows) out.emplace_back(row.name, value_of(row, options));
  return out;
}

}  // namespace qd::compile
