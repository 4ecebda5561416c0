#include "training/data/cifar10.h"

#include <string>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace spillway {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

// A record whose pixel (row, column) of plane c is 64 c + row + column.
std::string Record(char label) {
  std::string record(1, label);
  for (int plane = 0; plane < 3; ++plane) {
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column) {
        record += static_cast<char>(64 * plane + row + column);
      }
    }
  }
  return record;
}

// The test's own folder.
class Cifar10Test : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_THAT(WriteFileAtomically(folder_.File(name), bytes), IsOk());
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(Cifar10Test, PlanesBecomeChannels) {
  Write("test_batch.bin", Record(3) + Record(9));
  ASSERT_OK_AND_ASSIGN(const auto data,
                       Cifar10::Open(folder_.path(), Split::kTest));
  ASSERT_EQ(data->size(), 2);
  EXPECT_EQ(data->num_classes(), 10);
  ASSERT_EQ(data->fields()[0].shape, (Shape{32, 32, 3}));
  std::vector<float> image(3072);
  int32_t label = -1;
  const std::vector<std::byte*> buffers = {
      reinterpret_cast<std::byte*>(image.data()),
      reinterpret_cast<std::byte*>(&label)};
  for (const int64_t outside : {-1, 2}) {
    EXPECT_THAT(data->Read(outside, buffers),
                StatusIs(absl::StatusCode::kInvalidArgument, _));
  }
  EXPECT_EQ(label, -1);
  ASSERT_THAT(data->Read(1, buffers), IsOk());
  EXPECT_EQ(label, 9);
  for (int row = 0; row < 32; ++row) {
    for (int column = 0; column < 32; ++column) {
      for (int channel = 0; channel < 3; ++channel) {
        const auto at = static_cast<size_t>((row * 32 + column) * 3 + channel);
        const int pixel = 64 * channel + row + column;
        ASSERT_FLOAT_EQ(image[at], static_cast<float>(pixel) / 255.0f);
      }
    }
  }
}

TEST_F(Cifar10Test, TrainingFilesFollowEachOther) {
  for (char i = 1; i <= 5; ++i) {
    Write("data_batch_" + std::to_string(i) + ".bin", Record(i));
  }
  ASSERT_OK_AND_ASSIGN(const auto data,
                       Cifar10::Open(folder_.path(), Split::kTrain));
  ASSERT_EQ(data->size(), 5);
  std::vector<float> image(3072);
  int32_t label = -1;
  ASSERT_THAT(
      data->Read(3, std::vector{reinterpret_cast<std::byte*>(image.data()),
                                reinterpret_cast<std::byte*>(&label)}),
      IsOk());
  EXPECT_EQ(label, 4);
}

TEST_F(Cifar10Test, AMissingFileIsNamed) {
  Write("data_batch_1.bin", Record(0));
  EXPECT_THAT(
      Cifar10::Open(folder_.path(), Split::kTrain),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr(folder_.path()), HasSubstr("data_batch_2"))));
}

TEST_F(Cifar10Test, AFileThatEndsInsideARecordIsRefused) {
  Write("test_batch.bin", Record(0) + "\x01");
  EXPECT_THAT(
      Cifar10::Open(folder_.path(), Split::kTest),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("test_batch.bin"), HasSubstr("at byte 3074"))));
  Write("test_batch.bin", "");
  EXPECT_THAT(
      Cifar10::Open(folder_.path(), Split::kTest),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at byte 0")));
}

TEST_F(Cifar10Test, ALabelAboveNineIsRefused) {
  Write("test_batch.bin", Record(9) + Record(10));
  EXPECT_THAT(
      Cifar10::Open(folder_.path(), Split::kTest),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("at byte 3073"), HasSubstr("label 10"))));
}

}  // namespace
}  // namespace spillway
