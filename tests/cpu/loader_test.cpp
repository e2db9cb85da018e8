// loader_test.cpp: objects of our own code generator load; damaged and foreign ones are refused and never crash. A
// mutant that loads is not run: only the cache's digest says that bytes are ours.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "backends/cpu/codegen_abi.h"
#include "backends/cpu/loader.hpp"
#include "qd/plugin_pack.hpp"
#include "tests/cpu/harness.hpp"

namespace qd::test {
namespace {

const char *kernel = R"(func @k($x: buf f32 1, $s: buf f32 0) {
  %0 = const.i32 0
  %1 = shape.i32 $x, 0
  operand %0, %1
  parallel.i32 1, 0 {
    %4 = axis.i32 0
    %5 = load.f32 $x, %4
    %6 = sin.f32 %5
    %7 = atomic_add.f32 $s, %0, %6
  }
})";

struct Loader : testing::Test {
  Cpu cpu;
  std::string artifact = cpu.artifact({ir::to_wire(ir::parse(kernel))});
  std::string object = std::string(plugin::unpack_objects(artifact).at(0).bytes);

  std::unique_ptr<cpu::Image> load(std::string_view bytes, std::string &error) {
    return cpu::Image::load(std::span(&bytes, 1), error);
  }
};

TEST_F(Loader, LoadsWhatWeMake) {
  std::string error;
  const auto image = load(object, error);
  ASSERT_TRUE(image) << error;
  EXPECT_TRUE(image->symbol("task0"));
  EXPECT_TRUE(image->symbol("task0.meta", sizeof(QdxCpuMeta)));
  EXPECT_FALSE(image->symbol("task0.meta", sizeof(QdxCpuMeta) + 1)) << "room behind a symbol ends with its section";
  EXPECT_FALSE(image->symbol("other"));
}

TEST_F(Loader, LoadsAtAnyAlignmentAndManyAtOnce) {
  std::string error, shifted = "x" + object;
  EXPECT_TRUE(load(std::string_view(shifted).substr(1), error)) << error;
  const std::vector<std::string_view> many(64, object);
  EXPECT_TRUE(cpu::Image::load(many, error)) << error;
}

TEST_F(Loader, RefusesEveryTruncation) {
  for (size_t n = 0; n < object.size(); n += 1 + n / 64) {
    std::string error;
    const std::string part = object.substr(0, n);  // of its own size, so that a sanitizer sees a read past it
    load(part, error);
    if (n < sizeof(Elf64_Ehdr)) { EXPECT_NE(error, ""); }
  }
}

TEST_F(Loader, SurvivesMutants) {
  std::mt19937 rng(1);
  int refused = 0;
  for (int k = 0; k < 20000; k++) {
    std::string mutant = object;
    for (int n = 1 + int(rng() % 4); n--;) {
      const size_t at =
          rng() % 3 ? rng() % mutant.size() : mutant.size() - 1 - rng() % std::min<size_t>(mutant.size(), 1200);
      mutant[at] = rng() % 2 ? char(rng()) : char(mutant[at] ^ (1 << rng() % 8));
    }
    std::string error;
    refused += !load(mutant, error);
    if (error.empty()) continue;
    EXPECT_NE(error.find("not an object of this code generator"), std::string::npos);
  }
  EXPECT_GT(refused, 1000);
}

TEST_F(Loader, RefusesNamesThatAreNotOnTheList) {
  std::string foreign = object;
  for (size_t at; (at = foreign.find("sinf")) != std::string::npos;) foreign.replace(at, 4, "abrt");
  std::string error;
  EXPECT_FALSE(load(foreign, error));
  EXPECT_NE(error.find("which is not on the list"), std::string::npos) << error;
}

TEST_F(Loader, DamagedArtifactsAreStaleAndNotFatal) {
  for (const std::string &bad : {std::string(), artifact.substr(0, 40), artifact.substr(1), std::string(200, 'x')}) {
    QdbModule *module = nullptr;
    EXPECT_EQ(cpu.load_bytes(bad, module), QDB_E_ARTIFACT) << cpu.err.message;
  }
}

}  // namespace
}  // namespace qd::test
