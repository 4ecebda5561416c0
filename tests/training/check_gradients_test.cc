#include "training/check_gradients.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/builder/gradient.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

using testing::kInvalid;

TensorType Float(const Shape& shape) {
  return {.dtype = DType::kFloat32, .shape = shape};
}

TEST(CheckGradientsTest, AcceptsTheOpsOfThisLibrary) {
  const std::vector<GradientCheck> checks = {
      {.op = "Identity", .inputs = {Float({3})}},
      {.op = "Add", .inputs = {Float({2, 3}), Float({3})}},
      {.op = "Mul", .inputs = {Float({2, 3}), Float({})}},
      {.op = "Tanh", .inputs = {Float({7})}},
      {.op = "Softmax", .inputs = {Float({2, 4})}, .seed = 9},
      {.op = "MatMul", .inputs = {Float({2, 3}), Float({3, 4}), Float({4})}},
      {.op = "Relu", .inputs = {Float({4})}, .values = {{0, {-1, 2, 3, -4}}}},
      {.op = "Conv2D",
       .inputs = {Float({1, 4, 4, 2}), Float({3, 3, 3, 2})},
       .attributes = {{"strides", {1, 1}}, {"padding", "SAME"}}},
      {.op = "SparseSoftmaxCrossEntropyWithLogits",
       .inputs = {Float({2, 3}), {DType::kInt32, {2}}},
       .values = {{1, {2, 0}}}},
      // Overwrites its moving statistics.
      {.op = "FusedBatchNorm",
       .inputs = {Float({2, 2, 2, 3}), Float({3}), Float({3}), Float({3}),
                  Float({3})},
       .attributes = {{"is_training", true}}},
      // Draws its mask from the step number.
      {.op = "Dropout",
       .inputs = {Float({20})},
       .attributes = {{"rate", 0.5}, {"seed", 3}}}};
  for (const GradientCheck& check : checks) {
    EXPECT_THAT(CheckGradients(check), IsOk()) << check.op;
  }
}

// y = x^3 on the CPU.
class CubeKernel : public Kernel {
 public:
  explicit CubeKernel(int64_t size) : size_(size) {}
  absl::Status Run(const KernelContext& context) override {
    for (int64_t i = 0; i < size_; ++i) {
      const float x = context.input<float>(0)[i];
      context.output<float>(0)[i] = x * x * x;
    }
    return absl::OkStatus();
  }

 private:
  int64_t size_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeCubeKernel(
    const KernelRequest& node) {
  return std::make_unique<CubeKernel>(node.inputs[0].num_elements());
}

using GradientFunction =
    std::function<absl::StatusOr<std::vector<Tensor>>(GradientContext&)>;

// The standard ops and Cube with this gradient.
struct Tables {
  explicit Tables(GradientFunction gradient) : ops(StandardOps()) {
    kernels = StandardKernels();
    ops.Add({.name = "Cube",
             .inputs = {"x"},
             .outputs = {"y"},
             .infer = [](const InferContext& node)
                 -> absl::StatusOr<std::vector<TensorType>> {
               return std::vector{node.inputs[0]};
             },
             .gradient = std::move(gradient)});
    kernels.Add("Cube", DeviceKind::kCpu, MakeCubeKernel);
  }
  GradientCheck Check() const {
    return {.op = "Cube",
            .inputs = {Float({4})},
            .values = {{0, {1, -2, 3, 0.5}}},
            .ops = &ops,
            .kernels = &kernels};
  }

  OpRegistry ops;
  KernelRegistry kernels;
};

// factor x^2 dy
GradientFunction SquareTimes(double factor) {
  return
      [factor](GradientContext& grad) -> absl::StatusOr<std::vector<Tensor>> {
        const Tensor square = grad.Add("Mul", {grad.x(0), grad.x(0)});
        return std::vector{grad.Add("Mul", {square, grad.dy(0)}) * factor};
      };
}

TEST(CheckGradientsTest, TellsRightGradientsOfOnesOwnOpFromWrongOnes) {
  EXPECT_THAT(CheckGradients(Tables(SquareTimes(3)).Check()), IsOk());
  for (const double factor : {2.9, -3.0, 0.0}) {
    EXPECT_THAT(CheckGradients(Tables(SquareTimes(factor)).Check()),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("Cube: the gradient by element"),
                               HasSubstr("of input 0"))))
        << factor;
  }
}

TEST(CheckGradientsTest, TheReportNamesTheWorstElement) {
  ASSERT_OK_AND_ASSIGN(const auto right,
                       CompareGradients(Tables(SquareTimes(3)).Check()));
  ASSERT_EQ(right.size(), 1u);
  EXPECT_LT(right[0].error, 1e-3);
  const Tables tables(SquareTimes(6));
  GradientCheck check = tables.Check();
  check.values[0] = {0, 0, 5, 0};
  ASSERT_OK_AND_ASSIGN(const auto wrong, CompareGradients(check));
  EXPECT_EQ(wrong[0].input, 0);
  EXPECT_EQ(wrong[0].element, 2u);
  EXPECT_NEAR(wrong[0].graph, 2 * wrong[0].differences,
              1e-3 * std::abs(wrong[0].graph));
  EXPECT_GT(wrong[0].error, 0.9);
}

TEST(CheckGradientsTest, ANumberThatIsNoneIsAnError) {
  const Tables tables(SquareTimes(3));
  GradientCheck check = tables.Check();
  check.values[0] = {1, std::numeric_limits<double>::quiet_NaN(), 1, 1};
  EXPECT_THAT(
      CheckGradients(check),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nan")));
}

TEST(CheckGradientsTest, AGradientFunctionThatIsBrokenIsAnError) {
  const Tables none([](GradientContext&) { return std::vector<Tensor>(); });
  EXPECT_THAT(CheckGradients(none.Check()),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("1 input and 0 gradients")));
  EXPECT_THAT(CheckGradients(Tables(nullptr).Check()),
              StatusIs(kInvalid, HasSubstr("Cube is not differentiable")));
}

TEST(CheckGradientsTest, ChecksThatCannotBeMadeAreRefused) {
  const GradientCheck relu = {.op = "Relu", .inputs = {Float({4})}};
  GradientCheck check = relu;
  check.op = "Nonsense";
  EXPECT_THAT(CheckGradients(check), StatusIs(kInvalid, HasSubstr("Nonsense")));
  check = relu;
  check.outputs = {1};
  EXPECT_THAT(CheckGradients(check),
              StatusIs(kInvalid, HasSubstr("no output 1")));
  check = relu;
  check.outputs = {};
  EXPECT_THAT(CheckGradients(check),
              StatusIs(kInvalid, HasSubstr("the loss has no outputs")));
  check = relu;
  check.differentiate_by = {1};
  EXPECT_THAT(CheckGradients(check),
              StatusIs(kInvalid, HasSubstr("no gradient by input 1")));
  check = relu;
  check.values[0] = {1, 2};
  EXPECT_THAT(CheckGradients(check),
              StatusIs(kInvalid, HasSubstr("2 values for float32[4]")));
  check = relu;
  check.inputs = {Float({0, 3})};
  EXPECT_THAT(CheckGradients(check), StatusIs(kInvalid, HasSubstr("> 0")));
  check = relu;
  check.step = 0;
  EXPECT_THAT(CheckGradients(check), StatusIs(kInvalid, HasSubstr("step")));
  check = relu;
  check.ops = nullptr;
  EXPECT_THAT(CheckGradients(check), StatusIs(kInvalid, HasSubstr("ops")));
}

TEST(CheckGradientsTest, ValuesOfInputsThatThereAreNotAreRefused) {
  for (const int input : {-1, 1}) {
    EXPECT_THAT(
        CheckGradients({.op = "Relu",
                        .inputs = {Float({1})},
                        .values = {{0, {1}}, {input, {1}}}}),
        StatusIs(kInvalid, fmt::format("values are given for input {}: Relu "
                                       "has 1 input here",
                                       input)));
  }
}

TEST(CheckGradientsTest, ValuesThatTheDtypeDoesNotHaveAreRefused) {
  const double kInf = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<DType, double>> values = {
      {DType::kInt32, std::nan("")}, {DType::kInt32, 1e20},
      {DType::kInt32, -1e20},        {DType::kInt32, 0x1p31},
      {DType::kInt32, 0.5},          {DType::kInt64, 0x1p63},
      {DType::kInt64, kInf},         {DType::kUInt8, 256},
      {DType::kUInt8, -1},           {DType::kBool, 2},
      {DType::kFloat32, 1e39},       {DType::kFloat32, -1e39}};
  for (const auto& [dtype, value] : values) {
    EXPECT_THAT(
        CheckGradients({.op = "Identity",
                        .inputs = {{dtype, {2}}},
                        .values = {{0, {0, value}}}}),
        StatusIs(kInvalid, fmt::format("input 0: value 1 is {}, which {} "
                                       "cannot hold",
                                       value, DTypeName(dtype))));
  }
}

TEST(CheckGradientsTest, TheLargestAndSmallestIntegersAreValues) {
  const std::vector<std::pair<DType, std::vector<double>>> values = {
      {DType::kInt32, {-0x1p31, 0x1p31 - 1}},
      {DType::kInt64, {-0x1p63, 0x1p62}},
      {DType::kUInt8, {0, 255}},
      {DType::kBool, {0, 1}}};
  for (const auto& [dtype, ends] : values) {
    // Refused later: there is nothing to differentiate.
    EXPECT_THAT(CheckGradients({.op = "Identity",
                                .inputs = {{dtype, {2}}},
                                .values = {{0, ends}}}),
                StatusIs(kInvalid, HasSubstr("no output 0 of float32")));
  }
}

}  // namespace
}  // namespace spillway
