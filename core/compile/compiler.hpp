// compiler.hpp: from a kernel to an executable: split, keys, store, plugin, load. The policy (one unit per task, or one
// for the kernel) decides only what is compiled and cached together; the tasks and their results are the same either
// way.
#pragma once
#include <atomic>
#include <functional>
#include <memory>

#include "cache/store.hpp"
#include "core/api/core.hpp"
#include "core/compile/backend.hpp"
#include "core/compile/key.hpp"
#include "core/support/thread_pool.hpp"

namespace qd::compile {

struct CompilerConfig {
  Options options;
  int per_offload = -1;  // -1 what the backend prefers, 0, 1
  bool offline_cache = true;
  bool debug_cache_verify = false;  // recompile on each hit and compare
  bool print_ir = false, dump_ir = false, load_ir = false, keep_asm = false;
  std::string dump_path;
  uint32_t random_seed = 0;
};

class Arenas;  // launch memory of the calling threads: executable.hpp

// Why the kernel is cached as a whole, or an empty text when it is cached by task.
std::string whole_kernel_reason(const BackendInfo &, const CompilerConfig &);

class Compiler {
 public:
  // `store` must not have been shared with a runtime that had other settings of offline_cache.
  Compiler(std::shared_ptr<Backend>, std::shared_ptr<cache::Store>, std::shared_ptr<ThreadPool>, CompilerConfig);
  ~Compiler();

  // Any number of threads at once. Throws Error; Kind::interrupted after interrupt().
  // `plan`, when given, gets the kernel's plan in stored form.
  std::shared_ptr<Executable> compile(const ir::Unit &kernel, std::string *plan = nullptr);
  // From a stored plan: neither split nor canonicalised. Null when the bytes are not a plan of this build.
  std::shared_ptr<Executable> compile_plan(std::string_view plan);

  void interrupt() { interrupts_.fetch_add(1, std::memory_order_relaxed); }  // asks the compiles that run now to stop

 private:
  using Cancelled = std::function<bool()>;
  struct Job;
  enum class Distrust;
  bool find(Job &) const;
  void look_ahead(std::vector<Job> &) const;
  void fetch(Job &) const;
  void finish(Job &) const;
  void publish(const Job &, const cache::Key &, const cache::Blob &, const std::vector<cache::Component> &) const;
  void finish_again(Job &, const Error &refusal) const;
  void verify(const Job &, const Artifact &) const;
  Artifact run_plugin(const Job &) const;
  std::vector<Job> jobs_of(const split::Plan &, bool whole, const Cancelled &) const;
  std::unique_ptr<Module> load(std::vector<Job> &, Observations &) const;
  void forget(std::vector<Job> &, Distrust) const;
  void obtain(std::vector<Job> &, Observations &) const;
  void dump(const ir::Unit &kernel, const split::Plan &) const;
  std::shared_ptr<Executable> realise(split::Plan, Observations, bool was_split) const;

  std::shared_ptr<Backend> backend_;
  std::shared_ptr<cache::Store> store_;
  std::shared_ptr<ThreadPool> pool_;
  CompilerConfig config_;
  std::vector<std::pair<std::string, std::string>> option_rows_;
  std::shared_ptr<Arenas> arenas_;
  std::atomic<uint64_t> interrupts_{0};
};

}  // namespace qd::compile
