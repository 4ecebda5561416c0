#include "training/data/tensor_file.h"

#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "training/safetensors.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;

template <typename T>
HostTensor TensorOf(DType dtype, Shape shape, const std::vector<T>& values) {
  HostTensor tensor = {.type = {.dtype = dtype, .shape = std::move(shape)}};
  tensor.bytes.resize(values.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

HostTensor Int64Labels(const std::vector<int64_t>& values) {
  return TensorOf(DType::kInt64, {static_cast<int64_t>(values.size())}, values);
}

// `count` images of 1 x 2 pixels in one channel: 0, 1, 2 and so on.
HostTensor ByteImages(int64_t count) {
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < 2 * count; ++i) {
    pixels.push_back(static_cast<uint8_t>(i));
  }
  return TensorOf(DType::kUInt8, {count, 1, 2, 1}, pixels);
}

// The test's own folder.
class TensorFileTest : public ::testing::Test {
 protected:
  // Writes the tensors as the test split, and opens it.
  absl::StatusOr<std::unique_ptr<TensorFile>> OpenTensors(
      const TensorMap& tensors, const TensorFileOptions& options = {}) {
    SPILLWAY_RETURN_IF_ERROR(
        WriteSafetensors(folder_.File("test.safetensors"), tensors));
    return TensorFile::Open(folder_.path(), Split::kTest, options);
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(TensorFileTest, BytesAreScaled) {
  ASSERT_OK_AND_ASSIGN(
      const auto data,
      OpenTensors({{"images", TensorOf<uint8_t>(DType::kUInt8, {2, 1, 2, 1},
                                                {0, 255, 51, 102})},
                   {"labels", TensorOf<int32_t>(DType::kInt32, {2}, {4, 0})}},
                  {.scaling = {.mean = 0.2, .stddev = 0.5}}));
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(data->num_classes(), 5);
  EXPECT_EQ(data->fields()[0],
            (TensorType{.dtype = DType::kFloat32, .shape = {1, 2, 1}}));
  EXPECT_EQ(data->fields()[1],
            (TensorType{.dtype = DType::kInt32, .shape = Shape()}));
  ASSERT_OK_AND_ASSIGN(const Batch first, data->Get(0));
  EXPECT_THAT(*first.fields[0].span<float>(),
              ElementsAre(::testing::FloatEq(-0.4F), 1.6F));
  EXPECT_THAT(*first.fields[1].span<int32_t>(), ElementsAre(4));
  ASSERT_OK_AND_ASSIGN(const Batch second, data->Get(1));
  EXPECT_THAT(*second.fields[0].span<float>(),
              ElementsAre(0.0F, ::testing::FloatEq(0.4F)));
  EXPECT_THAT(*second.fields[1].span<int32_t>(), ElementsAre(0));
}

TEST_F(TensorFileTest, FloatsStayAsTheyAre) {
  const std::vector<float> values = {-3, 1e9F, 0.125F, 255, 7, 8};
  ASSERT_OK_AND_ASSIGN(
      const auto data,
      OpenTensors({{"images", TensorOf(DType::kFloat32, {2, 1, 1, 3}, values)},
                   {"labels", Int64Labels({1, 0})},
                   {"ignored", ByteImages(1)}},
                  {.scaling = {.mean = 0.5}}));
  ASSERT_OK_AND_ASSIGN(const Batch first, data->Get(0));
  EXPECT_THAT(*first.fields[0].span<float>(), ElementsAre(-3, 1e9F, 0.125F));
  ASSERT_OK_AND_ASSIGN(const Batch second, data->Get(1));
  EXPECT_THAT(*second.fields[0].span<float>(), ElementsAre(255, 7, 8));
  for (const int64_t index : {-1, 2}) {
    EXPECT_THAT(data->Read(index, {}),
                StatusIs(kInvalid, HasSubstr("there is no sample")));
  }
}

TEST_F(TensorFileTest, ASplitIsAFile) {
  ASSERT_THAT(WriteSafetensors(folder_.File("train.safetensors"),
                               {{"images", ByteImages(3)},
                                {"labels", Int64Labels({0, 9, 2})}}),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const auto train,
                       TensorFile::Open(folder_.path(), Split::kTrain));
  EXPECT_EQ(train->size(), 3);
  EXPECT_EQ(train->num_classes(), 10);
  EXPECT_THAT(TensorFile::Open(folder_.path(), Split::kTest),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(folder_.path()),
                             HasSubstr("has no test.safetensors"))));
  ASSERT_OK_AND_ASSIGN(
      const auto test,
      OpenTensors({{"images", ByteImages(1)}, {"labels", Int64Labels({1})}},
                  {.num_classes = train->num_classes()}));
  EXPECT_EQ(test->num_classes(), 10);
}

TEST_F(TensorFileTest, NamesFileAndTensorOfAWrongTensor) {
  const HostTensor images = ByteImages(2);
  const HostTensor labels = Int64Labels({0, 1});
  const struct {
    TensorMap tensors;
    const char* problem;
  } cases[] = {
      {{},
       "has no tensor 'images'; images and labels are needed, and it has "
       "none"},
      {{{"labels", labels}}, "has no tensor 'images'"},
      {{{"images", images}, {"label", labels}},
       "has no tensor 'labels'; images and labels are needed, and it has "
       "'images', 'label'"},
      {{{"images", TensorOf<uint8_t>(DType::kUInt8, {2, 2}, {1, 2, 3, 4})},
        {"labels", labels}},
       "images: uint8[2, 2], expected uint8 or float32 of [N, height, width, "
       "channels]"},
      {{{"images", TensorOf<int32_t>(DType::kInt32, {2, 1, 1, 1}, {1, 2})},
        {"labels", labels}},
       "images: int32[2, 1, 1, 1], expected"},
      {{{"images", images},
        {"labels", TensorOf<float>(DType::kFloat32, {2}, {0, 1})}},
       "labels: float32[2], expected int32 or int64 of [N]"},
      {{{"images", images},
        {"labels", TensorOf<int32_t>(DType::kInt32, {2, 1}, {0, 1})}},
       "labels: int32[2, 1], expected"},
      {{{"images", images}, {"labels", Int64Labels({0, 1, 0})}},
       "2 images, but 3 labels"},
      {{{"images", images}, {"labels", Int64Labels({0, -1})}},
       "labels: element 1 is -1, expected 0 to 2147483646"},
      {{{"images", images}, {"labels", Int64Labels({int64_t{1} << 40, 0})}},
       "labels: element 0 is 1099511627776"}};
  for (const auto& [tensors, problem] : cases) {
    EXPECT_THAT(OpenTensors(tensors),
                StatusIs(kInvalid, AllOf(HasSubstr("/test.safetensors: "),
                                         HasSubstr(problem))));
  }
}

TEST_F(TensorFileTest, ALabelBeyondTheClassesIsRefused) {
  const TensorMap tensors = {{"images", ByteImages(2)},
                             {"labels", Int64Labels({4, 5})}};
  EXPECT_THAT(OpenTensors(tensors, {.num_classes = 6}), IsOk());
  EXPECT_THAT(
      OpenTensors(tensors, {.num_classes = 5}),
      StatusIs(kInvalid, HasSubstr("labels: element 1 is 5, expected 0 to 4")));
  EXPECT_THAT(OpenTensors(tensors, {.num_classes = -1}),
              StatusIs(kInvalid, HasSubstr("num_classes -1")));
}

TEST_F(TensorFileTest, ADamagedFileIsNamed) {
  EXPECT_THAT(TensorFile::Parse("hello", "some.safetensors"),
              StatusIs(kInvalid, HasSubstr("some.safetensors: ")));
  EXPECT_THAT(
      TensorFile::OpenFile(folder_.File("none.safetensors")),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.safetensors")));
}

}  // namespace
}  // namespace spillway
