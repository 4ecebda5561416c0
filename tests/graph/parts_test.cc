#include "graph/parts.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/builder/builder.h"
#include "graph/builder/gradient.h"
#include "graph/op_registry.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

TensorType Floats(const Shape& shape) {
  return {.dtype = DType::kFloat32, .shape = shape};
}

absl::StatusOr<std::vector<TensorType>> Infer(
    const std::string& op, const AttributeValue& parts,
    const std::vector<TensorType>& inputs) {
  const Attributes attributes = {{"parts", parts}};
  return InferOutputs(*StandardOps().Find(op),
                      {.attributes = attributes, .inputs = inputs});
}

void ExpectRefused(const AttributeValue& parts, const std::string& error) {
  EXPECT_THAT(Infer("AddN", parts, {Floats({2, 7}), Floats({2, 4})}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)));
}

TEST(PartsTest, AnOpSeesTheTypesOfTheParts) {
  const auto first =
      Infer("AddN", {{0, 3, 4}}, {Floats({2, 7}), Floats({2, 4})});
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(*first, ElementsAre(Floats({2, 4})));
  const auto two = Infer("AddN", {{0, 0, 4}, {2, 1, 4}},
                         {Floats({2, 7}), Floats({2, 4}), Floats({2, 5})});
  ASSERT_THAT(two, IsOk());
  EXPECT_THAT(*two, ElementsAre(Floats({2, 4})));
}

TEST(PartsTest, PartsLieInTheirValues) {
  ExpectRefused({{0, 4, 4}}, "4 channels from 4 on are not inside input 0");
  ExpectRefused({{0, -1, 4}}, "4 channels from -1 on");
  ExpectRefused({{0, 0, 0}}, "0 channels from 0 on");
  ExpectRefused({{0, 9, int64_t{1} << 62}}, "are not inside");
}

TEST(PartsTest, PartsAreOfInputsInOrder) {
  ExpectRefused({{2, 0, 4}}, "input 2 of AddN cannot be a part");
  ExpectRefused({{-1, 0, 4}}, "not in order");
  ExpectRefused({{1, 0, 4}, {0, 0, 4}}, "not in order");
  ExpectRefused({{0, 0, 4}, {0, 0, 4}}, "not in order");
}

TEST(PartsTest, PartsHaveThreeNumbers) {
  ExpectRefused({{0, 4}}, "one has 2 numbers");
  ExpectRefused("all", "parts");
}

TEST(PartsTest, OtherOpsHaveNoParts) {
  EXPECT_THAT(Infer("Tanh", {{0, 3, 4}}, {Floats({2, 7})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no attribute 'parts'")));
  EXPECT_THAT(Infer("ReluGrad", {{0, 0, 1}}, {Floats({}), Floats({1})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("are not inside input 0")));
}

TEST(PartsTest, NodesThatReadPartsHaveNoGradient) {
  GraphBuilder g(StandardOps());
  const Tensor x = g.Placeholder("x", DType::kFloat32, {2, 7});
  const Tensor sum =
      g.Add(g, {.op = "AddN",
                .inputs = {x, x},
                .attributes = {{"parts", {{0, 0, 4}, {1, 3, 4}}}},
                .name = "sum"});
  const Tensor loss = g.Add(
      g, {.op = "Mean", .inputs = {sum}, .attributes = {{"axes", {0, 1}}}});
  AddGradients(g.Scope("gradients"), loss, std::vector{x});
  EXPECT_THAT(g.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("sum reads parts of values")));
}

}  // namespace
}  // namespace spillway
