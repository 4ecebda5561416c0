// What the tuner promises, kept: random networks, budgets and options of the
// tuner. Each case runs inside its budget, bitwise identical to a step without
// one, or is refused with a larger budget that is enough.
//
// SPILLWAY_STRESS_CASES sets the number of cases, SPILLWAY_STRESS_SEED the seed
// of the first one.
#include <cstdint>
#include <memory>
#include <optional>
#include <random>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/memory_shortage.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/random_network.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tuner/tuned_session.h"

namespace spillway {
namespace {

using testing::ExpectSameTraining;
using testing::ExpectWithinBudgets;
using testing::IsOk;
using testing::NumCases;
using testing::RandomNetwork;
using testing::StressSetting;
using testing::TrainedModel;
using testing::TrainSession;

class TunedCase {
 public:
  explicit TunedCase(uint64_t seed) : seed_(seed), random_(seed) {}

  // Increments `ran` or `refused`.
  void Check(int& ran, int& refused) {
    ASSERT_OK_AND_ASSIGN(network_, testing::MakeRandomNetwork(seed_));
    StepOptions options = {.device = Chance(0.5) ? "cpu" : "inline",
                           .threads = 1,
                           .device_memory = 1_GiB,
                           .algorithms = AlgorithmChoice::kFirst,
                           .profile = "p100_pcie"};
    options.lms.mode = LmsMode::kOff;
    ASSERT_OK_AND_ASSIGN(const TrainedModel free, Train(options));
    const int64_t peak = free.memory.measured_device_bytes;
    options.device_memory = Pick(peak / 4, peak);
    PickTuning(options);
    SCOPED_TRACE(::testing::Message()
                 << options.device << ", device memory "
                 << *options.device_memory << " of " << peak << ", host memory "
                 << options.host_memory.value_or(-1) << ", recomputation "
                 << RecomputePolicyName(options.lms.recompute.policy));
    auto run = Train(options);
    if (run.ok()) {
      ++ran;
    } else {
      ++refused;
      ASSERT_TRUE(absl::IsResourceExhausted(run.status())) << run.status();
      const std::optional<MemoryShortage> shortage = ShortageOf(run.status());
      ASSERT_TRUE(shortage.has_value()) << run.status();
      EXPECT_GT(shortage->needed_bytes, *options.device_memory);
      options.device_memory = shortage->needed_bytes;
      run = Train(options);
      ASSERT_THAT(run, IsOk());
    }
    ExpectSameTraining(*run, free);
    ExpectWithinBudgets(*run, *options.device_memory, options.host_memory);
  }

 private:
  int64_t Pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  bool Chance(double probability) {
    return std::bernoulli_distribution(probability)(random_);
  }

  void PickTuning(StepOptions& options) {
    options.lms = LmsOptions::Auto();
    options.lms.recompute.policy = static_cast<RecomputePolicy>(Pick(0, 3));
    if (Chance(0.2)) options.lms.size_threshold_bytes = Pick(0, 4096);
    if (Chance(0.4)) options.host_memory = Pick(0, *options.device_memory);
  }

  absl::StatusOr<TrainedModel> Train(const StepOptions& options) const {
    SPILLWAY_ASSIGN_OR_RETURN(
        const std::unique_ptr<Session> session,
        CreateTunedSession(
            {.graph = network_.graph, .fetches = {network_.loss}}, options));
    return TrainSession(*session, network_.graph, network_.loss,
                        {.num_classes = network_.num_classes, .steps = 2});
  }

  const uint64_t seed_;
  std::mt19937_64 random_;
  RandomNetwork network_;
};

TEST(TunedStressTest, EveryCaseRunsInsideItsBudgetOrIsToldOneThatIsEnough) {
  SetShortagePayloads(true);
  const int64_t cases = StressSetting("SPILLWAY_STRESS_CASES", NumCases(40));
  const int64_t first = StressSetting("SPILLWAY_STRESS_SEED", 1);
  int ran = 0;
  int refused = 0;
  for (int64_t i = 0; i < cases && !HasFailure(); ++i) {
    SCOPED_TRACE(::testing::Message() << "seed " << first + i);
    TunedCase(static_cast<uint64_t>(first + i)).Check(ran, refused);
  }
  SetShortagePayloads(false);
  RecordProperty("ran", ran);
  RecordProperty("refused", refused);
  if (cases < 40) return;
  EXPECT_GT(ran, cases / 4);
  EXPECT_GT(refused, cases / 10);
}

}  // namespace
}  // namespace spillway
