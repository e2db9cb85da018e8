// folder.hpp: the small pieces that most cache tests share.
#pragma once
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "cache/store.hpp"
#include "tests/support/temporary_folder.hpp"

namespace qd::cache {

using Folder = test::TemporaryFolder;

inline Key key_of(std::string_view text, std::string tier = "elf") { return {std::move(tier), "cpu", digest_of(text)}; }

inline std::string file_of(const std::string &root, const Key &k) {
  std::string hex = k.digest.hex();
  return root + "/" + k.tier + "/" + hex.substr(0, 2) + "/" + hex;
}

inline std::string slurp(const std::string &path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

inline void spill(const std::string &path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), std::streamsize(bytes.size()));
}

// Incompressible or repetitive text of a given length.
inline std::string payload_of(size_t size, bool repetitive = false) {
  std::string s(size, 'a');
  uint64_t x = size + 88172645463325252ull;
  if (!repetitive)
    for (char &c : s) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      c = char(x);
    }
  return s;
}

struct Warnings {
  std::mutex mutex;
  std::vector<std::string> lines;
  Warn sink() {
    return [this](const std::string &m) {
      std::lock_guard lock(mutex);
      lines.push_back(m);
    };
  }
};

inline StoreConfig config_of(const std::string &root, Warnings &w) {
  StoreConfig c;
  c.root = root;
  c.version = "1.0";
  c.warn = w.sink();
  return c;
}

}  // namespace qd::cache
