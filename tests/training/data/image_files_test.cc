#include "training/data/image_files.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;

std::vector<std::string> NamesOf(const ImageFiles& files) {
  std::vector<std::string> names;
  for (const ImageFile& file : files.files) {
    names.push_back(fmt::format("{}:{}", file.label, file.name));
  }
  return names;
}

// The test's own folder. Files are empty: ListImageFiles opens none.
class ImageFilesTest : public ::testing::Test {
 protected:
  void AddFile(const std::string& name) {
    const std::string path = folder_.File(name);
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path());
    ASSERT_THAT(WriteFileAtomically(path, ""), IsOk());
  }
  void AddFolder(const std::string& name) {
    std::filesystem::create_directories(folder_.File(name));
  }
  absl::StatusOr<ImageFiles> List(Split split,
                                  const ListImagesOptions& options = {}) {
    return ListImageFiles(folder_.path(), split, options);
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(ImageFilesTest, ClassesAndFilesAreSortedByName) {
  for (const char* name :
       {"train/dog/b.png", "train/dog/a.JPG", "train/cat/2.jpeg",
        "train/cat/10.jpg", "train/Zebra/x.PNG"}) {
    AddFile(name);
  }
  ASSERT_OK_AND_ASSIGN(const ImageFiles files, List(Split::kTrain));
  EXPECT_EQ(files.folder, folder_.File("train"));
  EXPECT_THAT(files.class_names, ElementsAre("Zebra", "cat", "dog"));
  EXPECT_THAT(NamesOf(files),
              ElementsAre("0:Zebra/x.PNG", "1:cat/10.jpg", "1:cat/2.jpeg",
                          "2:dog/a.JPG", "2:dog/b.png"));
}

TEST_F(ImageFilesTest, TheTestSplitIsValOrElseTest) {
  AddFile("train/cat/1.jpg");
  AddFile("train/dog/1.jpg");
  EXPECT_THAT(List(Split::kTest),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(folder_.path()), HasSubstr("'val'"))));
  AddFile("test/dog/2.jpg");
  ASSERT_OK_AND_ASSIGN(const ImageFiles test, List(Split::kTest));
  EXPECT_THAT(NamesOf(test), ElementsAre("1:dog/2.jpg"));
  AddFile("val/cat/3.jpg");
  ASSERT_OK_AND_ASSIGN(const ImageFiles val, List(Split::kTest));
  EXPECT_EQ(val.folder, folder_.File("val"));
  EXPECT_THAT(val.class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(NamesOf(val), ElementsAre("0:cat/3.jpg"));
}

TEST_F(ImageFilesTest, ATestFolderAloneHasNoTrainingImages) {
  AddFile("val/cat/1.jpg");
  EXPECT_THAT(List(Split::kTrain), StatusIs(absl::StatusCode::kNotFound,
                                            HasSubstr("no folder 'train'")));
  ASSERT_OK_AND_ASSIGN(const ImageFiles val, List(Split::kTest));
  EXPECT_THAT(NamesOf(val), ElementsAre("0:cat/1.jpg"));
}

TEST_F(ImageFilesTest, ATestClassWithoutTrainingImagesIsRefused) {
  AddFile("train/cat/1.jpg");
  AddFile("val/bird/1.jpg");
  EXPECT_THAT(List(Split::kTest),
              StatusIs(kInvalid, AllOf(HasSubstr(folder_.File("val")),
                                       HasSubstr("'bird'"))));
}

TEST_F(ImageFilesTest, HiddenFilesAndFoldersAreLeftOut) {
  AddFile("train/cat/1.jpg");
  AddFile("train/cat/.DS_Store");
  AddFile("train/.cache/1.txt");
  AddFile("train/.hidden");
  ASSERT_OK_AND_ASSIGN(const ImageFiles files, List(Split::kTrain));
  EXPECT_THAT(NamesOf(files), ElementsAre("0:cat/1.jpg"));
}

TEST_F(ImageFilesTest, OtherFilesAreRefusedOrSkipped) {
  const char* others[] = {"train/cat/notes.txt", "train/cat/2.gif",
                          "train/cat/jpg", "train/README"};
  for (const char* other : others) {
    AddFile("train/cat/1.jpg");
    AddFile(other);
    EXPECT_THAT(List(Split::kTrain),
                StatusIs(kInvalid, AllOf(HasSubstr(folder_.File(other)),
                                         HasSubstr("skip_other_files"))));
    ASSERT_OK_AND_ASSIGN(const ImageFiles files,
                         List(Split::kTrain, {.skip_other_files = true}));
    EXPECT_THAT(NamesOf(files), ElementsAre("0:cat/1.jpg"));
    std::filesystem::remove(folder_.File(other));
  }
}

TEST_F(ImageFilesTest, BrokenLinksAndFoldersAreNoImages) {
  AddFile("train/cat/1.jpg");
  std::filesystem::create_symlink("nowhere.jpg",
                                  folder_.File("train/cat/2.jpg"));
  EXPECT_THAT(List(Split::kTrain), StatusIs(kInvalid, HasSubstr("2.jpg")));
  std::filesystem::remove(folder_.File("train/cat/2.jpg"));
  AddFolder("train/cat/3.jpg");
  EXPECT_THAT(List(Split::kTrain), StatusIs(kInvalid, HasSubstr("3.jpg")));
}

TEST_F(ImageFilesTest, LinksToImagesAreImages) {
  AddFile("elsewhere.jpg");
  AddFolder("train/cat");
  std::filesystem::create_symlink(folder_.File("elsewhere.jpg"),
                                  folder_.File("train/cat/1.jpg"));
  ASSERT_OK_AND_ASSIGN(const ImageFiles files, List(Split::kTrain));
  EXPECT_THAT(NamesOf(files), ElementsAre("0:cat/1.jpg"));
}

TEST_F(ImageFilesTest, MissingAndEmptyFoldersAreErrors) {
  EXPECT_THAT(
      ListImageFiles("/no/such/folder", Split::kTrain),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("'/no/such/folder'")));
  EXPECT_THAT(List(Split::kTrain), StatusIs(kInvalid, HasSubstr("no folder")));
  AddFolder("cat");
  EXPECT_THAT(List(Split::kTrain),
              StatusIs(kInvalid, HasSubstr(folder_.File("cat") +
                                           "' has no image; remove")));
  AddFile("cat/1.jpg");  // of one of the splits
  const bool is_test = List(Split::kTest).ok();
  EXPECT_THAT(List(is_test ? Split::kTrain : Split::kTest),
              StatusIs(kInvalid, HasSubstr("in the 1 class of '")));
  AddFile("file");
  EXPECT_THAT(ListImageFiles(folder_.File("file"), Split::kTrain),
              StatusIs(kInvalid, HasSubstr("file")));
}

TEST_F(ImageFilesTest, RefusesASplitOfLessThanOneInTwo) {
  AddFile("cat/1.jpg");
  for (const int64_t one_in : {1, 0, -5}) {
    EXPECT_THAT(List(Split::kTest, {.test_one_in = one_in}),
                StatusIs(kInvalid, HasSubstr("test_one_in")));
  }
}

std::set<std::string> SetOf(const ImageFiles& files) {
  std::set<std::string> names;
  for (const ImageFile& file : files.files) names.insert(file.name);
  return names;
}

TEST_F(ImageFilesTest, WithoutFoldersForSplitsTheHashDividesTheImages) {
  for (int i = 0; i < 500; ++i) {
    AddFile(fmt::format("{}/{}.jpg", i % 2 == 0 ? "cat" : "dog", i));
  }
  ASSERT_OK_AND_ASSIGN(const ImageFiles train, List(Split::kTrain));
  ASSERT_OK_AND_ASSIGN(const ImageFiles test, List(Split::kTest));
  EXPECT_EQ(train.class_names, test.class_names);
  std::set<std::string> all = SetOf(train);
  const std::set<std::string> test_names = SetOf(test);
  all.insert(test_names.begin(), test_names.end());
  EXPECT_EQ(train.files.size() + test.files.size(), 500u);  // disjoint
  EXPECT_EQ(all.size(), 500u);                              // complete
  // Binomial, mean 50, standard deviation 6.7; the tolerance is four of them.
  EXPECT_NEAR(static_cast<double>(test.files.size()), 50, 27);
  for (const int32_t label : {0, 1}) {
    EXPECT_GT(std::ranges::count(test.files, label, &ImageFile::label), 5);
  }

  ASSERT_OK_AND_ASSIGN(const ImageFiles half,
                       List(Split::kTest, {.test_one_in = 2}));
  EXPECT_NEAR(static_cast<double>(half.files.size()), 250, 45);
}

TEST_F(ImageFilesTest, AnImageStaysInItsSplitWhenOthersCome) {
  for (int i = 0; i < 40; ++i) AddFile(fmt::format("cat/{}.jpg", i));
  ASSERT_OK_AND_ASSIGN(const ImageFiles before, List(Split::kTest));
  for (int i = 0; i < 40; ++i) AddFile(fmt::format("cat/new{}.jpg", i));
  AddFile("bird/1.jpg");
  ASSERT_OK_AND_ASSIGN(const ImageFiles after, List(Split::kTest));
  const std::set<std::string> names = SetOf(after);
  for (const ImageFile& file : before.files) {
    EXPECT_TRUE(names.contains(file.name)) << file.name;
  }
}

}  // namespace
}  // namespace spillway
