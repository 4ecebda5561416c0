#include "comm/rendezvous/folder_store.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "tests/comm/rendezvous/check_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using testing::CheckKeepsWhatIsSetFirst;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::Later;
using testing::StatusIs;
using testing::TemporaryFolder;
using Code = absl::StatusCode;

TEST(FolderStoreTest, KeepsWhatIsSetFirst) {
  const TemporaryFolder folder;
  const auto a = *OpenFolderStore(folder.path(), "run");
  const auto b = *OpenFolderStore(folder.path(), "run");
  CheckKeepsWhatIsSetFirst(*a, *b, "run/key");
  EXPECT_THAT(a->Set("empty", "", Later()), IsOk());
  EXPECT_EQ(*b->Get("empty", Later()), "");
}

TEST(FolderStoreTest, OneOfManyIsFirst) {
  const TemporaryFolder folder;
  std::atomic<int> first = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(8);
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        const auto store = *OpenFolderStore(folder.path(), "run");
        if (store->Set("key", "value", Later()).ok()) ++first;
        EXPECT_EQ(*store->Get("key", Later()), "value");
      });
    }
  }
  EXPECT_EQ(first, 1);
}

TEST(FolderStoreTest, AHalfWrittenFileIsNotThere) {
  const TemporaryFolder folder;
  const auto store = *OpenFolderStore(folder.path(), "run");
  std::ofstream(folder.File("run/key")) << "00000004abc";
  EXPECT_THAT(
      store->Get("key", std::chrono::steady_clock::now()),
      StatusIs(Code::kDeadlineExceeded,
               AllOf(HasSubstr("key"), HasSubstr(folder.path() + "/run"))));
  std::ofstream(folder.File("run/key")) << "00000004abcd";
  EXPECT_EQ(*store->Get("key", Later()), "abcd");
}

TEST(FolderStoreTest, RunsHaveTheirOwnFolders) {
  const TemporaryFolder folder;
  for (const char* run_id : {"a", "A.1", "..", ".", "a/b", "a%2Fb"}) {
    const auto store = *OpenFolderStore(folder.path(), run_id);
    EXPECT_THAT(store->Set("key", run_id, Later()), IsOk());
  }
  EXPECT_THAT(folder.Names(),
              ElementsAre("%2E", "%2E.", "A.1", "a", "a%252Fb", "a%2Fb"));
}

TEST(FolderStoreTest, BadFoldersAreRefused) {
  const TemporaryFolder folder;
  EXPECT_THAT(OpenFolderStore(folder.path(), ""),
              StatusIs(kInvalid, HasSubstr("SPILLWAY_RUN_ID")));
  EXPECT_THAT(OpenFolderStore(folder.path(), std::string(201, 'x')),
              StatusIs(kInvalid, HasSubstr("201 bytes")));
  EXPECT_THAT(OpenFolderStore(folder.File("none"), "run"),
              StatusIs(kInvalid, HasSubstr("none does not exist")));
  std::ofstream(folder.File("run")) << "a file";
  const auto store = OpenFolderStore(folder.path(), "run");
  ASSERT_THAT(store, IsOk());
  EXPECT_THAT((*store)->Set("key", "value", Later()),
              StatusIs(Code::kUnavailable, HasSubstr("run/key")));
}

}  // namespace
}  // namespace spillway
