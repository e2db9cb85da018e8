// key.hpp: what a cached artifact is looked up by. A key is the digest of named components, and the components are
// found by walking tables (the tasks, every row of options.def), so that none can be forgotten. Kept by name in the
// entry's header.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cache/store.hpp"
#include "core/compile/backend.hpp"
#include "core/split/plan.hpp"

namespace qd::compile {

using Options = std::map<std::string, std::string>;  // rows of options.def by name; absent: the row's default

struct KeyOf {
  cache::Digest digest;
  std::vector<cache::Component> components;
};

// K1: the code of one compile unit, which is one task or all tasks of a kernel in order. Throws on an option without a
// row.
KeyOf artifact_key(std::span<const split::Task *const> unit, const BackendInfo &, const Options &);

// The component "tasks" of a kernel that is cached whole: of its distinct tasks, in order.
cache::Digest digest_of_tasks(std::span<const split::Task *const>);

// K2: finished code, from the digest of the artifact as the store has it.
KeyOf finished_key(const cache::Digest &artifact, const BackendInfo &, const Options &);

// All rows of options.def with their values, as a plugin gets them.
std::vector<std::pair<std::string, std::string>> option_rows(const Options &);

}  // namespace qd::compile
