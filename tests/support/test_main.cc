// The main of every test program. `--file=tests/lms/v1/twin_test.cc` runs the
// tests of one source file and overrides --gtest_filter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view kFileFlag = "--file=";

// The path after --file=, which is removed from the arguments; "" if absent.
std::string TakeFile(int& argc, char** argv) {
  std::string file;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kFileFlag)) {
      file = argument.substr(kFileFlag.size());
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return file;
}

// Checks that a suite's tests are in one file, so that --file finds them all.
bool IsInOneFile(const ::testing::TestSuite& suite) {
  const std::string_view first = suite.GetTestInfo(0)->file();
  for (int t = 1; t < suite.total_test_count(); ++t) {
    if (suite.GetTestInfo(t)->file() == first) continue;
    std::fprintf(stderr, "the suite %s is in %s and in %s\n", suite.name(),
                 suite.GetTestInfo(0)->file(), suite.GetTestInfo(t)->file());
    return false;
  }
  return true;
}

// A filter for the suites of a source file; "" if it has none.
std::string SuitesOf(const std::string& file) {
  const ::testing::UnitTest& tests = *::testing::UnitTest::GetInstance();
  std::string filter;
  for (int s = 0; s < tests.total_test_suite_count(); ++s) {
    const ::testing::TestSuite& suite = *tests.GetTestSuite(s);
    if (suite.total_test_count() == 0) continue;
    if (!IsInOneFile(suite)) return "";
    const std::string_view path = suite.GetTestInfo(0)->file();
    if (path == file || path.ends_with("/" + file)) {
      filter += std::string(filter.empty() ? "" : ":") + suite.name() + ".*";
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  const std::string file = TakeFile(argc, argv);
  if (!file.empty()) {
    const std::string suites = SuitesOf(file);
    if (suites.empty()) {
      std::fprintf(stderr, "no tests of %s are in this program\n",
                   file.c_str());
      return 2;
    }
    GTEST_FLAG_SET(filter, suites);
  }
  return RUN_ALL_TESTS();
}
