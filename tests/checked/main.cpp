// main.cpp: after a full run every row of violations.def has been provoked.
#include "tests/checked/harness.hpp"

namespace {

class AllRows : public testing::Environment {
  void TearDown() override {
    if (testing::GTEST_FLAG(filter) != "*") return;
    static const char *const rows[] = {
#define VIOLATION(name, ...) #name,
#include "backends/checked/violations.def"
    };
    for (const char *row : rows) EXPECT_TRUE(qd::test::provoked.count(row)) << "no test provokes the violation " << row;
  }
};

}  // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(new AllRows);
  return RUN_ALL_TESTS();
}
