// inspect.cpp: see inspect.hpp.
#include "cache/inspect.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cache/entry.hpp"
#include "cache/hits.hpp"
#include "cache/layers.hpp"

namespace qd::cache {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_file(const fs::path &path, size_t most) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat s;
  if (!fd || ::fstat(fd.get(), &s) || !S_ISREG(s.st_mode)) return {};
  std::string bytes(std::min(size_t(s.st_size), most), '\0');
  for (size_t at = 0; at < bytes.size();) {
    ssize_t n = ::read(fd.get(), bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    at += size_t(n);
  }
  return bytes;
}

// <tier>/<two digits>/<64 digits> as a key; the arch is what the file says.
std::optional<Key> key_at(const fs::path &relative, const std::string &arch) {
  const std::string name = relative.filename().string();
  const auto digest = Digest::from_hex(name);
  const fs::path folder = relative.parent_path();
  if (!digest || folder.filename().string() != name.substr(0, 2)) return {};
  Key key{folder.parent_path().string(), arch, *digest};
  if (!valid_key(key)) return {};
  return key;
}

Listed look_at(const fs::path &root, const fs::path &relative, bool whole) {
  Listed l;
  l.path = relative.string();
  l.tier = relative.parent_path().parent_path().string();
  l.key = relative.filename().string();
  struct stat s;
  if (::lstat((root / relative).c_str(), &s)) {
    l.problem = "it vanished";
    return l;
  }
  l.file_bytes = uint64_t(s.st_size);
  l.used = s.st_mtime;
  const auto bytes =
      S_ISREG(s.st_mode) ? read_file(root / relative, whole ? SIZE_MAX : max_header_bytes) : std::nullopt;
  if (!bytes) {
    l.problem = S_ISREG(s.st_mode) ? "it can't be read" : "it is not a regular file";
    return l;
  }
  const auto arch = entry_arch(*bytes);
  const auto key = arch ? key_at(relative, *arch) : std::nullopt;
  const auto info = key ? decode_header(*bytes, l.file_bytes, *key) : std::nullopt;
  if (!info) {
    l.problem =
        arch ? "its header names another place or another length" : "its header is damaged or of another format";
    return l;
  }
  l.arch = *arch;
  l.version = entry_version(*bytes).value_or("");
  l.payload_bytes = info->payload_size;
  l.components = info->components;
  l.payload_digest = info->payload_digest;
  if (whole && !decode_entry(*bytes, *key)) l.problem = "its body is damaged";
  return l;
}

}  // namespace

std::vector<Listed> list_entries(const std::string &root, bool whole) {
  std::vector<Listed> out;
  std::error_code e;
  for (fs::directory_iterator tier(root, e), end; !e && tier != end; tier.increment(e)) {
    if (!valid_name(tier->path().filename().string())) continue;
    std::error_code inner;
    for (fs::directory_iterator shard(tier->path(), inner); !inner && shard != fs::directory_iterator();
         shard.increment(inner)) {
      std::error_code last;
      for (fs::directory_iterator f(shard->path(), last); !last && f != fs::directory_iterator(); f.increment(last))
        if (Digest::from_hex(f->path().filename().string()))
          out.push_back(look_at(root, f->path().lexically_relative(root), whole));
    }
  }
  const Fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd && !out.empty()) {
    const auto hits = read_hits(fd.get());
    for (Listed &l : out)
      if (const auto found = hits.find(l.path); found != hits.end()) l.hits = found->second;
  }
  std::sort(out.begin(), out.end(), [](const Listed &a, const Listed &b) { return a.path < b.path; });
  return out;
}

std::optional<Entry> read_entry(const std::string &root, const std::string &path) {
  const auto bytes = read_file(fs::path(root) / path, SIZE_MAX);
  const auto arch = bytes ? entry_arch(*bytes) : std::nullopt;
  const auto key = arch ? key_at(path, *arch) : std::nullopt;
  if (!key) return {};
  return decode_entry(*bytes, *key);
}

std::optional<std::string> place_of_entry(std::string_view file) {
  const auto key = entry_key(file);
  if (!key || !valid_key(*key) || !decode_entry(file, *key)) return {};
  return path_of(*key);
}

bool import_entry(const std::string &root, std::string_view file, std::string &why) {
  const auto key = entry_key(file);
  if (!key || !place_of_entry(file)) {
    why = "it is not an intact entry";
    return false;
  }
  StoreConfig config;
  config.root = root;
  config.cleaning_policy = "never";
  config.warn = [&why](const std::string &message) { why = message; };
  DiskLayer disk(config);
  disk.put(*key, file);
  return why.empty();
}

Cleaned clean_now(const std::string &root, const StoreConfig &config) {
  Cleaned done;
  Fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return done;
  uint64_t files = 0, bytes = 0;
  auto entries = list_entries(root, false);
  for (const Listed &l : entries) {
    ++files, bytes += l.file_bytes;
    if (!l.problem.empty()) ::unlinkat(fd.get(), l.path.c_str(), 0);
  }
  if (const Fd lock = lock_cleaning(fd.get(), true))
    clean(fd.get(), config, config.max_bytes, [](const Digest &) { return false; });
  for (const Listed &l : list_entries(root, false)) --files, bytes -= l.file_bytes;
  sum_up_hits(fd.get());
  done.files = files;
  done.bytes = bytes;
  return done;
}

}  // namespace qd::cache
