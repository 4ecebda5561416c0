#include "ops/loss/softmax_cross_entropy.h"

#include "tests/ops/cases/run_op_case.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::Doubles;
using testing::Fill;
using testing::Float32;
using ::testing::HasSubstr;
using testing::Int32;
using testing::OpCase;
using testing::RunOpCase;
using testing::StatusIs;

OpCase WithLabels(const Doubles& labels) {
  return {
      .name = "Labels",
      .op = "SparseSoftmaxCrossEntropyWithLogits",
      .inputs = {{.type = Float32({3, 4})},
                 {.type = Int32({3}), .fill = Fill::kValues, .values = labels}},
      .outputs = {Float32({3}), Float32({3, 4})}};
}

TEST(SparseSoftmaxCrossEntropy, NamesTheRowWhoseLabelIsTooLarge) {
  EXPECT_THAT(RunOpCase(WithLabels({0, 3, 4})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("row 2 has the label 4; the logits have 4 "
                                 "classes")));
}

TEST(SparseSoftmaxCrossEntropy, NamesTheFirstRowWhoseLabelIsNegative) {
  EXPECT_THAT(RunOpCase(WithLabels({0, -1, -2})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("row 1 has the label -1")));
}

}  // namespace
}  // namespace spillway
