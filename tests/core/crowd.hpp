// crowd.hpp: small kernels with known results and processes that compile them on one cache folder; for tests of what
// happens when processes die, or when many start at once.
#pragma once
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <string>
#include <vector>

#include "core/api/core.hpp"
#include "core/ir/ir.hpp"
#include "tests/support/temporary_folder.hpp"

namespace qd::test {

// Kernel number k: three loops over x, which add k, double, and add one.
inline std::string kernel_text(int k) {
  const auto loop = [](const std::string &i, const std::string &body) {
    return "  operand %z, %n\n  parallel.i32 1, 0 {\n    %i" + i + " = axis.i32 0\n    %v" + i + " = load.i32 $x, %i" +
           i + "\n" + body + "    store $x, %i" + i + ", %w" + i + "\n  }\n";
  };
  return "func @k" + std::to_string(k) + "($x: buf i32 1, $n: i32) {\n  %z = const.i32 0\n  %n = arg.i32 $n\n" +
         "  %k = const.i32 " + std::to_string(k) + "\n  %one = const.i32 1\n" +
         loop("a", "    %wa = add.i32 %va, %k\n") + loop("b", "    %wb = add.i32 %vb, %vb\n") +
         loop("c", "    %wc = add.i32 %vc, %one\n") + "}\n";
}

inline std::shared_ptr<Context> context_on(const std::string &root, int per_offload, uint64_t max_bytes = 100 << 20) {
  ContextConfig c;
  c.archs = {"reference"};
  c.plugin_dir = QD_PLUGIN_DIR;
  c.cache_root = root;
  c.per_offload = per_offload;
  c.cache_max_bytes = max_bytes;
  c.options["num_compile_threads"] = "1";
  return Context::open(c);
}

// Compiles and runs kernel k; tasks that were compiled, or -1 for a wrong result.
inline int run(Context &c, int k) {
  const auto e = c.compile(ir::parse(kernel_text(k)));
  std::vector<int32_t> x = {1, 2, 3};
  std::vector<uint64_t> words(QD_ARG_FIRST);
  words.push_back(uint64_t(reinterpret_cast<uintptr_t>(x.data())));
  words.push_back(x.size());
  words.push_back(x.size());
  e->launch(words.data());
  c.sync();
  for (int i = 0; i < 3; ++i)
    if (x[size_t(i)] != 2 * (i + 1 + k) + 1) return -1;
  return e->observations().tasks_recompiled;
}

// A T that forked processes share.
template <class T>
class Shared {
 public:
  Shared() : at_(new (::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) T) {}
  ~Shared() { ::munmap(at_, sizeof(T)); }
  Shared(const Shared &) = delete;
  T *operator->() const { return at_; }

 private:
  T *at_;
};

}  // namespace qd::test
