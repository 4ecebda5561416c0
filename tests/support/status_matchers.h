// GoogleTest matchers for Status and StatusOr, and ASSERT_OK_AND_ASSIGN.
#ifndef SPILLWAY_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define SPILLWAY_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace spillway::testing {

// The most common codes in tests.
inline constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
inline constexpr auto kInternal = absl::StatusCode::kInternal;
inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
inline constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

inline const absl::Status& ToStatus(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& ToStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

// EXPECT_THAT(expression, IsOk());
MATCHER(IsOk, negation ? "is an error" : "is OK") {
  *result_listener << ToStatus(arg).ToString();
  return ToStatus(arg).ok();
}

// EXPECT_THAT(expression, StatusIs(absl::StatusCode::kInvalidArgument,
//                                  HasSubstr("no node named")));
MATCHER_P2(StatusIs, code, message,
           "has the code " + absl::StatusCodeToString(code) +
               " and a message that " +
               ::testing::DescribeMatcher<std::string>(message, negation)) {
  const absl::Status& status = ToStatus(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         ::testing::ExplainMatchResult(message, std::string(status.message()),
                                       result_listener);
}

}  // namespace spillway::testing

// ASSERT_OK_AND_ASSIGN(Graph graph, ParseGraph(text));
#define ASSERT_OK_AND_ASSIGN(declaration, expression)                \
  auto SPILLWAY_CONCAT(spillway_assigned_, __LINE__) = (expression); \
  ASSERT_THAT(SPILLWAY_CONCAT(spillway_assigned_, __LINE__),         \
              ::spillway::testing::IsOk());                          \
  declaration = *std::move(SPILLWAY_CONCAT(spillway_assigned_, __LINE__))

#endif  // SPILLWAY_TESTS_SUPPORT_STATUS_MATCHERS_H_
