#include "ops/gpu/read_pool.h"

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

Attributes Halving() {
  return {{"ksize", {2, 2}}, {"strides", {2, 2}}, {"padding", "VALID"}};
}

TEST(ReadGpuPoolTest, TakesLargeBatchesOfLargeImages) {
  const TensorType x = {.dtype = DType::kBFloat16,
                        .shape = {1 << 20, 40'000, 50'000, 64}};
  ASSERT_OK_AND_ASSIGN(const gpu::Pool pool, ReadGpuPool(Halving(), x));
  EXPECT_EQ(pool.batch, 1 << 20);
  EXPECT_EQ(pool.rows.input, 40'000);
  EXPECT_EQ(pool.columns.output, 25'000);
}

TEST(ReadGpuPoolTest, RefusesMorePixelsThanItCounts) {
  for (const Shape& shape :
       {Shape{1, 40'000, 60'000, 1}, Shape{1, 2, int64_t{1} << 33, 1}}) {
    EXPECT_THAT(ReadGpuPool(Halving(), {.shape = shape}).status(),
                StatusIs(absl::StatusCode::kUnimplemented,
                         HasSubstr("images of less than 2^31 pixels")));
  }
}

}  // namespace
}  // namespace spillway
