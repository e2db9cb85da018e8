// cache_tools.cpp: the cache folder for tools: listing, reading, importing, cleaning, and what a stored plan holds.
#include "cache/inspect.hpp"
#include "core/api/core.hpp"
#include "core/compile/key.hpp"
#include "core/split/plan.hpp"

namespace qd {

std::vector<CacheEntry> cache_list(const std::string &root, bool whole) {
  std::vector<CacheEntry> out;
  for (cache::Listed &l : cache::list_entries(root, whole)) {
    CacheEntry e;
    e.payload_digest = l.payload_digest.hex();
    for (const cache::Component &c : l.components) e.components.emplace_back(c.name, c.digest.hex());
    e.path = std::move(l.path);
    e.tier = std::move(l.tier);
    e.arch = std::move(l.arch);
    e.key = std::move(l.key);
    e.version = std::move(l.version);
    e.problem = std::move(l.problem);
    e.file_bytes = l.file_bytes;
    e.payload_bytes = l.payload_bytes;
    e.hits = l.hits;
    e.used = l.used;
    out.push_back(std::move(e));
  }
  return out;
}

std::optional<std::string> cache_read(const std::string &root, const std::string &path) {
  const auto entry = cache::read_entry(root, path);
  if (!entry) return {};
  return std::string(entry->payload->view());
}

std::string cache_import(const std::string &root, std::string_view file) {
  std::string why;
  cache::import_entry(root, file, why);
  return why;
}

std::pair<uint64_t, uint64_t> cache_clean(const std::string &root, const std::string &policy, uint64_t max_bytes,
                                          double factor) {
  cache::StoreConfig config;
  config.root = root;
  config.cleaning_policy = policy;
  config.max_bytes = max_bytes;
  config.cleaning_factor = factor;
  config.version = core_build_id().substr(0, 16);
  const cache::Cleaned done = cache::clean_now(root, config);
  return {done.files, done.bytes};
}

std::vector<std::pair<std::string, std::string>> plan_tasks(std::string_view bytes) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto plan = split::plan_from_bytes(bytes);
  if (!plan) return out;
  std::vector<const split::Task *> unit;
  for (const split::Task &t : plan->tasks) {
    out.emplace_back(t.name, t.digest.hex());
    unit.push_back(&t);
  }
  out.emplace_back("tasks", compile::digest_of_tasks(unit).hex());
  return out;
}

}  // namespace qd
