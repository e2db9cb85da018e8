// store.hpp: bytes in, bytes out, keyed by {tier, arch, digest}. Content-addressed: a key names one value for ever, so
// a store may forget but can never be stale. No function here throws, whatever lies on the disk: what can't be read is
// a miss, what can't be written is forgotten, and the user is told once through `warn`. All functions may be called
// from any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/digest.hpp"

namespace qd::cache {

// 64-byte aligned bytes with at least 16 zero bytes behind them (drivers read PTX up to a NUL). Filled once by whoever
// made them, then shared as const.
class Bytes {
 public:
  static std::shared_ptr<Bytes> make(size_t size);       // zeroed; nullptr when there is no memory
  static std::shared_ptr<Bytes> copy(std::string_view);  // nullptr when there is no memory
  ~Bytes();
  Bytes(const Bytes &) = delete;
  Bytes &operator=(const Bytes &) = delete;
  char *data() { return data_; }
  const char *data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view view() const { return {data_, size_}; }
  bool resize(size_t size);  // keeps the front; false when there is no memory

 private:
  Bytes() = default;
  char *data_ = nullptr;
  size_t size_ = 0, room_ = 0;
};
using Blob = std::shared_ptr<const Bytes>;

struct Key {
  std::string tier;  // "ptx", "cubin", "elf", "spirv", "plan", ...; names a folder: [a-z0-9_]{1,31}
  std::string arch;  // the plugin's arch name; same alphabet
  Digest digest;
  bool operator==(const Key &) const = default;
};

struct Component {  // what went into the key, by name: the ground for "why did this recompile"
  std::string name;
  Digest digest;
  bool operator==(const Component &) const = default;
};

enum class Origin : uint8_t { memory, disk };

struct Info {             // what an entry's header says
  Digest payload_digest;  // digest_of(payload): a warm start can go on to the next tier without reading this payload
  uint64_t payload_size = 0;
  std::vector<Component> components;
  Origin origin = Origin::memory;
};

struct Entry {
  Blob payload;  // never null in an entry that get() returned
  Info info;
};

using Warn = std::function<void(const std::string &message)>;

// The right to build a value; others that want the same key wait for it, for a bounded time. Given back by the
// destructor.
class Claim {
 public:
  virtual ~Claim() = default;
  virtual bool waited() const = 0;  // somebody else was building it. Look it up again either way: it may just have come
};

class Store {
 public:
  virtual ~Store() = default;
  virtual std::optional<Entry> get(const Key &) = 0;
  virtual std::optional<Info> stat(const Key &) = 0;  // the header only
  // Fills payload_digest itself. Published when it returns, or forgotten.
  virtual void put(const Key &, const Blob &payload, const std::vector<Component> &components) = 0;
  virtual void drop(const Key &) = 0;  // the value proved unusable: replace it
  virtual void settle() {}             // before the end of a process: counts of hits are written down
  // Between a miss and put(). In this process: waits until the other builder is done. Another process: at most
  // min(2 s, three times the last build of this tier), and not at all where the file system has no locks. `cancelled`
  // is polled. A thread must not hold two claims. Never null.
  virtual std::unique_ptr<Claim> claim(const Key &, const std::function<bool()> &cancelled = {}) = 0;
};

// Bytes of values kept in memory are bounded; the oldest are forgotten first.
std::unique_ptr<Store> make_memory_store(uint64_t max_bytes);

struct StoreConfig {
  bool offline_cache = true;  // false: there is no disk layer, so nothing of it can be touched
  // Folders looked into behind the writable one, in order: shipped with an image, shared by a cluster. Never written,
  // touched, locked or cleaned; entries are checked as any other. The program named them, so any owner is trusted.
  std::vector<std::string> read_only_roots;
  std::string root;  // the one folder of all tiers; empty: none is known, memory only, with a warning
  std::string cleaning_policy = "lru";  // never, version, lru, fifo
  uint64_t max_bytes = 100ull << 20;    // of the files of all tiers together; 0: no bound
  double cleaning_factor = 0.25;        // share freed when over the bound
  std::string version;                  // of the program; policy `version` keeps only entries of this one
  uint64_t memory_bytes = 256ull << 20;
  Warn warn;  // called at most a few times, never while a lock is held
};
std::unique_ptr<Store> make_store(const StoreConfig &);  // memory in front of disk

}  // namespace qd::cache
