#include "graph/dtype.h"

#include "gtest/gtest.h"

namespace spillway {
namespace {

constexpr DType kAll[] = {DType::kFloat32, DType::kBFloat16, DType::kFloat16,
                          DType::kInt32,   DType::kInt64,    DType::kUInt8,
                          DType::kBool};

TEST(DTypeTest, NamesParseBack) {
  for (const DType dtype : kAll) {
    EXPECT_EQ(ParseDType(DTypeName(dtype)), dtype) << DTypeName(dtype);
  }
}

TEST(DTypeTest, NamesAreThoseOfGraphFiles) {
  EXPECT_EQ(DTypeName(DType::kFloat32), "float32");
  EXPECT_EQ(DTypeName(DType::kBFloat16), "bfloat16");
  EXPECT_EQ(DTypeName(DType::kFloat16), "float16");
  EXPECT_EQ(DTypeName(DType::kInt32), "int32");
  EXPECT_EQ(DTypeName(DType::kInt64), "int64");
  EXPECT_EQ(DTypeName(DType::kUInt8), "uint8");
  EXPECT_EQ(DTypeName(DType::kBool), "bool");
}

TEST(DTypeTest, OtherNamesAreRefused) {
  for (const char* name : {"", "float", "FLOAT32", "float64", "float32 "}) {
    EXPECT_EQ(ParseDType(name), std::nullopt) << name;
  }
}

TEST(DTypeTest, SizesAreThoseOfTheHostTypes) {
  EXPECT_EQ(SizeOf(DType::kFloat32), sizeof(float));
  EXPECT_EQ(SizeOf(DType::kBFloat16), 2);
  EXPECT_EQ(SizeOf(DType::kFloat16), 2);
  EXPECT_EQ(SizeOf(DType::kInt32), sizeof(int32_t));
  EXPECT_EQ(SizeOf(DType::kInt64), sizeof(int64_t));
  EXPECT_EQ(SizeOf(DType::kUInt8), 1);
  EXPECT_EQ(SizeOf(DType::kBool), 1);
}

}  // namespace
}  // namespace spillway
