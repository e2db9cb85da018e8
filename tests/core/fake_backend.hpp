// fake_backend.hpp: a backend without a device for tests of the compiler and of launches. "Code" is the text of the
// request; it counts what it is asked for, fails on request, and keeps the launches it was given.
#pragma once
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/compile/backend.hpp"

namespace qd::test {

class FakeBuffer final : public Buffer {
 public:
  FakeBuffer(uint64_t size, std::atomic<int> &alive) : bytes_((size + 7) / 8), size_(size), alive_(alive) { ++alive_; }
  ~FakeBuffer() override { --alive_; }
  uint64_t address() const override { return uint64_t(reinterpret_cast<uintptr_t>(bytes_.data())); }
  void *host() const override { return const_cast<uint64_t *>(bytes_.data()); }
  uint64_t size() const override { return size_; }
  void copy_in(uint64_t offset, const void *src, uint64_t n) override {
    std::memcpy(static_cast<char *>(host()) + offset, src, n);
  }
  void copy_out(uint64_t offset, void *dst, uint64_t n) const override {
    std::memcpy(dst, static_cast<char *>(host()) + offset, n);
  }
  void fill(uint64_t offset, uint64_t n, uint64_t pattern, uint32_t width) override {
    for (uint64_t at = 0; at + width <= n; at += width) copy_in(offset + at, &pattern, width);
  }

 private:
  std::vector<uint64_t> bytes_;
  uint64_t size_;
  std::atomic<int> &alive_;
};

struct Launched {
  std::string symbol;
  std::vector<uint64_t> words;
  int64_t begin, end;
  uint32_t ordinal, flags;
};

class FakeBackend final : public compile::Backend {
 public:
  compile::BackendInfo facts;
  std::atomic<int> compiles{0}, compiled_tasks{0}, finishes{0}, loads{0}, modules_alive{0}, buffers_alive{0},
      launch_calls{0};
  std::atomic<int> fail_load_number{-1};  // counted from 0: that load throws
  int load_status = QDB_E_DEVICE_MEMORY;
  std::set<std::string> refused;  // loads of artifacts that begin so are answered QDB_E_ARTIFACT
  std::function<void(const compile::Request &)> while_compiling;
  std::vector<Launched> launched;
  std::function<void(const QdbLaunch *, uint32_t)> while_launching;  // instead of counting and keeping
  bool keep_launches = true;
  compile::LaunchNames last_names{};

  FakeBackend() {
    facts.arch = "fake";
    facts.units = QDB_UNIT_TASK | QDB_UNIT_KERNEL;
    facts.target = "level one";
    facts.finish_target = "level two";
  }
  const compile::BackendInfo &info() const override { return facts; }

  compile::Artifact compile(const compile::Request &r) override {
    if (while_compiling) while_compiling(r);
    ++compiles;
    compiled_tasks += int(r.tasks.size());
    std::string text;
    for (const auto &t : r.tasks) text += std::string(t.symbol) + "\n";
    return {"text", cache::Bytes::copy(text)};
  }
  compile::Artifact finish(const compile::Artifact &a) override {
    ++finishes;
    return {"final", cache::Bytes::copy(a.bytes->view())};
  }

  struct FakeModule final : compile::Module {
    FakeModule(FakeBackend &b, std::set<std::string> s) : backend(b) {
      ++backend.modules_alive;
      for (auto &name : s) entries.emplace(name, name);
    }
    ~FakeModule() override { --backend.modules_alive; }
    QdbEntry *entry(std::string_view symbol) override {
      const auto it = entries.find(std::string(symbol));
      if (it == entries.end()) throw Error(Kind::runtime, "no entry " + std::string(symbol), QDB_E_SYMBOL);
      return reinterpret_cast<QdbEntry *>(&it->second);
    }
    FakeBackend &backend;
    std::map<std::string, std::string> entries;
  };
  std::unique_ptr<compile::Module> load(std::span<const compile::Artifact> list) override {
    if (loads++ == fail_load_number) throw Error(Kind::memory, "no room", load_status);
    std::set<std::string> symbols;
    for (const auto &a : list) {
      std::string text(a.bytes->view());
      for (const auto &r : refused)
        if (text.starts_with(r)) throw Error(Kind::runtime, "stale", QDB_E_ARTIFACT);
      for (size_t at = 0; at < text.size();) {
        const size_t end = text.find('\n', at);
        symbols.insert(text.substr(at, end - at));
        at = end + 1;
      }
    }
    return std::make_unique<FakeModule>(*this, std::move(symbols));
  }
  void name(std::string_view symbol, std::string_view name) override { names[std::string(symbol)] = name; }
  std::map<std::string, std::string> names;  // of tasks, by symbol
  std::shared_ptr<Buffer> alloc(uint64_t bytes) override { return std::make_shared<FakeBuffer>(bytes, buffers_alive); }
  void launch(const compile::LaunchNames &names, const QdbLaunch *l, uint32_t n) override {
    if (while_launching) return while_launching(l, n);
    ++launch_calls;
    if (!keep_launches) return;
    const std::lock_guard lock(mutex_);
    last_names = names;
    for (uint32_t i = 0; i < n; ++i) {
      const auto *words = static_cast<const uint64_t *>(l[i].args);
      launched.push_back({*reinterpret_cast<const std::string *>(l[i].entry),
                          {words, words + l[i].arg_bytes / 8},
                          l[i].begin,
                          l[i].end,
                          l[i].task_ordinal,
                          l[i].flags});
    }
  }

 private:
  std::mutex mutex_;
};

// A kernel of `n` loops over $x; loop k adds the constant base + k.
inline std::string loops(int n, int base = 0, const std::string &name = "loops") {
  std::string s = "func @" + name + "($x: field f32, $n: i32) {\n  %z = const.i32 0\n  %n = arg.i32 $n\n";
  for (int k = 0; k < n; ++k) {
    const std::string at = std::to_string(k);
    s += "  operand %z, %n\n  parallel.i32 1, 0 {\n    %i" + at + " = axis.i32 0\n    %c" + at + " = const.f32 " +
         std::to_string(base + k) + ".25\n    %v" + at + " = load.f32 $x, %i" + at + "\n    %s" + at + " = add.f32 %v" +
         at + ", %c" + at + "\n    store $x, %i" + at + ", %s" + at + "\n  }\n";
  }
  return s + "}\n";
}

}  // namespace qd::test
