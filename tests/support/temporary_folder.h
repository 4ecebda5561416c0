// A temporary folder for one test.
#ifndef SPILLWAY_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
#define SPILLWAY_TESTS_SUPPORT_TEMPORARY_FOLDER_H_

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace spillway::testing {

// Deleted with its contents by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(::testing::TempDir() + "/spillway-XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr) << path_;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

  // Sorted names of its entries.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

 private:
  std::string path_;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
