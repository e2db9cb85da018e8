// inspect.hpp: the folder of a store as a person or a tool sees it: what lies there, what is damaged, what may go.
// Works beside running processes, takes no part in lookups, and changes nothing except in clean_now().
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/store.hpp"

namespace qd::cache {

struct Listed {
  std::string path;  // below the root
  std::string tier, arch, key, version;
  uint64_t file_bytes = 0, payload_bytes = 0;
  uint64_t hits = 0;  // how often a process found it here, as far as that was written down
  int64_t used = 0;   // seconds since 1970: last use, or age with policy fifo
  std::vector<Component> components;
  Digest payload_digest;
  std::string problem;  // why it would be a miss; empty for an intact entry
};

// Every file that claims to be an entry. `whole`: bodies are read and checked too, not the headers alone.
std::vector<Listed> list_entries(const std::string &root, bool whole);

// The payload of an entry, by the path that list_entries gave; nothing when it isn't intact.
std::optional<Entry> read_entry(const std::string &root, const std::string &path);

// A file's bytes as an entry of any key, for checking what comes from elsewhere: its place below a root, or nothing.
std::optional<std::string> place_of_entry(std::string_view file);

// Publishes a file that place_of_entry() accepted. False with the reason when it can't be written.
bool import_entry(const std::string &root, std::string_view file, std::string &why);

struct Cleaned {
  uint64_t files = 0, bytes = 0;
};
// Removes damaged entries, and the rest by the policy until they are under the bound of the configuration, which is
// taken literally here: 0 bytes, and everything goes.
Cleaned clean_now(const std::string &root, const StoreConfig &);

}  // namespace qd::cache
