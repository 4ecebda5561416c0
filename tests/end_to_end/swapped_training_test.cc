// Training with swapping is bitwise identical to training without, and every
// byte is where the plan said.
#include "tests/end_to_end/train_model.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ExpectExactMemory;
using testing::ExpectSameTraining;
using testing::IsOk;
using testing::StatusIs;
using testing::TrainedModel;
using testing::TrainModel;
using testing::TrainModelSpec;

// Everything swapped, on both devices, with every strategy, and over a slowed
// link: bitwise identical to training without swapping on the inline device.
void ExpectSwappingChangesNothing(const TrainModelSpec& spec) {
  ASSERT_OK_AND_ASSIGN(const TrainedModel kept, TrainModel(spec));
  ExpectExactMemory(kept);
  EXPECT_EQ(kept.copies.swap_outs, 0);
  for (const char* device : {"inline", "cpu"}) {
    for (const auto strategy :
         {ControlStrategy::kChainRule, ControlStrategy::kDirectOrder}) {
      for (const int64_t lb : {1, 3}) {
        for (const bool compat : {false, true}) {
          SCOPED_TRACE(::testing::Message()
                       << device << " " << ControlStrategyName(strategy)
                       << " lb " << lb << " compat " << compat);
          TrainModelSpec swapped = spec;
          swapped.device = device;
          swapped.link_gbps = std::string(device) == "cpu" ? 2.0 : 0.0;
          swapped.lms = {.mode = LmsMode::kV1,
                         .compat = compat,
                         .v1 = {.lb = lb, .ctrld_strategy = strategy}};
          ASSERT_OK_AND_ASSIGN(const TrainedModel run, TrainModel(swapped));
          ExpectSameTraining(run, kept);
          EXPECT_GT(run.swap_outs_in_graph, 0);
          EXPECT_EQ(run.copies.swap_outs, run.swap_outs_in_graph * spec.steps);
        }
      }
    }
  }
}

TEST(SwappedTrainingTest, LenetWithMomentum) {
  ExpectSwappingChangesNothing({.model = "lenet"});
}

TEST(SwappedTrainingTest, MnistDeepWithAdamAndDropout) {
  ExpectSwappingChangesNothing({.model = "mnist_deep", .optimizer = Adam{}});
}

TEST(SwappedTrainingTest, ResidualNetworkWithBatchNorm) {
  ExpectSwappingChangesNothing({.model = "resnet50",
                                .batch_size = 2,
                                .image_size = 32,
                                .optimizer = Sgd{.learning_rate = 0.001},
                                .steps = 2});
}

TEST(SwappedTrainingTest, EveryBudgetItAcceptsGivesTheSameBits) {
  TrainModelSpec spec{
      .model = "lenet", .batch_size = 64, .optimizer = Sgd{}, .steps = 2};
  ASSERT_OK_AND_ASSIGN(const TrainedModel kept, TrainModel(spec));
  spec.device = "cpu";
  spec.lms = {.mode = LmsMode::kV1};
  const int64_t most = kept.memory.predicted_device_bytes;
  int accepted = 0;
  for (int percent = 40; percent <= 110; percent += 5) {
    SCOPED_TRACE(percent);
    spec.device_memory = most / 100 * percent;
    const auto run = TrainModel(spec);
    if (!run.ok()) {
      EXPECT_THAT(run, StatusIs(absl::StatusCode::kResourceExhausted,
                                ::testing::HasSubstr("missing")));
      continue;
    }
    ++accepted;
    ExpectSameTraining(*run, kept);
    EXPECT_LE(run->memory.measured_device_bytes, *spec.device_memory);
  }
  EXPECT_GT(accepted, 3);
  EXPECT_LT(accepted, 15);
}

}  // namespace
}  // namespace spillway
