#include "tuner/profile/plausible_profile.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "simulator/default_profile.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kLeastInt = std::numeric_limits<int64_t>::min();
constexpr int64_t kMostInt = std::numeric_limits<int64_t>::max();

// 2 bytes per nanosecond, which lengthen a step from 100 ns to `beside_ns`.
ContentionRound Round(double beside_ns) {
  return {.alone_ns = 100,
          .beside_ns = beside_ns,
          .copied_bytes = 2'000,
          .copying_ns = 1'000};
}

TEST(PlausibleProfileTest, TheMedianRoundSaysWhatCopiesCost) {
  // Steps longer by 0.5, 0.1 and 0.05, for 2 bytes per nanosecond.
  const std::vector<ContentionRound> rounds = {Round(150), Round(110),
                                               Round(105)};
  EXPECT_NEAR(SlowdownOf(rounds).value(), 0.05, 1e-12);
}

TEST(PlausibleProfileTest, StepsThatWereFasterBesideCopiesCostNothing) {
  EXPECT_EQ(SlowdownOf(std::vector{Round(90), Round(80), Round(120)}), 0.0);
}

TEST(PlausibleProfileTest, RoundsThatSayNothingDoNotCount) {
  std::vector<ContentionRound> rounds(7, Round(150));
  rounds[0].copied_bytes = 0;
  rounds[1].alone_ns = 0;
  rounds[2].beside_ns = kNan;
  rounds[3].copying_ns = -1;
  rounds[4].alone_ns = kInfinity;
  rounds[5].copied_bytes = -4;
  EXPECT_DOUBLE_EQ(SlowdownOf(rounds).value(), 0.25);
  rounds.pop_back();
  EXPECT_EQ(SlowdownOf(rounds), std::nullopt);
  EXPECT_EQ(SlowdownOf({}), std::nullopt);
}

// As if the copies' threads got no core: one byte in a tenth of a second.
TEST(PlausibleProfileTest, ASlowdownThatNoProfileMayStateIsNone) {
  ContentionRound round = Round(150);
  round.copied_bytes = 1;
  round.copying_ns = 1e8;
  EXPECT_EQ(SlowdownOf(std::vector{round}), std::nullopt);
}

TEST(PlausibleProfileTest, KernelsShareWhatAStepHasForThem) {
  const KernelScaleInputs good = {
      .step_ns = 1'000, .others_ns = 100, .call_ns = 100, .kernels_ns = 1'000};
  EXPECT_DOUBLE_EQ(KernelScale(good).value(), 0.8);
  EXPECT_DOUBLE_EQ(ClampedKernelScale(good), 0.8);
}

TEST(PlausibleProfileTest, StepsUnderDifferentLoadsHaveNoScale) {
  const KernelScaleInputs negative = {
      .step_ns = 100, .call_ns = 200, .kernels_ns = 100};
  EXPECT_EQ(KernelScale(negative), std::nullopt);
  EXPECT_EQ(ClampedKernelScale(negative), 0.1);
  const KernelScaleInputs large = {.step_ns = 5'000, .kernels_ns = 100};
  EXPECT_EQ(KernelScale(large), std::nullopt);
  EXPECT_EQ(ClampedKernelScale(large), 10);
  EXPECT_EQ(KernelScale({.step_ns = kNan}), std::nullopt);
  EXPECT_EQ(ClampedKernelScale({.step_ns = kNan}), 1);
}

DeviceProfile GoodProfile() {
  DeviceProfile profile = DefaultCpuProfile(2);
  for (LinkDirection* link : {&profile.to_host, &profile.to_device}) {
    link->by_size = {{.bytes = 4'096, .alone_ns = 1'000, .shared_ns = 1'100},
                     {.bytes = 65'536, .alone_ns = 5'000, .shared_ns = 9'000}};
    SummarizeTable(*link);
  }
  return profile;
}

TEST(PlausibleProfileTest, AGoodProfileStaysAsItIs) {
  DeviceProfile profile = GoodProfile();
  EXPECT_THAT(MakePlausible(profile), IsEmpty());
  EXPECT_EQ(profile, GoodProfile());
}

TEST(PlausibleProfileTest, WhatADisturbanceMadeLongerIsLowered) {
  DeviceProfile profile = GoodProfile();
  // A copy of 4 KiB that is slower than a larger one, and one of 64 KiB that is
  // slower alone than shared.
  profile.to_host.by_size[0] = {
      .bytes = 4'096, .alone_ns = 90'000, .shared_ns = 95'000};
  profile.to_device.by_size[1].alone_ns = 40'000;
  EXPECT_THAT(
      MakePlausible(profile),
      ElementsAre(
          "to_host.by_size[0].alone_ns: measured 90000, kept as 5000",
          "to_host.by_size[0].shared_ns: measured 95000, kept as 9000",
          "to_device.by_size[1].alone_ns: measured 40000, kept as 9000"));
  EXPECT_EQ(profile.to_host.by_size[0].alone_ns, 5'000);
  EXPECT_EQ(profile.to_host.latency_ns, 5'000);
  EXPECT_EQ(profile.to_device.by_size[1].alone_ns, 9'000);
  EXPECT_DOUBLE_EQ(profile.to_device.bytes_per_second, 65'536e9 / 9'000);
}

TEST(PlausibleProfileTest, NoiseIsPutInOrderWithoutANote) {
  DeviceProfile profile = GoodProfile();
  profile.to_host.by_size[1].alone_ns = 9'500;
  EXPECT_THAT(MakePlausible(profile), IsEmpty());
  EXPECT_EQ(profile.to_host.by_size[1].alone_ns, 9'000);
}

TEST(PlausibleProfileTest, NumbersOutOfTheirRangeAreNamed) {
  DeviceProfile profile = GoodProfile();
  profile.kernel_ns_per_copied_byte = -0.25;
  profile.wake_ns = -7;
  profile.memory_bytes = 0;
  EXPECT_THAT(
      MakePlausible(profile),
      ElementsAre("memory_bytes: measured 0, kept as 1",
                  "wake_ns: measured -7, kept as 0",
                  "kernel_ns_per_copied_byte: measured -0.25, kept as 0"));
}

// Random numbers, so many of them invalid that most profiles have one.
class Nonsense {
 public:
  explicit Nonsense(uint64_t seed) : random_(seed) {}

  int64_t Integer() {
    constexpr int64_t kValues[] = {kLeastInt, -5, -1,     0,
                                   1,         17, 90'000, kMostInt};
    return kValues[random_() % std::size(kValues)];
  }
  double Real() {
    constexpr double kValues[] = {kNan, -kInfinity, -1e300, -0.5,     0,
                                  0.5,  1e9,        1e300,  kInfinity};
    return kValues[random_() % std::size(kValues)];
  }
  void Spoil(LinkDirection& link) {
    link = {.latency_ns = Integer(),
            .bytes_per_second = Real(),
            .shared_bytes_per_second = Real()};
    for (uint64_t i = random_() % 4; i > 0; --i) {
      const int64_t before = link.by_size.empty() ? 0 : link.by_size[0].bytes;
      link.by_size.insert(link.by_size.begin(),
                          {.bytes = 1'000 * static_cast<int64_t>(i),
                           .alone_ns = Integer(),
                           .shared_ns = Integer()});
      EXPECT_TRUE(before == 0 || link.by_size[0].bytes < before);
    }
  }

 private:
  std::mt19937_64 random_;
};

DeviceProfile NonsenseProfile(uint64_t seed) {
  Nonsense nonsense(seed);
  DeviceProfile profile = {.name = "a busy machine", .source = "a test"};
  nonsense.Spoil(profile.to_host);
  nonsense.Spoil(profile.to_device);
  for (int64_t* field :
       {&profile.memory_bytes, &profile.kernel_ns, &profile.issue_ns,
        &profile.call_ns, &profile.wake_ns, &profile.kernels["Relu{}"],
        &profile.algorithms["Conv2D{}"]["direct"].ns,
        &profile.algorithms["Conv2D{}"]["direct"].workspace_bytes}) {
    *field = nonsense.Integer();
  }
  for (double* field :
       {&profile.memory_bytes_per_second, &profile.memory_efficiency,
        &profile.compute_efficiency, &profile.kernel_ns_per_copied_byte,
        &profile.flops_per_second[DType::kFloat32],
        &profile.flops_per_second[DType::kBFloat16]}) {
    *field = nonsense.Real();
  }
  return profile;
}

TEST(PlausibleProfileTest, WhateverWasMeasuredCanBeReadBack) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 500 && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    DeviceProfile profile = NonsenseProfile(seed);
    refused +=
        ParseDeviceProfile(FormatDeviceProfile(profile), "x").ok() ? 0 : 1;
    MakePlausible(profile);
    ASSERT_OK_AND_ASSIGN(
        const DeviceProfile read,
        ParseDeviceProfile(FormatDeviceProfile(profile), "profile"));
    EXPECT_EQ(read, profile);
    EXPECT_THAT(MakePlausible(profile), IsEmpty());
    EXPECT_EQ(read, profile);
  }
  EXPECT_GT(refused, 400);
}

// Returns `samples` in turn, one per attempt.
absl::StatusOr<PlausibleProfile> Measure(
    const std::vector<DeviceProfile>& samples, size_t& attempts) {
  attempts = 0;
  return MeasurePlausibly(
      [&]() -> absl::StatusOr<DeviceProfile> { return samples[attempts++]; });
}

TEST(PlausibleProfileTest, ASenselessMeasurementIsRepeated) {
  DeviceProfile bad = GoodProfile();
  bad.issue_ns = -3;
  size_t attempts = 0;
  ASSERT_OK_AND_ASSIGN(const PlausibleProfile measured,
                       Measure({bad, GoodProfile(), bad}, attempts));
  EXPECT_EQ(attempts, 2U);
  EXPECT_EQ(measured.profile, GoodProfile());
  EXPECT_THAT(measured.notes, IsEmpty());
}

TEST(PlausibleProfileTest, OfSenselessMeasurementsTheBestIsKeptWithNotes) {
  DeviceProfile worse = GoodProfile();
  worse.issue_ns = -3;
  worse.call_ns = -3;
  DeviceProfile bad = GoodProfile();
  bad.wake_ns = -3;
  size_t attempts = 0;
  ASSERT_OK_AND_ASSIGN(const PlausibleProfile measured,
                       Measure({worse, bad, worse}, attempts));
  EXPECT_EQ(attempts, 3U);
  EXPECT_EQ(measured.profile.wake_ns, 0);
  EXPECT_THAT(measured.notes, ElementsAre("wake_ns: measured -3, kept as 0"));
}

TEST(PlausibleProfileTest, AnErrorEndsTheAttempts) {
  int attempts = 0;
  EXPECT_THAT(MeasurePlausibly([&]() -> absl::StatusOr<DeviceProfile> {
                ++attempts;
                return absl::UnavailableError("no device");
              }),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no device")));
  EXPECT_EQ(attempts, 1);
}

}  // namespace
}  // namespace spillway
