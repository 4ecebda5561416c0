#include "training/data/mnist.h"

#include <numeric>
#include <string>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "tests/training/data/make_gzip.h"
#include "tests/training/data/make_idx.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeGzip;
using testing::MakeIdx;
using testing::StatusIs;

// The test's own folder with these training files.
class MnistTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_THAT(WriteFileAtomically(folder_.File(name), bytes), IsOk());
  }

  const testing::TemporaryFolder folder_;
};

const std::string kImages =
    MakeIdx({2, 1, 2}, std::string("\0\x33\x80\xff", 4));
const std::string kLabels = MakeIdx({2}, "\x09\x03");

struct Sample {
  std::vector<float> image;
  int32_t label = -1;
};

Sample ReadSample(const Dataset& data, int64_t index) {
  Sample sample;
  sample.image.resize(static_cast<size_t>(data.fields()[0].num_elements()));
  const std::vector<std::byte*> buffers = {
      reinterpret_cast<std::byte*>(sample.image.data()),
      reinterpret_cast<std::byte*>(&sample.label)};
  EXPECT_THAT(data.Read(index, buffers), IsOk());
  return sample;
}

TEST_F(MnistTest, ScalesPixelsToZeroToOne) {
  Write("train-images-idx3-ubyte", kImages);
  Write("train-labels-idx1-ubyte", kLabels);
  ASSERT_OK_AND_ASSIGN(const auto data,
                       Mnist::Open(folder_.path(), Split::kTrain));
  ASSERT_EQ(data->size(), 2);
  EXPECT_EQ(data->fields()[0],
            (TensorType{.dtype = DType::kFloat32, .shape = {1, 2, 1}}));
  EXPECT_EQ(data->fields()[1],
            (TensorType{.dtype = DType::kInt32, .shape = Shape()}));
  const Sample first = ReadSample(*data, 0);
  EXPECT_THAT(first.image, ::testing::ElementsAre(0.0f, 0.2f));
  EXPECT_EQ(first.label, 9);
  const Sample second = ReadSample(*data, 1);
  EXPECT_THAT(second.image, ::testing::ElementsAre(128.0f / 255.0f, 1.0f));
  EXPECT_EQ(second.label, 3);
}

TEST_F(MnistTest, ScalesPixelsByMeanAndDeviation) {
  Write("t10k-images-idx3-ubyte", kImages);
  Write("t10k-labels-idx1-ubyte", kLabels);
  ASSERT_OK_AND_ASSIGN(
      const auto data,
      Mnist::Open(folder_.path(), Split::kTest, {.mean = 0.5, .stddev = 0.25}));
  EXPECT_THAT(ReadSample(*data, 0).image,
              ::testing::ElementsAre(-2.0f, ::testing::FloatEq(-1.2f)));
}

TEST_F(MnistTest, TakesPackedFilesToo) {
  Write("train-images-idx3-ubyte.gz", MakeGzip(kImages));
  Write("train-labels-idx1-ubyte", kLabels);
  ASSERT_OK_AND_ASSIGN(const auto data,
                       Mnist::Open(folder_.path(), Split::kTrain));
  EXPECT_EQ(ReadSample(*data, 1).label, 3);
}

TEST_F(MnistTest, NamesTheMissingFileItsFolderAndWhereToGetIt) {
  Write("train-images-idx3-ubyte", kImages);
  EXPECT_THAT(Mnist::Open(folder_.path(), Split::kTrain),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(folder_.path()),
                             HasSubstr("train-labels-idx1-ubyte"),
                             HasSubstr("dataset-fashion-mnist"))));
  EXPECT_THAT(Mnist::Open("/no/such/folder", Split::kTest),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("/no/such/folder"),
                             HasSubstr("t10k-images-idx3-ubyte"))));
}

TEST_F(MnistTest, RefusesUnequalCounts) {
  Write("train-images-idx3-ubyte", kImages);
  Write("train-labels-idx1-ubyte", MakeIdx({3}, "\x01\x02\x03"));
  EXPECT_THAT(
      Mnist::Open(folder_.path(), Split::kTrain),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("2 images, but 3 labels in " + folder_.path())));
}

TEST_F(MnistTest, RefusesSwappedFiles) {
  Write("train-images-idx3-ubyte", kLabels);
  Write("train-labels-idx1-ubyte", kImages);
  EXPECT_THAT(Mnist::Open(folder_.path(), Split::kTrain),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("rank 1, expected 3")));
}

TEST_F(MnistTest, RefusesALabelWithoutAClass) {
  Write("train-images-idx3-ubyte", kImages);
  Write("train-labels-idx1-ubyte", MakeIdx({2}, "\x09\x0a"));
  EXPECT_THAT(Mnist::Open(folder_.path(), Split::kTrain),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("at byte 9: label 10, expected 0 to 9")));
}

// The real data set, if Debian's package dataset-fashion-mnist is installed.
// Published: 60,000 and 10,000 images, classes of equal size, mean pixel of the
// training set 0.2860, standard deviation 0.3530.
TEST(FashionMnistTest, IsAsPublished) {
  const std::string folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is not installed";
  }
  ASSERT_OK_AND_ASSIGN(const auto train, Mnist::Open(folder, Split::kTrain));
  ASSERT_OK_AND_ASSIGN(const auto test, Mnist::Open(folder, Split::kTest));
  EXPECT_EQ(train->size(), 60'000);
  EXPECT_EQ(test->size(), 10'000);
  EXPECT_EQ(train->fields()[0].shape, (Shape{28, 28, 1}));
  // The first labels: ankle boot, T-shirt, T-shirt, dress, T-shirt.
  for (const auto& [index, label] : {std::pair{0, 9}, {1, 0}, {2, 0}, {3, 3}}) {
    EXPECT_EQ(ReadSample(*train, index).label, label);
  }
  std::vector<int> class_sizes(10);
  double sum = 0;
  double sum_of_squares = 0;
  for (int64_t i = 0; i < train->size(); ++i) {
    const Sample sample = ReadSample(*train, i);
    ++class_sizes[static_cast<size_t>(sample.label)];
    for (const float x : sample.image) {
      sum += x;
      sum_of_squares += x * x;
    }
  }
  EXPECT_THAT(class_sizes, ::testing::Each(6000));
  const double mean = sum / (60'000.0 * 784);
  EXPECT_NEAR(mean, 0.2860, 5e-5);
  EXPECT_NEAR(std::sqrt(sum_of_squares / (60'000.0 * 784) - mean * mean),
              0.3530, 5e-5);
}

}  // namespace
}  // namespace spillway
