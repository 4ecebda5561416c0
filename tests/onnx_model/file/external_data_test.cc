#include "onnx_model/file/external_data.h"

#include <filesystem>
#include <string>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx_model/is_refused.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace spillway::onnx_model {
namespace {

namespace fs = std::filesystem;
using spillway::testing::IsOk;
using spillway::testing::IsRefused;

class ExternalDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(fs::path(folder_.path()) / "models" / "inner");
    Write("models/net.onnx", "model");
    Write("models/net.data", "0123456789");
    Write("models/inner/more.data", "abcd");
    Write("secret", "secret");
  }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_THAT(WriteFileAtomically(folder_.path() + "/" + name, text), IsOk());
  }

  absl::StatusOr<std::string> Read(
      const ExternalData& data, int64_t bytes,
      const std::string& model = "models/net.onnx") {
    return ReadExternalData(data, folder_.path() + "/" + model, bytes);
  }

  spillway::testing::TemporaryFolder folder_;
};

TEST_F(ExternalDataTest, ReadsAPartOfAFile) {
  ASSERT_OK_AND_ASSIGN(
      const std::string part,
      Read({.location = "net.data", .offset = 3, .length = 4}, 4));
  EXPECT_EQ(part, "3456");
  ASSERT_OK_AND_ASSIGN(const std::string inner,
                       Read({.location = "inner/more.data"}, 4));
  EXPECT_EQ(inner, "abcd");
}

TEST_F(ExternalDataTest, RefusesNamesThatLeaveTheFolder) {
  for (const std::string name :
       {"", "../secret", "/etc/hostname", "inner/../net.data", "./net.data",
        "inner//more.data", "inner/", "a\\b"}) {
    SCOPED_TRACE(name);
    EXPECT_THAT(Read({.location = name}, 1), IsRefused("within the model's "
                                                       "folder"));
  }
  EXPECT_THAT(Read({.location = std::string("net.data\0x", 10)}, 1),
              IsRefused("within the model's folder"));
}

TEST_F(ExternalDataTest, RefusesALinkThatLeavesTheFolder) {
  fs::create_symlink(folder_.path() + "/secret",
                     folder_.path() + "/models/link.data");
  EXPECT_THAT(Read({.location = "link.data"}, 6), IsRefused("is a link to a "
                                                            "place outside"));
}

// A hub's cache: both files are links into a folder of blobs.
TEST_F(ExternalDataTest, FollowsLinksIntoTheFolderOfTheRealModel) {
  fs::create_directories(folder_.path() + "/blobs");
  Write("blobs/1234", "model");
  Write("blobs/5678", "weights");
  fs::create_symlink("../blobs/1234", folder_.path() + "/models/hub.onnx");
  fs::create_symlink("../blobs/5678", folder_.path() + "/models/hub.data");
  ASSERT_OK_AND_ASSIGN(const std::string bytes,
                       Read({.location = "hub.data"}, 7, "models/hub.onnx"));
  EXPECT_EQ(bytes, "weights");
}

TEST_F(ExternalDataTest, ChecksSizesBeforeItReads) {
  EXPECT_THAT(Read({.location = "net.data"}, int64_t{1} << 45),
              IsRefused("has 10 bytes at offset 0"));
  EXPECT_THAT(Read({.location = "net.data", .offset = 8}, 4),
              IsRefused("has 2 bytes at offset 8"));
  EXPECT_THAT(Read({.location = "net.data", .offset = 11}, 0),
              IsRefused("offset 11 is outside"));
  EXPECT_THAT(Read({.location = "net.data", .length = 3}, 4),
              IsRefused("length 3 where the dimensions need 4 bytes"));
}

TEST_F(ExternalDataTest, NamesAFileThatIsNotThere) {
  EXPECT_THAT(Read({.location = "none.data"}, 1), IsRefused("none.data"));
  EXPECT_THAT(Read({.location = "inner"}, 1), IsRefused("regular file"));
}

}  // namespace
}  // namespace spillway::onnx_model
