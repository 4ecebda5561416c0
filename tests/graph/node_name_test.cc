#include "graph/node_name.h"

#include <string>

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::IsOk;
using ::spillway::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(NodeNameTest, AcceptsScopesPunctuationAndOtherAlphabets) {
  for (const char* name :
       {"x", "conv1/Conv2D_1", "a.b-c@d", "^x", "\xC3\xA9t\xC3\xA9"}) {
    EXPECT_THAT(CheckNodeName(name), IsOk()) << name;
  }
}

TEST(NodeNameTest, RefusesWhatWouldNotReadBack) {
  const std::string names[] = {"a:0",  "a b",  "a\tb",
                               "a\nb", "\x7f", std::string("a\0b", 3)};
  for (const std::string& name : names) {
    EXPECT_THAT(
        CheckNodeName(name),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("colon")))
        << name;
  }
  EXPECT_THAT(CheckNodeName(""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty")));
}

TEST(NodeNameTest, ErrorsStayOnOneLine) {
  EXPECT_THAT(
      CheckNodeName("two\nlines"),
      StatusIs(absl::StatusCode::kInvalidArgument, Not(HasSubstr("\n"))));
}

}  // namespace
}  // namespace spillway
