// names_test.cpp: names for tools (ext_names.h). The environment of this test names a tool of ours (nvtx_tool.cpp),
// which NVTX loads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "backends/cuda/names.hpp"
#include "qd/ext_names.h"
#include "tests/cuda/harness.hpp"
#include "tests/cuda/tasks.hpp"

namespace qd::test {
namespace {

const QdExtNames *names_of(Cuda &c) {
  const QdbStr name = str(QD_EXT_NAMES_NAME);
  return static_cast<const QdExtNames *>(c.t->extension(c.instance, &name, QD_EXT_NAMES_VERSION));
}

void name_task(Cuda &c, const char *symbol, const char *name) {
  const QdbStr s = str(symbol), n = str(name);
  c.check(names_of(c)->task(c.device, &s, &n, &c.err));
}

TEST(CudaNames, only_while_a_tool_is_attached) {
  Cuda c;
  EXPECT_NE(names_of(c), nullptr);
  const std::string tool = std::getenv("NVTX_INJECTION64_PATH");
  unsetenv("NVTX_INJECTION64_PATH");
  EXPECT_EQ(names_of(c), nullptr);
  setenv("CUDA_INJECTION64_PATH", "/anything", 1);
  EXPECT_NE(names_of(c), nullptr);
  unsetenv("CUDA_INJECTION64_PATH");
  setenv("NVTX_INJECTION64_PATH", tool.c_str(), 1);
}

#ifdef QD_NVTX
TEST(CudaNames, kernels_are_ranges) {
  Cuda c;
  const QdExtNames *names = names_of(c);
  names->kernel_begin("outer");
  names->kernel_begin("inner");
  names->kernel_end();
  names->kernel_end();
  void *tool = dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(tool, nullptr) << "NVTX did not load the tool";
  const auto ranges = reinterpret_cast<const char *(*)()>(dlsym(tool, "tool_ranges"));
  EXPECT_STREQ(ranges(), "+outer +inner - - ");
}
#endif

TEST(CudaNames, code_that_cannot_be_renamed_keeps_its_symbol) {
  Cuda c;  // whose assembler gives text
  name_task(c, "t0", "kernel_0_name");
  Launches l{c};
  l.add(c.entries({serial})[0], {0, 1}, 0, 1);
  ASSERT_EQ(l.run(), QDB_OK);
  EXPECT_STREQ(fake().launch(0)->name, "t0");
}

#ifdef QD_PTXAS
std::string assembled(const std::string &ptx) {
  const std::string base = testing::TempDir() + "qd_names_test", in = base + ".ptx", out = base + ".cubin";
  std::ofstream(in) << ptx;
  if (std::system((std::string(QD_PTXAS) + " -arch=sm_90 " + in + " -o " + out).c_str()) != 0) return {};
  std::ifstream file(out, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Names of sections and symbols, as any reader of ELF finds them.
std::vector<std::string> names_in(const std::string &elf) {
  const auto number = [&](uint64_t at, int bytes) {
    uint64_t v = 0;
    std::memcpy(&v, elf.data() + at, size_t(bytes));
    return v;
  };
  const uint64_t sections = number(40, 8), n = number(60, 2), strings = number(62, 2);
  const auto text = [&](uint64_t table, uint64_t offset) {
    return std::string(elf.c_str() + number(sections + 64 * table + 24, 8) + offset);
  };
  std::vector<std::string> out;
  for (uint64_t k = 0; k < n; k++) {
    const uint64_t s = sections + 64 * k;
    out.push_back(text(strings, number(s, 4)));
    if (number(s + 4, 4) != 2) continue;
    for (uint64_t at = 0; at < number(s + 32, 8); at += 24)
      out.push_back(text(number(s + 40, 4), number(number(s + 24, 8) + at, 4)));
  }
  return out;
}

TEST(CudaNames, functions_are_renamed_in_finished_code) {
  Cuda c;
  const std::string cubin = assembled(c.ptx_of(scale));
  ASSERT_FALSE(cubin.empty());
  const std::string name = "a_kernel_with_a_rather_long_name_12_its_loop";
  const std::string other = cuda::renamed(cubin, "t0", name);
  ASSERT_FALSE(other.empty());
  auto before = names_in(cubin), after = names_in(other);
  ASSERT_EQ(before.size(), after.size());
  size_t changed = 0;
  for (size_t k = 0; k < before.size(); k++) {
    std::string want = before[k];
    if (want == "t0" || want.ends_with(".t0")) want.replace(want.size() - 2, 2, name), changed++;
    EXPECT_EQ(after[k], want);
  }
  EXPECT_GE(changed, 3u);                         // the symbol, its code, its constants
  EXPECT_EQ(cuda::renamed(cubin, "t", "x"), "");  // no such function
  for (size_t cut : {0u, 5u, 63u, 64u, 1000u}) EXPECT_EQ(cuda::renamed(cubin.substr(0, cut), "t0", name), "") << cut;
}

TEST(CudaNames, the_driver_sees_the_name) {
  setenv("QD_FAKE_PTXAS", QD_PTXAS, 1);
  Cuda c;
  name_task(c, "t0", "kernel_0_name");
  name_task(c, "t0", "another_kernel_3");  // the same task: the first name stays
  const auto e = c.entries({serial});
  unsetenv("QD_FAKE_PTXAS");
  Launches l{c};
  l.add(e[0], {0, 1}, 0, 1);
  ASSERT_EQ(l.run(), QDB_OK) << c.err.message;
  EXPECT_STREQ(fake().launch(0)->name, "kernel_0_name");
}

TEST(CudaNames, a_driver_that_refuses_the_name_gets_the_symbol) {
  for (const char *failing : {"cuModuleLoadData", "cuModuleGetFunction"}) {
    setenv("QD_FAKE_PTXAS", QD_PTXAS, 1);
    Cuda c;
    name_task(c, "t0", "kernel_0_name");
    fake().fail(failing, 0, 200);
    const auto e = c.entries({serial});
    unsetenv("QD_FAKE_PTXAS");
    EXPECT_FALSE(fake().armed());
    Launches l{c};
    l.add(e[0], {0, 1}, 0, 1);
    ASSERT_EQ(l.run(), QDB_OK) << c.err.message;
    EXPECT_STREQ(fake().launch(0)->name, "t0") << failing;
  }
}
#endif

}  // namespace
}  // namespace qd::test
