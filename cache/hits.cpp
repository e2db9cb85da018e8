// hits.cpp: see hits.hpp.
#include "cache/hits.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>

#include "cache/entry.hpp"

namespace qd::cache {
namespace {

const char *const hits_file = "hits", *const next_file = "hits.next", *const lock_file = "hits.lock";
constexpr uint64_t small_file = 1 << 20, most_read = 64 << 20;
constexpr std::string_view mark = "summed up: ";  // first line: the size that the file had then

Fd open_hits(int root, const char *name, int flags) {
  return Fd(::openat(root, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600));
}

std::string read_whole(int root) {
  const Fd fd = open_hits(root, hits_file, O_RDONLY);
  struct stat s;
  if (!fd || ::fstat(fd.get(), &s) || !S_ISREG(s.st_mode) || uint64_t(s.st_size) > most_read) return {};
  std::string text(size_t(s.st_size), '\0');
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = ::read(fd.get(), text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    at += size_t(n);
  }
  text.resize(at);
  return text;
}

std::optional<uint64_t> number_of(std::string_view text) {
  uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return n;
}

// "<tier>/<digest> <count>" as a path below the root and a count.
std::optional<std::pair<std::string, uint64_t>> parse(std::string_view line) {
  const size_t slash = line.find('/'), space = line.find(' ');
  if (slash == line.npos || space == line.npos || slash > space) return {};
  const auto digest = Digest::from_hex(std::string(line.substr(slash + 1, space - slash - 1)));
  const auto count = number_of(line.substr(space + 1));
  if (!digest || !count || !valid_name(line.substr(0, slash))) return {};
  return std::pair{path_of({std::string(line.substr(0, slash)), "", *digest}), *count};
}

// The size above which a file is worth summing up: twice what was left the last time.
uint64_t worth_it(int root) {
  char head[48] = {};
  const Fd fd = open_hits(root, hits_file, O_RDONLY);
  if (!fd || ::read(fd.get(), head, sizeof head - 1) <= 0) return small_file;
  std::string_view line = head;
  line = line.substr(0, line.find('\n'));
  if (!line.starts_with(mark)) return small_file;
  return std::max(small_file, 2 * number_of(line.substr(mark.size())).value_or(0));
}

}  // namespace

std::unordered_map<std::string, uint64_t> read_hits(int root) {
  std::unordered_map<std::string, uint64_t> out;
  const std::string text = read_whole(root);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == text.npos) break;  // a line that is being written, or was cut
    if (const auto found = parse(std::string_view(text).substr(at, end - at))) out[found->first] += found->second;
    at = end + 1;
  }
  return out;
}

void make_hits(int root) { open_hits(root, hits_file, O_WRONLY | O_CREAT | O_APPEND); }

void append_hits(int root, const std::unordered_map<Key, uint32_t, KeyHash> &counts) {
  if (counts.empty()) return;
  std::string text = "\n";  // ends whatever line a killed process left
  for (const auto &[key, n] : counts) text += key.tier + "/" + key.digest.hex() + " " + std::to_string(n) + "\n";
  struct stat s;
  {
    const Fd fd = open_hits(root, hits_file, O_WRONLY | O_CREAT | O_APPEND);
    if (!fd || ::fstat(fd.get(), &s) || !S_ISREG(s.st_mode) || !write_all(fd.get(), text)) return;
  }
  if (uint64_t(s.st_size) > small_file && uint64_t(s.st_size) > worth_it(root)) sum_up_hits(root);
}

void sum_up_hits(int root) {
  const Fd lock = open_hits(root, lock_file, O_RDWR | O_CREAT);
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB)) return;
  std::string lines;
  for (const auto &[path, n] : read_hits(root)) {
    struct stat s;
    if (::fstatat(root, path.c_str(), &s, AT_SYMLINK_NOFOLLOW)) continue;
    const size_t tier = path.find('/');
    lines += path.substr(0, tier) + path.substr(path.rfind('/')) + " " + std::to_string(n) + "\n";
  }
  const std::string text = std::string(mark) + std::to_string(lines.size()) + "\n" + lines;
  const Fd fd = open_hits(root, next_file, O_WRONLY | O_CREAT | O_TRUNC);
  if (fd && write_all(fd.get(), text)) ::renameat(root, next_file, root, hits_file);
}

}  // namespace qd::cache
