#include "base/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;
using ::spillway::testing::IsOk;
using ::spillway::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class FileTest : public ::testing::Test {
 protected:
  std::string PathOf(const std::string& name) const {
    return folder_.File(name);
  }
  std::vector<std::string> Names() const { return folder_.Names(); }
  std::string ContentOf(const std::string& name) const {
    return ReadFile(PathOf(name)).value_or("<unreadable>");
  }

  const testing::TemporaryFolder folder_;
};

// Drops root's rights during its lifetime.
class AsNobody {
 public:
  AsNobody() : was_root_(geteuid() == 0) {
    EXPECT_EQ(was_root_ ? seteuid(65534) : 0, 0);
  }
  ~AsNobody() { EXPECT_EQ(was_root_ ? seteuid(0) : 0, 0); }

 private:
  const bool was_root_;
};

// Limits the size of files that this process writes to `bytes` during its
// lifetime.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes)
      : previous_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &previous_);
    const struct rlimit limit = {.rlim_cur = bytes,
                                 .rlim_max = previous_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, previous_handler_);
  }

 private:
  struct rlimit previous_ = {};
  void (*previous_handler_)(int);
};

TEST_F(FileTest, WritesPiecesOneAfterAnother) {
  const std::array<std::string_view, 3> pieces = {"ab", "",
                                                  std::string_view("c\0d", 3)};
  ASSERT_THAT(WriteFileAtomically(PathOf("x"), pieces), IsOk());
  EXPECT_EQ(ContentOf("x"), std::string("abc\0d", 5));
  EXPECT_THAT(Names(), UnorderedElementsAre("x"));
}

TEST_F(FileTest, ReplacesTheContentAndKeepsThePermissions) {
  ASSERT_THAT(WriteFileAtomically(PathOf("x"), "a long old text"), IsOk());
  fs::permissions(PathOf("x"), fs::perms(0640));
  ASSERT_THAT(WriteFileAtomically(PathOf("x"), "new"), IsOk());
  EXPECT_EQ(ContentOf("x"), "new");
  EXPECT_EQ(fs::status(PathOf("x")).permissions(), fs::perms(0640));
}

TEST_F(FileTest, ReadersOfTheOldFileKeepTheOldBytes) {
  ASSERT_THAT(WriteFileAtomically(PathOf("x"), "old"), IsOk());
  const int fd = open(PathOf("x").c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  ASSERT_THAT(WriteFileAtomically(PathOf("x"), "new"), IsOk());
  std::array<char, 8> buffer = {};
  EXPECT_EQ(read(fd, buffer.data(), buffer.size()), 3);
  EXPECT_STREQ(buffer.data(), "old");
  close(fd);
}

TEST_F(FileTest, WritesThroughASymbolicLink) {
  ASSERT_THAT(WriteFileAtomically(PathOf("x"), "old"), IsOk());
  fs::create_symlink("x", PathOf("link"));
  ASSERT_THAT(WriteFileAtomically(PathOf("link"), "new"), IsOk());
  EXPECT_TRUE(fs::is_symlink(PathOf("link")));
  EXPECT_EQ(ContentOf("x"), "new");
}

TEST_F(FileTest, WritesARelativePathIntoTheCurrentFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  EXPECT_THAT(WriteFileAtomically("x", "here"), IsOk());
  fs::current_path(before);
  EXPECT_EQ(ContentOf("x"), "here");
}

TEST_F(FileTest, MissingFolderIsNotFound) {
  const std::string path = PathOf("missing/x");
  EXPECT_THAT(WriteFileAtomically(path, "text"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("cannot write " + path),
                             HasSubstr("No such file or directory"))));
  EXPECT_THAT(ReadFile(path), StatusIs(absl::StatusCode::kNotFound,
                                       HasSubstr("cannot read " + path)));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(FileTest, FileInPlaceOfAFolderIsNotFound) {
  ASSERT_THAT(WriteFileAtomically(PathOf("x"), "text"), IsOk());
  EXPECT_THAT(
      WriteFileAtomically(PathOf("x/y"), "text"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("Not a directory")));
}

TEST_F(FileTest, FolderIsNotAFile) {
  EXPECT_THAT(WriteFileAtomically(folder_.path(), "text"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Is a directory")));
  EXPECT_THAT(ReadFile(folder_.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Is a directory")));
}

TEST_F(FileTest, ReadOnlyTargetIsLeftAsItWas) {
  ASSERT_THAT(WriteFileAtomically(PathOf("x"), "old"), IsOk());
  fs::permissions(PathOf("x"), fs::perms(0444));
  fs::permissions(folder_.path(), fs::perms(0777));
  const AsNobody nobody;
  EXPECT_THAT(WriteFileAtomically(PathOf("x"), "new"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("Permission denied")));
  EXPECT_EQ(ContentOf("x"), "old");
  EXPECT_THAT(Names(), UnorderedElementsAre("x"));
}

TEST_F(FileTest, ReadOnlyFolderIsPermissionDenied) {
  fs::permissions(folder_.path(), fs::perms(0555));
  const AsNobody nobody;
  EXPECT_THAT(WriteFileAtomically(PathOf("x"), "new"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("Permission denied")));
}

TEST_F(FileTest, WriteCutShortLeavesTheOldFileAndNothingBeside) {
  ASSERT_THAT(WriteFileAtomically(PathOf("x"), "old"), IsOk());
  {
    const FileSizeLimit limit(
        5000);  // the first write is short, the next fails
    EXPECT_THAT(
        WriteFileAtomically(PathOf("x"), std::string(10'000, 'n')),
        StatusIs(absl::StatusCode::kInternal, HasSubstr("File too large")));
  }
  EXPECT_EQ(ContentOf("x"), "old");
  EXPECT_THAT(Names(), UnorderedElementsAre("x"));
}

TEST_F(FileTest, FullDeviceIsReported) {
  EXPECT_THAT(WriteFileAtomically("/dev/full", "text"),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("cannot write /dev/full"),
                             HasSubstr("No space left"))));
}

TEST_F(FileTest, PipeIsWrittenInPlace) {
  ASSERT_EQ(mkfifo(PathOf("pipe").c_str(), 0600), 0);
  const std::string text(300'000, 'p');  // more than a pipe holds at once
  std::string received;
  std::jthread reader([&] { received = ContentOf("pipe"); });
  EXPECT_THAT(WriteFileAtomically(PathOf("pipe"), text), IsOk());
  reader.join();
  EXPECT_EQ(received, text);
  EXPECT_TRUE(fs::is_fifo(PathOf("pipe")));
}

TEST_F(FileTest, StandardStreamSentToAFileKeepsWhatWasPrintedBefore) {
  const int fd = open(PathOf("out").c_str(), O_CREAT | O_RDWR | O_APPEND, 0600);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, "printed\n", 8), 8);
  EXPECT_THAT(WriteFileAtomically("/dev/fd/" + std::to_string(fd), "result\n"),
              IsOk());
  close(fd);
  EXPECT_EQ(ContentOf("out"), "printed\nresult\n");
}

}  // namespace
}  // namespace spillway
