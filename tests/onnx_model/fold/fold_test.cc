#include "onnx_model/fold/fold.h"

#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace spillway::onnx_model {
namespace {

using spillway::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

auto IsOfCode(absl::StatusCode code) { return StatusIs(code, ::testing::_); }

// Folds one node of these inputs.
absl::StatusOr<Constant> Fold(const std::string& op,
                              const std::vector<Constant>& inputs,
                              const std::string& attributes = "") {
  onnx::NodeProto proto;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(attributes, &proto));
  proto.set_op_type(op);
  const NodeView node(proto, 17);
  FoldContext context = {.node = node};
  for (const Constant& input : inputs) context.inputs.push_back(&input);
  const Folder folder = FindFolder(op);
  if (folder == nullptr) return absl::NotFoundError(op);
  absl::StatusOr<Constants> outputs = folder(context);
  if (!outputs.ok()) return outputs.status();
  return outputs->front();
}

Constant Reals1(std::vector<double> values) {
  const auto size = static_cast<int64_t>(values.size());
  return MakeConstant(ElementType::kFloat, {size}, std::move(values));
}

Constant Scalar(int64_t value) {
  return MakeConstant(ElementType::kInt64, {}, Integers{value});
}

Constant Matrix(int64_t rows, int64_t columns) {
  Integers values;
  for (int64_t i = 0; i < rows * columns; ++i) values.push_back(i);
  return MakeConstant(ElementType::kInt64, {rows, columns}, std::move(values));
}

std::string Int(const std::string& name, int64_t value) {
  return "attribute { name: \"" + name +
         "\" type: INT i: " + std::to_string(value) + " } ";
}

TEST(FoldTest, IntegersDivideTowardsZeroAndModFollowsTheDivisor) {
  ASSERT_OK_AND_ASSIGN(const Constant quotient,
                       Fold("Div", {MakeIntegers({7, -7}), MakeIntegers({2})}));
  EXPECT_THAT(quotient.integers(), ElementsAre(3, -3));
  ASSERT_OK_AND_ASSIGN(
      const Constant rest,
      Fold("Mod", {MakeIntegers({7, -7, 7}), MakeIntegers({3, 3, -3})}));
  EXPECT_THAT(rest.integers(), ElementsAre(1, 2, -2));
  EXPECT_THAT(Fold("Div", {MakeIntegers({1}), MakeIntegers({0})}),
              IsOfCode(absl::StatusCode::kInvalidArgument));
}

TEST(FoldTest, OverflowWrapsAround) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  ASSERT_OK_AND_ASSIGN(const Constant sum,
                       Fold("Add", {MakeIntegers({kMax}), MakeIntegers({1})}));
  EXPECT_THAT(sum.integers(), ElementsAre(std::numeric_limits<int64_t>::min()));
  ASSERT_OK_AND_ASSIGN(
      const Constant quotient,
      Fold("Div", {MakeIntegers({std::numeric_limits<int64_t>::min()}),
                   MakeIntegers({-1})}));
  EXPECT_THAT(quotient.integers(),
              ElementsAre(std::numeric_limits<int64_t>::min()));
}

TEST(FoldTest, RealsAreRoundedToTheirType) {
  ASSERT_OK_AND_ASSIGN(const Constant third,
                       Fold("Div", {Reals1({1}), Reals1({3})}));
  EXPECT_THAT(third.reals(), ElementsAre(static_cast<double>(1.0F / 3.0F)));
}

TEST(FoldTest, ShapesBroadcastAsNumPys) {
  ASSERT_OK_AND_ASSIGN(
      const Constant sum,
      Fold("Add", {MakeConstant(ElementType::kInt64, {2, 1}, Integers{10, 20}),
                   MakeIntegers({1, 2, 3})}));
  EXPECT_THAT(sum.dims, ElementsAre(2, 3));
  EXPECT_THAT(sum.integers(), ElementsAre(11, 12, 13, 21, 22, 23));
  EXPECT_THAT(Fold("Add", {MakeIntegers({1, 2}), MakeIntegers({1, 2, 3})}),
              IsOfCode(absl::StatusCode::kInvalidArgument));
}

TEST(FoldTest, SlicesForwardsAndBackwards) {
  const std::vector<Constant> all = {
      Matrix(1, 5), MakeIntegers({-1}),
      MakeIntegers({std::numeric_limits<int64_t>::min()}), MakeIntegers({1}),
      MakeIntegers({-2})};
  ASSERT_OK_AND_ASSIGN(const Constant back, Fold("Slice", all));
  EXPECT_THAT(back.integers(), ElementsAre(4, 2, 0));
  ASSERT_OK_AND_ASSIGN(
      const Constant part,
      Fold("Slice", {MakeIntegers({0, 1, 2, 3, 4}), MakeIntegers({1}),
                     MakeIntegers({std::numeric_limits<int64_t>::max()}),
                     MakeIntegers({0}), MakeIntegers({3})}));
  EXPECT_THAT(part.integers(), ElementsAre(1, 4));
  ASSERT_OK_AND_ASSIGN(const Constant none,
                       Fold("Slice", {MakeIntegers({0, 1}), MakeIntegers({2}),
                                      MakeIntegers({5})}));
  EXPECT_THAT(none.dims, ElementsAre(0));
}

TEST(FoldTest, GatherCountsNegativeIndicesFromTheEnd) {
  ASSERT_OK_AND_ASSIGN(
      const Constant columns,
      Fold("Gather", {Matrix(2, 3), MakeIntegers({-1, 0})}, Int("axis", 1)));
  EXPECT_THAT(columns.dims, ElementsAre(2, 2));
  EXPECT_THAT(columns.integers(), ElementsAre(2, 0, 5, 3));
  ASSERT_OK_AND_ASSIGN(const Constant one,
                       Fold("Gather", {MakeIntegers({7, 8}), Scalar(1)}));
  EXPECT_THAT(one.dims, IsEmpty());
  EXPECT_THAT(one.integers(), ElementsAre(8));
  EXPECT_THAT(Fold("Gather", {MakeIntegers({7, 8}), Scalar(2)}),
              IsOfCode(absl::StatusCode::kInvalidArgument));
}

TEST(FoldTest, ReadsAndWritesRowsAtPlaces) {
  const Constant places =
      MakeConstant(ElementType::kInt64, {2, 2}, Integers{2, 0, 0, -1});
  ASSERT_OK_AND_ASSIGN(const Constant read,
                       Fold("GatherND", {Matrix(3, 4), places}));
  EXPECT_THAT(read.integers(), ElementsAre(8, 3));
  const Constant rows = MakeConstant(ElementType::kInt64, {1, 1}, Integers{-1});
  ASSERT_OK_AND_ASSIGN(const Constant row,
                       Fold("GatherND", {Matrix(3, 2), rows}));
  EXPECT_THAT(row.dims, ElementsAre(1, 2));
  EXPECT_THAT(row.integers(), ElementsAre(4, 5));
  ASSERT_OK_AND_ASSIGN(const Constant written,
                       Fold("ScatterND", {Matrix(2, 2), rows, Matrix(1, 2)}));
  EXPECT_THAT(written.integers(), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(Fold("GatherND", {Matrix(2, 2), places}),
              IsOfCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Fold("GatherND", {Matrix(2, 2), Scalar(0)}),
              IsOfCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Fold("ScatterND", {Matrix(2, 2), rows, Matrix(2, 2)}),
              IsOfCode(absl::StatusCode::kInvalidArgument));
}

TEST(FoldTest, MovesElements) {
  ASSERT_OK_AND_ASSIGN(const Constant turned,
                       Fold("Transpose", {Matrix(2, 3)}));
  EXPECT_THAT(turned.dims, ElementsAre(3, 2));
  EXPECT_THAT(turned.integers(), ElementsAre(0, 3, 1, 4, 2, 5));
  ASSERT_OK_AND_ASSIGN(
      const Constant joined,
      Fold("Concat", {Matrix(2, 1), Matrix(2, 2)}, Int("axis", -1)));
  EXPECT_THAT(joined.integers(), ElementsAre(0, 0, 1, 1, 2, 3));
  ASSERT_OK_AND_ASSIGN(const Constant tiled,
                       Fold("Tile", {MakeIntegers({1, 2}), MakeIntegers({2})}));
  EXPECT_THAT(tiled.integers(), ElementsAre(1, 2, 1, 2));
  ASSERT_OK_AND_ASSIGN(
      const Constant reshaped,
      Fold("Reshape", {Matrix(2, 3), MakeIntegers({0, -1, 1})}));
  EXPECT_THAT(reshaped.dims, ElementsAre(2, 3, 1));
}

TEST(FoldTest, MakesRanges) {
  ASSERT_OK_AND_ASSIGN(const Constant down,
                       Fold("Range", {Scalar(10), Scalar(6), Scalar(-3)}));
  EXPECT_THAT(down.integers(), ElementsAre(10, 7));
  EXPECT_THAT(Fold("Range", {Scalar(0), Scalar(1), Scalar(0)}),
              IsOfCode(absl::StatusCode::kInvalidArgument));
}

TEST(FoldTest, Reduces) {
  ASSERT_OK_AND_ASSIGN(
      const Constant product,
      Fold("ReduceProd", {MakeIntegers({2, 3, 4})}, Int("keepdims", 0)));
  EXPECT_THAT(product.dims, IsEmpty());
  EXPECT_THAT(product.integers(), ElementsAre(24));
  ASSERT_OK_AND_ASSIGN(const Constant sums,
                       Fold("ReduceSum", {Matrix(2, 3), MakeIntegers({0})}));
  EXPECT_THAT(sums.dims, ElementsAre(1, 3));
  EXPECT_THAT(sums.integers(), ElementsAre(3, 5, 7));
}

TEST(FoldTest, ChoosesAndConverts) {
  ASSERT_OK_AND_ASSIGN(
      const Constant equal,
      Fold("Equal", {MakeIntegers({-1, 2}), MakeIntegers({-1})}));
  EXPECT_EQ(equal.type, ElementType::kBool);
  ASSERT_OK_AND_ASSIGN(
      const Constant chosen,
      Fold("Where", {equal, MakeIntegers({5}), MakeIntegers({8, 9})}));
  EXPECT_THAT(chosen.integers(), ElementsAre(5, 9));
  ASSERT_OK_AND_ASSIGN(const Constant cast,
                       Fold("Cast", {Reals1({2.9, -2.9})}, Int("to", 7)));
  EXPECT_THAT(cast.integers(), ElementsAre(2, -2));
}

// A few bytes must not reserve gigabytes.
TEST(FoldTest, WhatIsTooLargeIsNotFolded) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_THAT(Fold("Range", {Scalar(0), Scalar(kHuge), Scalar(1)}),
              IsOfCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Fold("Expand", {Scalar(1), MakeIntegers({kHuge})}),
              IsOfCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Fold("Tile", {MakeIntegers({1, 2}), MakeIntegers({kHuge})}),
              IsOfCode(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace spillway::onnx_model
