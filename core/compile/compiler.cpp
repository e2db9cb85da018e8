// compiler.cpp: see compiler.hpp. A Job is one compile unit on its way: key, artifact, finished artifact. Jobs go
// through the stages side by side; what a stage makes is published by the thread that made it, before anything else is
// done.
#include "core/compile/compiler.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "core/compile/executable.hpp"
#include "core/compile/packed.hpp"
#include "core/ir/ir.hpp"
#include "core/split/split.hpp"
#include "core/support/trace.hpp"

namespace qd::compile {
namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point t) { return std::chrono::duration<double, std::milli>(Clock::now() - t).count(); }

}  // namespace

// What was refused, and is not looked up any more: the finished artifact, or all that is stored.
enum class Compiler::Distrust { nothing, finished, all };

struct Compiler::Job {
  std::vector<const split::Task *> tasks;
  KeyOf key;
  std::optional<cache::Digest> packed;  // digest of the stored artifact: what the finished key is made of
  Artifact artifact;                    // no bytes while only the finished one was needed
  Artifact finished;
  bool found = false;     // in the store, and taken from there
  bool compiled = false;  // the plugin generated code
  cache::Origin origin = cache::Origin::memory;
  Distrust distrust = Distrust::nothing;
  const Cancelled *cancelled = nullptr;

  void check() const {
    if ((*cancelled)()) throw Error(Kind::interrupted, "the compilation was interrupted", QDB_E_CANCELLED);
  }
};

std::string whole_kernel_reason(const BackendInfo &info, const CompilerConfig &c) {
  if (!(info.units & QDB_UNIT_TASK)) return "backend without task modules";
  if (!c.offline_cache) return "offline_cache=False";
  if (c.per_offload == 0) return "per_offload_cache=False";
  if (c.dump_ir || c.load_ir || c.keep_asm) return "compiler debug dump";
  if (c.per_offload < 0 && info.caps & QDB_CAP_KERNEL_DEFAULT) return "backend prefers whole-kernel caching";
  return {};
}

Compiler::Compiler(std::shared_ptr<Backend> backend, std::shared_ptr<cache::Store> store,
                   std::shared_ptr<ThreadPool> pool, CompilerConfig config)
    : backend_(std::move(backend)),
      store_(std::move(store)),
      pool_(std::move(pool)),
      config_(std::move(config)),
      option_rows_(option_rows(config_.options)),
      arenas_(make_arenas(backend_, config_.random_seed)) {}
Compiler::~Compiler() = default;

std::vector<Compiler::Job> Compiler::jobs_of(const split::Plan &plan, bool whole, const Cancelled &cancelled) const {
  std::vector<Job> jobs;
  const BackendInfo &info = backend_->info();
  std::unordered_map<cache::Digest, bool, cache::DigestHash> seen;  // equal tasks are one unit, also within a kernel
  for (const split::Task &t : plan.tasks) {
    if (!seen.emplace(t.digest, true).second) continue;
    if (whole && !jobs.empty()) jobs[0].tasks.push_back(&t);
    else jobs.emplace_back().tasks.push_back(&t);
  }
  for (Job &j : jobs) j.key = artifact_key(j.tasks, info, config_.options), j.cancelled = &cancelled;
  return jobs;
}

Artifact Compiler::run_plugin(const Job &j) const {
  j.check();
  const trace::Span span("code generation", j.tasks[0]->name);
  std::vector<UnitTask> tasks;
  for (const split::Task *t : j.tasks) tasks.push_back({t->bytes, t->symbol, t->name});
  Request r;
  r.unit = backend_->info().units & QDB_UNIT_KERNEL && (j.tasks.size() > 1 || !(backend_->info().units & QDB_UNIT_TASK))
               ? QDB_UNIT_KERNEL
               : QDB_UNIT_TASK;
  r.tasks = tasks;
  r.options = option_rows_;
  r.flags =
      (config_.keep_asm ? QDB_COMPILE_KEEP_ASM : 0) | (config_.dump_ir || config_.load_ir ? QDB_COMPILE_DUMP_IR : 0);
  r.cancelled = *j.cancelled;
  return backend_->compile(r);
}

void Compiler::verify(const Job &j, const Artifact &stored) const {
  if (!config_.debug_cache_verify) return;
  const Artifact fresh = run_plugin(j);
  if (fresh.kind == stored.kind && fresh.bytes->view() == stored.bytes->view()) return;
  throw Error(
      Kind::internal,
      "debug_cache_verify: task " + j.tasks[0]->name + ", key " + j.key.digest.hex() +
          ": the cached code differs from a new compilation. Either the key misses an input or the plugin's code "
          "generation is not deterministic; compare the components in the entry's header");
}

void Compiler::publish(const Job &j, const cache::Key &key, const cache::Blob &bytes,
                       const std::vector<cache::Component> &components) const {
  const trace::Span span("publish", j.tasks[0]->name);
  store_->put(key, bytes, components);
}

// Whether the store has the code of a job; then the job has it too. When a finished artifact can be had by the digest
// of the stored one alone, the artifact itself is not even read.
bool Compiler::find(Job &j) const {
  if (j.distrust == Distrust::all) return false;
  const BackendInfo &info = backend_->info();
  const cache::Key key{"artifact", info.arch, j.key.digest};
  if (info.caps & QDB_CAP_FINISH && !config_.debug_cache_verify && j.distrust == Distrust::nothing) {
    if (const auto head = store_->stat(key)) {
      const auto finished =
          store_->get({"finished", info.arch, finished_key(head->payload_digest, info, config_.options).digest});
      if (finished && unpack(finished->payload, j.finished)) {
        j.packed = head->payload_digest;
        j.origin = finished->info.origin;
        return true;
      }
    }
  }
  const auto entry = store_->get(key);
  if (!entry) return false;
  if (!unpack(entry->payload, j.artifact)) {
    store_->drop(key);
    return false;
  }
  verify(j, j.artifact);
  j.packed = entry->info.payload_digest;
  j.origin = entry->info.origin;
  return true;
}

// Reads many small files where files are slow (a network's): a thread that waits for a disk needs no core, so there are
// more of them than the pool has. Where the first look is quick the pool's threads are quicker (docs/adr/0025).
void Compiler::look_ahead(std::vector<Job> &jobs) const {
  constexpr size_t most_threads = 16, worth_it = 8;
  constexpr double slow_ms = 0.5;
  if (jobs.size() < worth_it || pool_->workers() >= most_threads || config_.debug_cache_verify) return;
  std::atomic<size_t> next = 0;
  const auto look_at_next = [&] {
    const size_t i = next.fetch_add(1);
    if (i >= jobs.size()) return false;
    const trace::Span span("look ahead", jobs[i].tasks[0]->name);
    try {
      jobs[i].found = find(jobs[i]);
    } catch (...) {}  // fetch() meets it again
    return true;
  };
  const auto t = Clock::now();
  look_at_next();
  if (ms_since(t) < slow_ms) return;
  std::vector<std::thread> threads;
  for (size_t n = 0; n < std::min(most_threads, jobs.size() - 1); ++n) {
    try {
      threads.emplace_back([&] {
        while (look_at_next()) {}
      });
    } catch (const std::system_error &) { break; }  // no more threads: those that run do it
  }
  for (auto &thread : threads) thread.join();
}

// Gets the artifact from the store or the plugin.
void Compiler::fetch(Job &j) const {
  trace::Span span("artifact tier", j.tasks[0]->name);
  const BackendInfo &info = backend_->info();
  const cache::Key key{"artifact", info.arch, j.key.digest};
  if (j.found || find(j)) return span.note(j.origin == cache::Origin::disk ? "disk" : "memory");
  const auto claim = store_->claim(key, *j.cancelled);
  if (find(j)) return span.note("another's");  // also without a wait: it may have come between the look and the claim
  span.note("compiled");
  j.artifact = run_plugin(j);
  j.compiled = true;
  const cache::Blob packed = pack(j.artifact);
  if (info.caps & QDB_CAP_FINISH) j.packed = cache::digest_of(packed->view());
  publish(j, key, packed, j.key.components);
}

void Compiler::finish(Job &j) const {
  const BackendInfo &info = backend_->info();
  if (j.finished.bytes) return;
  if (!(info.caps & QDB_CAP_FINISH)) {
    j.finished = j.artifact;
    return;
  }
  const KeyOf k2 = finished_key(*j.packed, info, config_.options);
  const cache::Key key{"finished", info.arch, k2.digest};
  trace::Span tier("finished tier", j.tasks[0]->name);
  const auto look = [&] {
    const auto entry = j.distrust != Distrust::nothing ? std::nullopt : store_->get(key);
    if (!entry || !unpack(entry->payload, j.finished)) return false;
    tier.note(entry->info.origin == cache::Origin::disk ? "disk" : "memory");
    return true;
  };
  if (look()) return;
  const auto claim = store_->claim(key, *j.cancelled);
  if (look()) return;
  tier.note("finished");
  j.check();
  const trace::Span span("finish", j.tasks[0]->name);
  try {
    j.finished = backend_->finish(j.artifact);
  } catch (const Error &e) {
    if (e.status != QDB_E_ARTIFACT || j.compiled) throw;
    return finish_again(j, e);
  }
  publish(j, key, pack(j.finished), k2.components);
}

// A stored artifact that the plugin does not finish is forgotten and made again, once.
void Compiler::finish_again(Job &j, const Error &refusal) const {
  log_line(4,
           "a cached artifact of task " + j.tasks[0]->name + " was refused and is compiled again: " + refusal.what());
  const BackendInfo &info = backend_->info();
  const cache::Key key{"artifact", info.arch, j.key.digest};
  store_->drop(key);
  j.artifact = run_plugin(j);
  j.compiled = true;
  const cache::Blob packed = pack(j.artifact);
  j.packed = cache::digest_of(packed->view());
  publish(j, key, packed, j.key.components);
  const KeyOf k2 = finished_key(*j.packed, info, config_.options);
  j.finished = backend_->finish(j.artifact);
  publish(j, {"finished", info.arch, k2.digest}, pack(j.finished), k2.components);
}

void Compiler::obtain(std::vector<Job> &jobs, Observations &seen) const {
  const auto each = [&](auto stage) {
    pool_->parallel_for(jobs.size(), 1, [&](uint64_t begin, uint64_t end, uint32_t) {
      for (uint64_t i = begin; i < end; ++i) stage(jobs[i]);
    });
  };
  auto t = Clock::now();
  look_ahead(jobs);
  each([this](Job &j) { fetch(j); });
  seen.codegen_ms += ms_since(t);
  t = Clock::now();
  each([this](Job &j) { finish(j); });
  seen.finish_ms += ms_since(t);
}

// Loads all jobs as one module. What was stored and the plugin refuses is forgotten and made again, once: first the
// finished artifact out of the stored portable one, where there are both, then that one too.
std::unique_ptr<Module> Compiler::load(std::vector<Job> &jobs, Observations &seen) const {
  for (auto distrust = Distrust::nothing;;) {
    try {
      const trace::Span span("load", jobs[0].tasks[0]->name);
      const auto t = Clock::now();
      std::vector<Artifact> artifacts;
      for (const Job &j : jobs) {
        artifacts.push_back(j.finished);
        for (const split::Task *task : j.tasks) backend_->name(task->symbol, task->name);
      }
      auto module = backend_->load(artifacts);
      for (const Job &j : jobs)
        for (const split::Task *task : j.tasks)
          module->entry(task->symbol);  // here, so that a foreign artifact is found out
      seen.load_ms += ms_since(t);
      return module;
    } catch (const Error &e) {
      const bool stale = e.status == QDB_E_ARTIFACT || e.status == QDB_E_SYMBOL;
      const bool any_stored = std::any_of(jobs.begin(), jobs.end(), [](const Job &j) { return !j.compiled; });
      if (!stale || !any_stored || distrust == Distrust::all) throw;
      const bool finishes = backend_->info().caps & QDB_CAP_FINISH && distrust == Distrust::nothing;
      distrust = finishes ? Distrust::finished : Distrust::all;
      log_line(4, std::string("a cached artifact was refused and is ") + (finishes ? "finished" : "compiled") +
                      " again: " + e.what());
    }
    forget(jobs, distrust);
    obtain(jobs, seen);
  }
}

void Compiler::forget(std::vector<Job> &jobs, Distrust distrust) const {
  const BackendInfo &info = backend_->info();
  for (Job &j : jobs) {
    if (j.packed) store_->drop({"finished", info.arch, finished_key(*j.packed, info, config_.options).digest});
    if (distrust == Distrust::all) store_->drop({"artifact", info.arch, j.key.digest});
    Job again;
    again.tasks = std::move(j.tasks);
    again.key = std::move(j.key);
    again.distrust = distrust;
    again.cancelled = j.cancelled;
    j = std::move(again);
  }
}

std::shared_ptr<Executable> Compiler::compile(const ir::Unit &kernel, std::string *stored) {
  Observations seen;
  const auto t = Clock::now();
  if (const auto fault = ir::verify(kernel))  // the passes trust what they read
    throw Error(Kind::internal, "kernel " + kernel.debug.name + " is malformed: function " +
                                    std::to_string(fault->func) + ", record " + std::to_string(fault->record) + ": " +
                                    fault->message);
  split::Plan plan = [&] {
    const trace::Span span("passes", kernel.debug.name);
    return split::split(kernel);
  }();
  if (stored) *stored = split::to_bytes(plan);
  seen.passes_ms = ms_since(t);
  dump(kernel, plan);
  return realise(std::move(plan), std::move(seen), true);
}

std::shared_ptr<Executable> Compiler::compile_plan(std::string_view stored) {
  Observations seen;
  const auto t = Clock::now();
  auto plan = split::plan_from_bytes(stored);
  seen.passes_ms = ms_since(t);
  return plan ? realise(std::move(*plan), std::move(seen), false) : nullptr;
}

// Code for every task of the plan, from the store or the plugin, loaded.
std::shared_ptr<Executable> Compiler::realise(split::Plan plan, Observations seen, bool was_split) const {
  const BackendInfo &info = backend_->info();
  seen.whole_kernel_reason = whole_kernel_reason(info, config_);
  const bool whole = !seen.whole_kernel_reason.empty();
  if (whole && log_level() >= 4)
    log_line(4, "kernel " + plan.name + ": cached as a whole kernel: " + seen.whole_kernel_reason);
  const Cancelled cancelled = [this, before = interrupts_.load(std::memory_order_relaxed)] {
    return interrupts_.load(std::memory_order_relaxed) != before;
  };
  std::vector<Job> jobs = jobs_of(plan, whole && info.units & QDB_UNIT_KERNEL, cancelled);
  std::unique_ptr<Module> module;
  if (!jobs.empty()) {
    obtain(jobs, seen);
    module = load(jobs, seen);
  }
  seen.tasks_total = int(plan.tasks.size());
  seen.tasks_recompiled = 0;
  for (const Job &j : jobs) {
    if (j.compiled) seen.tasks_recompiled += int(j.tasks.size());
    else ++(j.origin == cache::Origin::disk ? seen.disk_hits : seen.memory_hits);
    seen.artifact_bytes += j.finished.bytes->size();
  }
  seen.tasks_hit = seen.tasks_total - seen.tasks_recompiled;
  if (!whole && was_split) {  // a task is a top-level construct: a parallel loop or a serial run
    seen.constructs_total = seen.tasks_total;
    seen.constructs_hit = seen.tasks_hit;
    seen.constructs_recompiled = seen.tasks_recompiled;
  }
  return make_executable(std::move(plan), std::move(module), backend_, arenas_, std::move(seen));
}

}  // namespace qd::compile
