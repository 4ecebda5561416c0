#include "ops/gpu/library/shared_library.h"

#include <array>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

TEST(SharedLibraryTest, TheVersionOfTheHeadersIsTriedFirst) {
  constexpr std::array<int, 2> kMajors = {13, 12};
  EXPECT_THAT(VersionedNames("libx", 12, kMajors),
              ElementsAre("libx.so.12", "libx.so.13"));
  EXPECT_THAT(VersionedNames("libx", 13, kMajors),
              ElementsAre("libx.so.13", "libx.so.12"));
  EXPECT_THAT(VersionedNames("libx", 9, {}), ElementsAre("libx.so.9"));
}

TEST(SharedLibraryTest, TheFirstThatIsThereOpens) {
  SharedLibrary library({"libspillway_none.so.12", "libc.so.6", "libm.so.6"});
  size_t (*length)(const char*) = nullptr;
  library.Find("strlen", length);
  ASSERT_THAT(library.status(), IsOk());
  EXPECT_EQ(length("four"), 4U);
}

TEST(SharedLibraryTest, WhatWasTriedIsNamed) {
  SharedLibrary library({"libspillway_none.so.12", "libspillway_none.so.13"});
  EXPECT_THAT(
      library.status(),
      StatusIs(kUnavailable,
               AllOf(HasSubstr("need the library libspillway_none.so.12 or "
                               "libspillway_none.so.13: "),
                     HasSubstr("libspillway_none.so.12: cannot open"),
                     HasSubstr("; libspillway_none.so.13: cannot open"))));
  void (*function)() = nullptr;
  library.Find("anything", function);
  EXPECT_EQ(function, nullptr);
}

TEST(SharedLibraryTest, AMissingFunctionIsNamedWithItsLibrary) {
  SharedLibrary library({"libc.so.6"});
  void (*function)() = nullptr;
  library.Find("spillway_has_no_such_function", function);
  EXPECT_THAT(library.status(),
              StatusIs(kUnavailable,
                       AllOf(HasSubstr("libc.so.6"),
                             HasSubstr("spillway_has_no_such_function"))));
}

}  // namespace
}  // namespace spillway
