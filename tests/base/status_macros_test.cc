#include "base/status_macros.h"

#include <memory>

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::IsOk;
using ::spillway::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<std::unique_ptr<int>> Half(int x) {
  if (x % 2 != 0) return InvalidArgument("odd");
  return std::make_unique<int>(x / 2);
}

absl::StatusOr<int> Quarter(int x) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<int> half, Half(x));
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<int> quarter, Half(*half));
  return *quarter;
}

absl::Status CheckQuarter(int x, int& reached) {
  SPILLWAY_RETURN_IF_ERROR(Quarter(x).status());
  ++reached;
  return absl::OkStatus();
}

TEST(StatusMacrosTest, AssignOrReturnMovesTheValueOrPassesTheErrorUp) {
  ASSERT_OK_AND_ASSIGN(const int quarter, Quarter(12));
  EXPECT_EQ(quarter, 3);
  EXPECT_THAT(Quarter(6),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("odd")));
}

TEST(StatusMacrosTest, ReturnIfErrorContinuesOnlyWhenOk) {
  int reached = 0;
  EXPECT_THAT(CheckQuarter(6, reached), Not(IsOk()));
  EXPECT_EQ(reached, 0);
  EXPECT_THAT(CheckQuarter(8, reached), IsOk());
  EXPECT_EQ(reached, 1);
}

TEST(StatusMacrosTest, AnnotateKeepsTheCodeAndPutsContextFirst) {
  const absl::Status status =
      Annotate(Annotate(Unavailable("no GPU"), "cuda:1"), "session");
  EXPECT_EQ(status, absl::UnavailableError("session: cuda:1: no GPU"));
}

TEST(StatusMacrosTest, AnnotateLeavesOkAlone) {
  EXPECT_THAT(Annotate(absl::OkStatus(), "context"), IsOk());
}

TEST(StatusMacrosTest, EachHelperSetsItsCode) {
  EXPECT_EQ(InvalidArgument("m"), absl::InvalidArgumentError("m"));
  EXPECT_EQ(FailedPrecondition("m"), absl::FailedPreconditionError("m"));
  EXPECT_EQ(ResourceExhausted("m"), absl::ResourceExhaustedError("m"));
  EXPECT_EQ(Unavailable("m"), absl::UnavailableError("m"));
  EXPECT_EQ(Unimplemented("m"), absl::UnimplementedError("m"));
  EXPECT_EQ(Internal("m"), absl::InternalError("m"));
  EXPECT_EQ(NotFound("m"), absl::NotFoundError("m"));
}

}  // namespace
}  // namespace spillway
