// temporary_folder.hpp: a folder for one test, removed with all that is in it, whatever rights the test took away.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace qd::test {

struct TemporaryFolder {
  std::string path;
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "qd_test_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  std::string operator/(const std::string &name) const { return path + "/" + name; }
};

}  // namespace qd::test
