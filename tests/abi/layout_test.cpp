// layout_test.cpp: the snapshot lists every struct of the headers, and status.def every code. The offsets themselves
// are static assertions of layout_c.c, which this links so that they are compiled as C too.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "qd/ext_names.h"
#include "qd/ext_streams.h"
#include "qd/qd_backend.h"

extern "C" int qd_layout_is_checked(void);

namespace {

std::string read(const std::string &name) {
  std::ifstream in(std::string(QD_SOURCE_DIR) + "/" + name);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

std::set<std::string> all(const std::string &text, const std::string &pattern) {
  std::set<std::string> out;
  const std::regex re(pattern);
  for (std::sregex_iterator i(text.begin(), text.end(), re), end; i != end; ++i) out.insert((*i)[1]);
  return out;
}

TEST(Layout, SnapshotHoldsEveryStruct) {
  EXPECT_TRUE(qd_layout_is_checked());
  std::set<std::string> structs;
  for (const char *header : {"qd_backend.h", "wire.h", "ext_counts.h", "ext_names.h", "ext_streams.h"})
    structs.merge(all(read("plugins-api/include/qd/" + std::string(header)), "typedef struct (\\w+) \\{"));
  EXPECT_EQ(structs, all(read("tests/abi/layout.inc"), "QD_SIZE\\((\\w+),"));
}

TEST(Layout, StatusTableHoldsEveryCode) {
  const std::string header = read("plugins-api/include/qd/qd_backend.h"),
                    table = read("plugins-api/include/qd/status.def");
  EXPECT_EQ(all(header, "#define QDB_((?:OK|S_\\w+|E_\\w+)) [(0-9]"), all(table, "\nSTATUS\\((\\w+),"));
}

TEST(Layout, MembersAreReadOnlyWhenTheProducerHasThem) {
  QdbCaps caps{};
  caps.struct_size = QDB_END(QdbCaps, units);
  EXPECT_TRUE(QDB_HAS(&caps, QdbCaps, units));
  EXPECT_FALSE(QDB_HAS(&caps, QdbCaps, caps));
  EXPECT_EQ(QDB_BACKEND_MINOR0_SIZE, sizeof(QdbBackend));
}

}  // namespace
