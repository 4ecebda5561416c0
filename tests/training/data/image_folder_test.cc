#include "training/data/image_folder.h"

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/make_image.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "training/data/batched.h"
#include "training/data/read_samples.h"
#include "training/data/shuffled.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::MakeJpeg;
using testing::MakePng;
using testing::NoisyImage;
using testing::StatusIs;

constexpr ImageFolderOptions kSmall = {.size = 4};
constexpr CropOptions kWholeImage = {
    .kind = CropKind::kCentre, .flip = false, .centre_ratio = 1};

// An image of one colour.
RgbImage EvenImage(int64_t height, int64_t width, uint8_t value) {
  RgbImage image = BlackImage(height, width);
  std::ranges::fill(image.pixels, value);
  return image;
}

struct FolderSample {
  std::vector<float> image;
  int32_t label = -1;

  friend bool operator==(const FolderSample&, const FolderSample&) = default;
};

absl::StatusOr<FolderSample> SampleOf(const Dataset& data, int64_t epoch,
                                      int64_t index) {
  FolderSample sample;
  sample.image.resize(static_cast<size_t>(data.fields()[0].num_elements()));
  const std::vector<std::byte*> buffers = {
      reinterpret_cast<std::byte*>(sample.image.data()),
      reinterpret_cast<std::byte*>(&sample.label)};
  SPILLWAY_RETURN_IF_ERROR(data.ReadInEpoch(epoch, index, buffers));
  return sample;
}

// The test's own folder.
class ImageFolderTest : public ::testing::Test {
 protected:
  void AddFile(const std::string& name, const std::string& bytes) {
    const std::string path = folder_.File(name);
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path());
    ASSERT_THAT(WriteFileAtomically(path, bytes), IsOk());
  }
  // Images of different sizes and formats in two classes.
  void AddNoise(int num_images) {
    for (int i = 0; i < num_images; ++i) {
      const RgbImage image =
          NoisyImage(20 + i, 40 - i, static_cast<uint64_t>(i));
      const bool is_png = i % 3 == 0;
      AddFile(fmt::format("train/{}/{:03}.{}", i % 2 == 0 ? "cat" : "dog", i,
                          is_png ? "png" : "jpg"),
              is_png ? MakePng(image) : MakeJpeg(image));
    }
  }
  absl::StatusOr<std::unique_ptr<ImageFolder>> Open(
      const ImageFolderOptions& options, Split split = Split::kTrain) {
    return ImageFolder::Open(folder_.path(), split, options);
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(ImageFolderTest, SamplesAreScaledSquaresWithTheirLabel) {
  AddFile("train/cat/1.png", MakePng(EvenImage(5, 9, 255)));
  AddFile("train/dog/1.png", MakePng(EvenImage(8, 8, 51)));
  ASSERT_OK_AND_ASSIGN(
      const auto data,
      Open({.size = 4, .scaling = {.mean = 0.5, .stddev = 0.25}}));
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(data->num_classes(), 2);
  EXPECT_THAT(data->class_names(), ElementsAre("cat", "dog"));
  EXPECT_EQ(data->path(1), folder_.File("train/dog/1.png"));
  EXPECT_EQ(data->fields()[0],
            (TensorType{.dtype = DType::kFloat32, .shape = {4, 4, 3}}));
  EXPECT_EQ(data->fields()[1],
            (TensorType{.dtype = DType::kInt32, .shape = Shape()}));
  ASSERT_OK_AND_ASSIGN(const FolderSample cat, SampleOf(*data, 0, 0));
  EXPECT_EQ(cat.label, 0);
  EXPECT_THAT(cat.image, Each(2.0F));
  ASSERT_OK_AND_ASSIGN(const FolderSample dog, SampleOf(*data, 0, 1));
  EXPECT_EQ(dog.label, 1);
  EXPECT_THAT(dog.image, Each(::testing::FloatEq(-1.2F)));
}

TEST_F(ImageFolderTest, AnImageOfTheSamplesSizeKeepsItsPixels) {
  const RgbImage image = NoisyImage(6, 6, 1);
  AddFile("train/cat/1.png", MakePng(image));
  ASSERT_OK_AND_ASSIGN(const auto data, Open({.size = 6, .crop = kWholeImage}));
  ASSERT_OK_AND_ASSIGN(const FolderSample sample, SampleOf(*data, 0, 0));
  for (size_t i = 0; i < sample.image.size(); ++i) {
    EXPECT_EQ(sample.image[i], PixelScaling()(image.pixels[i])) << i;
  }
}

TEST_F(ImageFolderTest, EvaluationTakesTheCentreInEachEpoch) {
  const RgbImage image = NoisyImage(30, 50, 1);
  AddFile("train/cat/1.png", MakePng(image));
  AddFile("val/cat/1.png", MakePng(image));
  ASSERT_OK_AND_ASSIGN(const auto data, Open({.size = 8}, Split::kTest));
  ASSERT_OK_AND_ASSIGN(const FolderSample first, SampleOf(*data, 0, 0));
  ASSERT_OK_AND_ASSIGN(const FolderSample later, SampleOf(*data, 7, 0));
  EXPECT_EQ(first, later);
  const RgbImage expected = ResizeImage(
      image, CentreCrop({.height = 30, .width = 50, .sample = 8}, {}));
  for (size_t i = 0; i < first.image.size(); ++i) {
    EXPECT_EQ(first.image[i], PixelScaling()(expected.pixels[i])) << i;
  }
}

TEST_F(ImageFolderTest, EpochsSeedsAndSamplesDrawDifferentCrops) {
  const std::string file = MakePng(NoisyImage(40, 40, 1));
  AddFile("train/cat/1.png", file);
  AddFile("train/cat/2.png", file);
  ASSERT_OK_AND_ASSIGN(const auto data, Open({.size = 8, .seed = 1}));
  ASSERT_OK_AND_ASSIGN(const auto other, Open({.size = 8, .seed = 2}));
  ASSERT_OK_AND_ASSIGN(const FolderSample first, SampleOf(*data, 0, 0));
  ASSERT_OK_AND_ASSIGN(const FolderSample again, SampleOf(*data, 0, 0));
  EXPECT_EQ(first, again);
  ASSERT_OK_AND_ASSIGN(const FolderSample epoch, SampleOf(*data, 1, 0));
  EXPECT_NE(first, epoch);
  ASSERT_OK_AND_ASSIGN(const FolderSample sample, SampleOf(*data, 0, 1));
  EXPECT_NE(first, sample);
  ASSERT_OK_AND_ASSIGN(const FolderSample seed, SampleOf(*other, 0, 0));
  EXPECT_NE(first, seed);
  // Read is epoch 0.
  ASSERT_OK_AND_ASSIGN(const Batch read, data->Get(0));
  EXPECT_EQ(*read.fields[0].data<float>(), first.image[0]);
}

TEST_F(ImageFolderTest, TheNumberOfThreadsChangesNothing) {
  AddNoise(12);
  ASSERT_OK_AND_ASSIGN(const auto data, Open(kSmall));
  EXPECT_GE(data->reader_threads(), 1);
  EXPECT_LE(data->reader_threads(), 4);
  const Shuffled shuffled(*data, {.seed = 3, .epoch = 5});
  const Batched one(shuffled, {.batch_size = 6, .reader_threads = 1});
  ASSERT_OK_AND_ASSIGN(const Batch expected, one.Get(1));
  for (const int threads : {2, 3, 8}) {
    const Batched many(shuffled, {.batch_size = 6, .reader_threads = threads});
    ASSERT_OK_AND_ASSIGN(const Batch batch, many.Get(1));
    EXPECT_EQ(batch.fields[0].bytes, expected.fields[0].bytes) << threads;
    EXPECT_EQ(batch.fields[1].bytes, expected.fields[1].bytes) << threads;
  }
}

TEST_F(ImageFolderTest, ACorruptFileIsAnErrorThatNamesIt) {
  const std::string good = MakeJpeg(NoisyImage(9, 9, 1));
  AddFile("train/cat/1.jpg", good);
  AddFile("train/cat/2.jpg", good.substr(0, good.size() / 2));
  AddFile("train/cat/3.jpg", "");
  AddFile("train/cat/4.jpg", testing::ClaimJpegSize(good, 60'000, 60'000));
  ASSERT_OK_AND_ASSIGN(const auto data, Open(kSmall));
  EXPECT_THAT(SampleOf(*data, 0, 0), IsOk());
  EXPECT_THAT(SampleOf(*data, 0, 1),
              StatusIs(kInvalid, AllOf(HasSubstr(folder_.path()),
                                       HasSubstr("train/cat/2.jpg: damaged"))));
  EXPECT_THAT(SampleOf(*data, 0, 2), StatusIs(kInvalid, HasSubstr("empty")));
  EXPECT_THAT(SampleOf(*data, 0, 3),
              StatusIs(kInvalid, HasSubstr("60000 x 60000")));
  EXPECT_EQ(data->num_skipped(), 0);
}

TEST_F(ImageFolderTest, ACorruptFileIsReplacedByTheNextWholeOneOfItsClass) {
  AddFile("train/cat/1.png", "not a PNG");
  AddFile("train/cat/2.png", MakePng(EvenImage(9, 9, 51)));
  AddFile("train/cat/3.png", "");
  AddFile("train/cat/4.png", "");
  AddFile("train/dog/1.png", MakePng(EvenImage(9, 9, 102)));
  ASSERT_OK_AND_ASSIGN(const auto data,
                       Open({.size = 4, .skip_corrupt = true}));
  EXPECT_EQ(data->size(), 5);
  for (int round = 0; round < 2; ++round) {
    for (int64_t i = 0; i < 4; ++i) {
      ASSERT_OK_AND_ASSIGN(const FolderSample sample, SampleOf(*data, 0, i));
      EXPECT_EQ(sample.label, 0);
      EXPECT_THAT(sample.image, Each(0.2F)) << i;
    }
  }
  EXPECT_EQ(data->num_skipped(), 3);
}

TEST_F(ImageFolderTest, AClassWithoutAnyWholeImageIsAnError) {
  AddFile("train/cat/1.png", "x");
  AddFile("train/cat/2.png", "y");
  AddFile("train/dog/1.png", MakePng(EvenImage(9, 9, 51)));
  ASSERT_OK_AND_ASSIGN(const auto data,
                       Open({.size = 4, .skip_corrupt = true}));
  EXPECT_THAT(SampleOf(*data, 0, 0),
              StatusIs(kInvalid, AllOf(HasSubstr("no image of the class"),
                                       HasSubstr("train/cat/2.png"))));
  EXPECT_THAT(SampleOf(*data, 0, 2), IsOk());
}

TEST_F(ImageFolderTest, AMissingFileIsNoCorruptFile) {
  AddFile("train/cat/1.png", MakePng(EvenImage(9, 9, 51)));
  AddFile("train/cat/2.png", MakePng(EvenImage(9, 9, 51)));
  ASSERT_OK_AND_ASSIGN(const auto data,
                       Open({.size = 4, .skip_corrupt = true}));
  std::filesystem::remove(folder_.File("train/cat/1.png"));
  EXPECT_THAT(SampleOf(*data, 0, 0), StatusIs(absl::StatusCode::kNotFound,
                                              HasSubstr("train/cat/1.png")));
}

TEST_F(ImageFolderTest, SamplesThatThereAreNotAreRefused) {
  AddNoise(2);
  ASSERT_OK_AND_ASSIGN(const auto data, Open(kSmall));
  for (const int64_t index : {-1, 2}) {
    EXPECT_THAT(SampleOf(*data, 0, index),
                StatusIs(kInvalid, HasSubstr("there is no sample")));
  }
}

TEST_F(ImageFolderTest, RefusesOptionsOutOfRange) {
  AddNoise(2);
  EXPECT_THAT(Open({.size = 0}), StatusIs(kInvalid, HasSubstr("size 0")));
  EXPECT_THAT(Open({.size = 20'000}),
              StatusIs(kInvalid, HasSubstr("size 20000")));
  EXPECT_THAT(Open({.max_pixels = 0}),
              StatusIs(kInvalid, HasSubstr("max_pixels 0")));
  EXPECT_THAT(Open({.crop = {.padding = -1}}),
              StatusIs(kInvalid, HasSubstr("padding")));
  EXPECT_THAT(ImageFolder::Open("/no/such/folder", Split::kTrain),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such")));
}

}  // namespace
}  // namespace spillway
