#include "graph/shape.h"

#include <limits>

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::IsOk;
using ::spillway::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

TEST(ShapeTest, NegativeAxesCountFromTheEnd) {
  const Shape shape = {64, 28, 14, 3};
  EXPECT_EQ(shape.rank(), 4);
  EXPECT_EQ(shape.dim(0), 64);
  EXPECT_EQ(shape.dim(3), 3);
  EXPECT_EQ(shape.dim(-1), 3);
  EXPECT_EQ(shape.dim(-4), 64);
}

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_EQ(Shape({7}).num_elements(), 7);
  EXPECT_EQ(Shape({64, 28, 28, 3}).num_elements(), 150528);
}

TEST(ShapeTest, PrintsItsDimensions) {
  EXPECT_EQ(Shape().ToString(), "[]");
  EXPECT_EQ(Shape({5}).ToString(), "[5]");
  EXPECT_EQ(Shape({64, 28, 28, 1}).ToString(), "[64, 28, 28, 1]");
}

TEST(CheckShapeTest, AcceptsTheLargestAllowed) {
  EXPECT_THAT(CheckShape({}), IsOk());
  EXPECT_THAT(CheckShape({1, 1, 1, 1, 1, 1, 1, 1}), IsOk());
  EXPECT_THAT(CheckShape({(int64_t{1} << 46) - 1}), IsOk());
  EXPECT_THAT(CheckShape({(int64_t{1} << 23) - 1, int64_t{1} << 23}), IsOk());
}

TEST(CheckShapeTest, RefusesDimensionsThatAreNotPositive) {
  for (const int64_t dim : {int64_t{0}, int64_t{-1}, -kHuge}) {
    EXPECT_THAT(
        CheckShape({2, dim, kHuge}),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must be > 0")));
  }
}

TEST(CheckShapeTest, RefusesTooManyElementsWithoutOverflow) {
  const Shape shapes[] = {{int64_t{1} << 46},
                          {int64_t{1} << 23, int64_t{1} << 23},
                          {kHuge},
                          {kHuge, kHuge, kHuge},
                          // 2^64 elements: 0 if multiplied in 64 bits.
                          {int64_t{1} << 32, int64_t{1} << 32}};
  for (const Shape& shape : shapes) {
    EXPECT_THAT(CheckShape(shape), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("2^46")));
  }
}

TEST(CheckShapeTest, RefusesRankNine) {
  EXPECT_THAT(CheckShape({1, 1, 1, 1, 1, 1, 1, 1, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has 9")));
}

}  // namespace
}  // namespace spillway
