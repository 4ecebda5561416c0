#include "executor/session/step_result.h"

#include <cstdint>
#include <vector>

#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kInvalid;
using testing::MakeHostTensor;
using testing::StatusIs;

class StepResultTest : public ::testing::Test {
 protected:
  StepResultTest() {
    result_.fetched = {
        {ValueId(3),
         MakeHostTensor({DType::kFloat32, {}}, std::vector<float>{2.5F})},
        {ValueId(4),
         MakeHostTensor({DType::kFloat32, {2}}, std::vector<float>{1, 2})},
        {ValueId(5),
         MakeHostTensor({DType::kInt32, {}}, std::vector<int32_t>{9})}};
  }

  StepResult result_;
};

TEST_F(StepResultTest, GivesScalarsAndTensors) {
  EXPECT_EQ(result_.scalar(ValueId(3)).value(), 2.5F);
  EXPECT_EQ(result_.tensor(ValueId(4)).value(),
            &result_.fetched.at(ValueId(4)));
}

TEST_F(StepResultTest, AValueThatWasNotFetchedIsNotFound) {
  const auto not_found =
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("value 7 was not"), HasSubstr("3, 4, 5")));
  EXPECT_THAT(result_.tensor(ValueId(7)).status(), not_found);
  EXPECT_THAT(result_.scalar(ValueId(7)).status(), not_found);
  EXPECT_THAT(StepResult().scalar(ValueId()).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST_F(StepResultTest, AScalarIsOneElementOfFloat32) {
  EXPECT_THAT(result_.scalar(ValueId(4)).status(),
              StatusIs(kInvalid, HasSubstr("not a single element")));
  EXPECT_THAT(result_.scalar(ValueId(5)).status(),
              StatusIs(kInvalid, HasSubstr("are int32, not float32")));
}

}  // namespace
}  // namespace spillway
