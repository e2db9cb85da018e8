// layered_store.cpp: memory in front of disk, and the one switch of spec/caching.md 3: with offline_cache=False there
// is no disk layer, so no tier can reach the disk. Also the place where "no function throws" is kept.
#include <chrono>

#include "cache/entry.hpp"
#include "cache/layers.hpp"

namespace qd::cache {
namespace {

class LayeredStore final : public Store {
 public:
  LayeredStore(uint64_t memory_bytes, std::unique_ptr<DiskLayer> disk,
               std::vector<std::unique_ptr<DiskLayer>> shipped = {})
      : memory_(memory_bytes), disk_(std::move(disk)), shipped_(std::move(shipped)) {}

  std::optional<Entry> get(const Key &key) override {
    return guarded<Entry>([&]() -> std::optional<Entry> {
      if (auto entry = memory_.get(key)) return entry;
      auto entry = disk_ ? disk_->get(key) : std::nullopt;
      for (const auto &s : shipped_)
        if (!entry && !dropped(key)) entry = s->get(key);
      if (entry) memory_.keep(key, *entry);
      return entry;
    });
  }

  std::optional<Info> stat(const Key &key) override {
    return guarded<Info>([&] {
      auto info = memory_.stat(key);
      if (!info && disk_) info = disk_->stat(key);
      for (const auto &s : shipped_)
        if (!info && !dropped(key)) info = s->stat(key);
      return info;
    });
  }

  void put(const Key &key, const Blob &payload, const std::vector<Component> &components) override {
    if (!payload || !valid_key(key)) return;
    guarded<bool>([&]() -> std::optional<bool> {
      Entry entry{payload, {digest_of(payload->view()), payload->size(), components, Origin::memory}};
      memory_.keep(key, entry);
      if (disk_)
        disk_->put(key,
                   encode_entry(key, payload->view(), entry.info.payload_digest, components, disk_->config().version));
      return true;
    });
  }

  void drop(const Key &key) override {
    guarded<bool>([&]() -> std::optional<bool> {
      memory_.drop(key);
      if (disk_) disk_->drop(key);
      if (!shipped_.empty()) {  // it can't be removed there: it is not looked up there again
        std::lock_guard lock(mutex_);
        dropped_.insert(key);
      }
      return true;
    });
  }

  void settle() override {
    if (disk_) disk_->settle();
  }

  std::unique_ptr<Claim> claim(const Key &key, const std::function<bool()> &cancelled) override {
    auto mine = std::make_unique<LocalClaim>(*this, key);
    std::unique_lock lock(mutex_);
    while (!building_.insert(key).second) {
      mine->waited_ = true;
      changed_.wait_for(lock, std::chrono::milliseconds(20));
      if (cancelled && cancelled()) return mine;
    }
    mine->held_ = true;
    lock.unlock();
    // Whoever waited inside the process finds the value in memory: no reason to ask the neighbours.
    if (disk_ && !mine->waited_) mine->file_ = disk_->claim(key, cancelled);
    return mine;
  }

 private:
  class LocalClaim final : public Claim {
   public:
    LocalClaim(LayeredStore &store, Key key) : store_(store), key_(std::move(key)) {}
    ~LocalClaim() override {
      file_.reset();
      if (!held_) return;
      std::lock_guard lock(store_.mutex_);
      store_.building_.erase(key_);
      store_.changed_.notify_all();
    }
    bool waited() const override { return waited_ || (file_ && file_->waited()); }

    LayeredStore &store_;
    Key key_;
    std::unique_ptr<Claim> file_;
    bool waited_ = false, held_ = false;
  };

  // Out of memory, or a fault of ours: a cache that can't answer is a miss, never an exception out of a kernel call.
  template <class T, class F>
  static std::optional<T> guarded(F &&f) {
    try {
      return f();
    } catch (...) { return {}; }
  }

  bool dropped(const Key &key) {
    std::lock_guard lock(mutex_);
    return dropped_.contains(key);
  }

  MemoryLayer memory_;
  std::unique_ptr<DiskLayer> disk_;
  const std::vector<std::unique_ptr<DiskLayer>> shipped_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_set<Key, KeyHash> building_, dropped_;
};

}  // namespace

std::unique_ptr<Store> make_memory_store(uint64_t max_bytes) {
  return std::make_unique<LayeredStore>(max_bytes, nullptr);
}

std::unique_ptr<Store> make_store(const StoreConfig &config) {
  auto disk = config.offline_cache ? std::make_unique<DiskLayer>(config) : nullptr;
  std::vector<std::unique_ptr<DiskLayer>> shipped;
  if (config.offline_cache)
    for (const std::string &root : config.read_only_roots) {
      StoreConfig one = config;
      one.root = root;
      shipped.push_back(std::make_unique<DiskLayer>(std::move(one), true));
    }
  return std::make_unique<LayeredStore>(config.memory_bytes, std::move(disk), std::move(shipped));
}

}  // namespace qd::cache
