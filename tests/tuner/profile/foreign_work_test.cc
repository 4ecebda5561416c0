#include "tuner/profile/foreign_work.h"

#include <sched.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "tuner/profile/measure_profile.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A machine with one CPU. During each measurement in turn, other programs take
// the given part of it; after the last part, nothing.
class OtherPrograms {
 public:
  explicit OtherPrograms(std::vector<double> parts)
      : parts_(std::move(parts)) {}

  CpuTimes Read() {
    if (readings_ % 2 == 1) {  // the end of a measurement
      now_.all += 1;
      now_.busy += measurements() < parts_.size() ? parts_[measurements()] : 0;
    }
    ++readings_;
    return now_;
  }
  size_t measurements() const { return readings_ / 2; }
  CpuClock clock() {
    return [this] { return Read(); };
  }

 private:
  std::vector<double> parts_;
  size_t readings_ = 0;
  CpuTimes now_ = {};
};

// Returns the number of the attempt, from 1.
absl::StatusOr<int> Attempt(OtherPrograms& others, double& foreign_work) {
  int attempts = 0;
  return MeasureAlone(
      others.clock(), [&]() -> absl::StatusOr<int> { return ++attempts; },
      foreign_work);
}

TEST(ForeignWorkTest, AQuietMeasurementIsTakenOnce) {
  OtherPrograms others({0.02});
  double foreign_work = 1;
  ASSERT_OK_AND_ASSIGN(const int attempt, Attempt(others, foreign_work));
  EXPECT_EQ(attempt, 1);
  EXPECT_EQ(others.measurements(), 1U);
  EXPECT_NEAR(foreign_work, 0.02, 1e-9);
}

TEST(ForeignWorkTest, OneBesideOtherWorkIsTakenAgain) {
  OtherPrograms others({0.5, 0.01});
  double foreign_work = 0;
  ASSERT_OK_AND_ASSIGN(const int attempt, Attempt(others, foreign_work));
  EXPECT_EQ(attempt, 2);
  EXPECT_NEAR(foreign_work, 0.01, 1e-9);
}

TEST(ForeignWorkTest, WhereItNeverEndsTheQuietestCounts) {
  OtherPrograms others({0.5, 0.3, 0.4});
  double foreign_work = 0;
  ASSERT_OK_AND_ASSIGN(const int attempt, Attempt(others, foreign_work));
  EXPECT_EQ(attempt, 2);
  EXPECT_EQ(others.measurements(), 3U);
  EXPECT_NEAR(foreign_work, 0.3, 1e-9);
}

TEST(ForeignWorkTest, AnErrorEndsIt) {
  OtherPrograms others({0.5});
  double foreign_work = 0;
  const auto failing = []() -> absl::StatusOr<int> {
    return absl::CancelledError("stopped");
  };
  EXPECT_THAT(
      MeasureAlone(others.clock(), failing, foreign_work),
      testing::StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped")));
}

TEST(ForeignWorkTest, OwnWorkIsNoneAndShortTimesSayNothing) {
  EXPECT_EQ(ForeignWork({}, {.all = 10, .busy = 4, .own = 4}), 0);
  EXPECT_EQ(ForeignWork({}, {.all = 10, .busy = 4, .own = 4.2}), 0);
  EXPECT_NEAR(ForeignWork({}, {.all = 10, .busy = 9, .own = 4}), 0.5, 1e-9);
  EXPECT_EQ(ForeignWork({}, {.all = 0.1, .busy = 0.1}), 0);
  EXPECT_EQ(ForeignWork({}, {}), 0);
}

// user nice system idle iowait irq softirq steal guest guest_nice. Steal counts
// as work, waiting for a disk does not, and user time includes guest time.
TEST(ForeignWorkTest, ReadsTheCpusThatTheProcessMayUse) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) ++cpu;
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(std::filesystem::create_directory(folder.File("proc")));
  ASSERT_THAT(WriteFileAtomically(
                  folder.File("proc/stat"),
                  "cpu  9 9 9 9 9 9 9 9 9 9\ncpu" + std::to_string(cpu) +
                      " 100 200 300 1000 500 10 20 70 100 0\n"
                      "cpu5000 1 1 1 1 1 1 1 1 0 0\ncpux 1\nintr 5 5\n"),
              testing::IsOk());
  const CpuTimes times = ReadCpuTimes(folder.path());
  EXPECT_NEAR(times.all, 22, 1e-9);
  EXPECT_NEAR(times.busy, 7, 1e-9);
  EXPECT_GT(times.own, 0);
}

TEST(ForeignWorkTest, WithoutTheFileNothingIsForeign) {
  const CpuTimes none = ReadCpuTimes("/there is no such folder");
  EXPECT_EQ(none.all, 0);
  EXPECT_EQ(ForeignWork(none, none), 0);
}

TEST(ForeignWorkTest, AProfileFromBadCompanyIsMarked) {
  const StepOptions options = {.device = "inline", .threads = 1};
  OtherPrograms always({0.6, 0.6, 0.6});
  ASSERT_OK_AND_ASSIGN(
      DeviceProfile marked,
      MeasureProfile(options, {.repeats = 1, .cpu_clock = always.clock()}));
  EXPECT_EQ(marked.foreign_work, 0.6);
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadableText(marked));
  EXPECT_THAT(text, HasSubstr("\"foreign_work\": 0.6"));
  ASSERT_OK_AND_ASSIGN(const DeviceProfile read,
                       ParseDeviceProfile(text, "text"));
  EXPECT_EQ(read, marked);

  OtherPrograms never({});
  ASSERT_OK_AND_ASSIGN(
      DeviceProfile quiet,
      MeasureProfile(options, {.repeats = 1, .cpu_clock = never.clock()}));
  EXPECT_EQ(quiet.foreign_work, 0);
  EXPECT_THAT(FormatDeviceProfile(quiet), Not(HasSubstr("foreign_work")));

  // Kept kernels keep their profile's mark.
  marked.kernels["Relu"] = 5;
  KeepKernels(marked, quiet);
  EXPECT_EQ(quiet.foreign_work, 0.6);
  marked.foreign_work = 0.9;
  KeepKernels(marked, quiet);
  EXPECT_EQ(quiet.foreign_work, 0.6) << "nothing was kept";
}

}  // namespace
}  // namespace spillway
