// Stop requests to the tuner and to measurements: they take effect between two
// candidates or measurements, and the result differs from that of a complete
// search.
#include "base/stop_request.h"

#include <cstdint>
#include <limits>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "tests/support/status_matchers.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/max_batch.h"
#include "tuner/profile/measure_profile.h"
#include "tuner/tune.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using testing::IsOk;
using testing::StatusIs;
using testing::ZooCase;

constexpr auto kCancelled = absl::StatusCode::kCancelled;
constexpr int64_t kNotAtAll = std::numeric_limits<int64_t>::max();

// Returns true from the `at`-th call on, counted from 1.
StopRequest StopAt(int64_t at, int64_t& asked) {
  asked = 0;
  return [&asked, at] { return ++asked >= at; };
}

class TunerStopTest : public ::testing::Test {
 protected:
  Program program() const { return {.graph = case_.graph}; }

  // With three quarters of the memory that the step needs.
  StepOptions Options(StopRequest stop) const {
    return {.device = "cpu",
            .threads = 1,
            .device_memory = ModelOf(case_).peak_bytes / 4 * 3,
            .profile = "p100_pcie",
            .stop = std::move(stop)};
  }

 private:
  const testing::TunerCase case_ = ZooCase("cifar10_full", 32, 16, 10);
};

TEST_F(TunerStopTest, TheBestSoFarIsChosenAndItSaysSo) {
  int64_t asked = 0;
  ASSERT_OK_AND_ASSIGN(const TuneResult whole,
                       Tune(program(), Options(StopAt(kNotAtAll, asked))));
  EXPECT_FALSE(whole.step.interrupted);
  ASSERT_GT(asked, 4);
  const int64_t last = asked;
  ASSERT_OK_AND_ASSIGN(const TuneResult part,
                       Tune(program(), Options(StopAt(last - 1, asked))));
  EXPECT_TRUE(part.step.interrupted);
  EXPECT_LT(part.step.tried.size(), whole.step.tried.size());
  EXPECT_GE(part.step.chosen.step.step_ns, whole.step.chosen.step.step_ns);
  EXPECT_FALSE(part.fingerprint.empty());
}

TEST_F(TunerStopTest, WithoutAnyThatFitsItIsCancelled) {
  int64_t asked = 0;
  EXPECT_THAT(Tune(program(), Options(StopAt(1, asked))),
              StatusIs(kCancelled, ::testing::_));
  EXPECT_EQ(asked, 1);
}

// A time limit does not count as an interruption.
TEST_F(TunerStopTest, TheTimeLimitIsToldApart) {
  StepOptions options = Options({});
  options.lms = LmsOptions::V1();
  options.time_limit = 0;
  options.device_memory = *options.device_memory / 5 * 6;  // its only set fits
  ASSERT_OK_AND_ASSIGN(const TuneResult tuned, Tune(program(), options));
  EXPECT_FALSE(tuned.step.interrupted);
}

TEST_F(TunerStopTest, HalfASearchOfTflmsIsNone) {
  int64_t asked = 0;
  const TflmsRequest request = {
      .options = LmsOptions::V2(),
      .limits = {.device_bytes = *Options({}).device_memory}};
  EXPECT_THAT(TuneAsTflms(program(), Options(StopAt(1, asked)), request),
              StatusIs(kCancelled, ::testing::_));
  EXPECT_EQ(asked, 1);
}

// Batches up to 13 fit.
absl::StatusOr<MaxBatch> SearchUpTo13(int64_t stop_at) {
  int64_t asked = 0;
  return SearchMaxBatch({.start = 4, .stop = StopAt(stop_at, asked)},
                        [](int64_t batch) -> absl::StatusOr<BatchAttempt> {
                          return BatchAttempt{.batch_size = batch,
                                              .fits = batch <= 13};
                        });
}

TEST(MaxBatchStopTest, TheLargestSoFarIsReturned) {
  ASSERT_OK_AND_ASSIGN(const MaxBatch whole, SearchUpTo13(kNotAtAll));
  EXPECT_FALSE(whole.interrupted);
  EXPECT_EQ(whole.batch_size, 13);
  ASSERT_EQ(whole.tried.size(), 6u);  // 4 8 16 12 14 13
  ASSERT_OK_AND_ASSIGN(const MaxBatch part, SearchUpTo13(3));
  EXPECT_TRUE(part.interrupted);
  EXPECT_EQ(part.batch_size, 8);
  EXPECT_EQ(part.tried.size(), 3u);
  ASSERT_OK_AND_ASSIGN(const MaxBatch first, SearchUpTo13(1));
  EXPECT_TRUE(first.interrupted);
  EXPECT_EQ(first.tried.size(), 1u);
}

TEST(MaxBatchStopTest, AnAttemptThatIsCancelledEndsTheSearch) {
  ASSERT_OK_AND_ASSIGN(
      const MaxBatch part,
      SearchMaxBatch({.start = 4},
                     [](int64_t batch) -> absl::StatusOr<BatchAttempt> {
                       if (batch > 4) return absl::CancelledError("");
                       return BatchAttempt{.batch_size = batch, .fits = true};
                     }));
  EXPECT_TRUE(part.interrupted);
  EXPECT_EQ(part.batch_size, 4);
}

TEST_F(TunerStopTest, TheSearchForTheLargestBatchAsksTheOptions) {
  int64_t asked = 0;
  const auto program_of = [&](int64_t) -> absl::StatusOr<Program> {
    return program();  // such that every batch fits or none does
  };
  StepOptions options = Options(StopAt(2, asked));
  options.lms = {.mode = LmsMode::kOff};
  options.device_memory = 10_GiB;
  ASSERT_OK_AND_ASSIGN(const MaxBatch part,
                       FindMaxBatch(program_of, options, {.start = 4}));
  EXPECT_TRUE(part.interrupted);
  EXPECT_EQ(part.batch_size, 8);
}

// At any stop, there is no profile, and measuring ends with that call.
TEST(ProfileStopTest, HalfAProfileIsNone) {
  std::stop_source source;
  int64_t asked = 0;
  const StepOptions options = {.device = "inline", .threads = 1};
  const auto measure = [&](int64_t stop_at) {
    asked = 0;
    return MeasureProfile(options, {.repeats = 1, .stop = [&asked, stop_at] {
                                      return ++asked >= stop_at;
                                    }});
  };
  for (const int64_t at : {1, 3, 8, 9}) {
    EXPECT_THAT(measure(at), StatusIs(kCancelled, ::testing::_));
    EXPECT_EQ(asked, at);
  }
  EXPECT_THAT(measure(kNotAtAll), IsOk());
  EXPECT_GT(asked, 9);

  source.request_stop();
  EXPECT_THAT(MeasureProfile(options, {.repeats = 1,
                                       .stop =
                                           [token = source.get_token()] {
                                             return token.stop_requested();
                                           }}),
              StatusIs(kCancelled, ::testing::_));
}

}  // namespace
}  // namespace spillway
