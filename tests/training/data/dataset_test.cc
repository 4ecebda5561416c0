#include "training/data/dataset.h"

#include <functional>
#include <limits>
#include <new>
#include <stdexcept>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/training/data/counting_dataset.h"
#include "training/data/batched.h"

namespace spillway {
namespace {

using testing::CountingDataset;
using ::testing::HasSubstr;
using testing::StatusIs;

// Calls `read` whenever a sample is read.
class ThrowingDataset : public CountingDataset {
 public:
  explicit ThrowingDataset(std::function<void()> read)
      : CountingDataset(4), read_(std::move(read)) {}
  absl::Status Read(int64_t, std::span<std::byte* const>) const override {
    read_();
    return absl::OkStatus();
  }

 private:
  std::function<void()> read_;
};

TEST(DatasetTest, ASampleThatThereIsNotIsRefused) {
  const CountingDataset data(4);
  for (const int64_t index : {-1, 4}) {
    EXPECT_THAT(data.Get(index), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("there is no sample")));
  }
}

TEST(DatasetTest, AReadThatThrowsIsAnErrorWithItsText) {
  const ThrowingDataset data([] { throw std::out_of_range("vector::at"); });
  EXPECT_THAT(data.Get(3),
              StatusIs(absl::StatusCode::kInternal,
                       "reading sample 3 of the data threw: vector::at"));
}

TEST(DatasetTest, AReadThatThrowsNoExceptionIsAnError) {
  const ThrowingDataset data([] { throw 42; });
  EXPECT_THAT(data.Get(3), StatusIs(absl::StatusCode::kInternal,
                                    "reading sample 3 of the data threw"));
}

TEST(DatasetTest, AReadThatRunsOutOfMemoryIsResourceExhausted) {
  const std::vector<std::function<void()>> reads = {
      [] { throw std::bad_alloc(); },
      [] { throw std::length_error("vector::reserve"); }};
  for (const auto& read : reads) {
    EXPECT_THAT(ThrowingDataset(read).Get(1),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr("sample 1 of the data does not fit")));
  }
}

// 2^48 bytes, more than a process can address. Sanitizers end the program when
// an allocation fails.
TEST(DatasetTest, ASampleLargerThanTheMemoryIsResourceExhausted) {
  if (testing::kHasSanitizer) GTEST_SKIP();
  const CountingDataset data(4);
  const Batched batches(
      data, {.batch_size = (int64_t{1} << 45) - 1, .drop_remainder = false});
  EXPECT_THAT(batches.Get(0), StatusIs(absl::StatusCode::kResourceExhausted,
                                       HasSubstr("lower the batch size")));
}

TEST(DatasetTest, ASampleWhoseBytesCannotBeCountedIsRefused) {
  const CountingDataset data(4);
  const Batched batches(data,
                        {.batch_size = std::numeric_limits<int64_t>::max(),
                         .drop_remainder = false});
  EXPECT_THAT(batches.Get(0), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("field 0: ")));
}

}  // namespace
}  // namespace spillway
