#include "graph/tensor_type.h"

#include "gtest/gtest.h"

namespace spillway {
namespace {

TEST(TensorTypeTest, CountsBytes) {
  EXPECT_EQ((TensorType{DType::kFloat32, {}}).num_bytes(), 4);
  EXPECT_EQ((TensorType{DType::kBFloat16, {3, 5}}).num_bytes(), 30);
  EXPECT_EQ((TensorType{DType::kInt64, {(int64_t{1} << 46) - 1}}).num_bytes(),
            (int64_t{1} << 49) - 8);
}

TEST(TensorTypeTest, PrintsElementTypeAndDimensions) {
  EXPECT_EQ((TensorType{DType::kFloat32, {64, 28, 28, 1}}).ToString(),
            "float32[64, 28, 28, 1]");
  EXPECT_EQ((TensorType{DType::kBool, {}}).ToString(), "bool[]");
}

TEST(TensorTypeTest, DefaultIsAFloat32Scalar) {
  EXPECT_EQ(TensorType(), (TensorType{DType::kFloat32, Shape()}));
}

}  // namespace
}  // namespace spillway
