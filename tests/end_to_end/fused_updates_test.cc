// Training with updates fused into few nodes is bitwise identical to training
// without that, swapped or not.
#include "tests/end_to_end/train_model.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ExpectExactMemory;
using testing::TrainedModel;
using testing::TrainModel;
using testing::TrainModelSpec;

void ExpectMergingChangesNothing(TrainModelSpec spec) {
  ASSERT_OK_AND_ASSIGN(const TrainedModel apart, TrainModel(spec));
  spec.passes = "fuse_updates";
  spec.device = "cpu";
  for (const LmsMode mode : {LmsMode::kOff, LmsMode::kV1, LmsMode::kV2}) {
    SCOPED_TRACE(static_cast<int>(mode));
    spec.lms = {
        .mode = mode,
        .v2 = {.swapout_threshold = 1, .swapin_ahead = 2, .swapin_groupby = 0}};
    ASSERT_OK_AND_ASSIGN(const TrainedModel merged, TrainModel(spec));
    EXPECT_LT(merged.updates_in_graph, apart.updates_in_graph);
    EXPECT_EQ(merged.swap_outs_in_graph > 0, mode != LmsMode::kOff);
    EXPECT_EQ(merged.losses, apart.losses);
    EXPECT_EQ(merged.checksum, apart.checksum);
    ExpectExactMemory(merged);
  }
}

TEST(FusedUpdatesTrainingTest, LenetWithMomentum) {
  ExpectMergingChangesNothing({.model = "lenet", .weight_decay = 0.01});
}

TEST(FusedUpdatesTrainingTest, MnistDeepWithAdamAndDropout) {
  ExpectMergingChangesNothing({.model = "mnist_deep", .optimizer = Adam{}});
}

// Weights by one rule and all other variables by another.
TEST(FusedUpdatesTrainingTest, MnistDeepWithLars) {
  ExpectMergingChangesNothing(
      {.model = "mnist_deep", .optimizer = Lars{}, .weight_decay = 0.01});
}

TEST(FusedUpdatesTrainingTest, MnistDeepWithAdamW) {
  ExpectMergingChangesNothing({.model = "mnist_deep", .optimizer = AdamW{}});
}

TEST(FusedUpdatesTrainingTest, ResidualNetworkWithRmsProp) {
  ExpectMergingChangesNothing({.model = "resnet50",
                               .batch_size = 2,
                               .image_size = 32,
                               .optimizer = RmsProp{},
                               .steps = 2});
}

}  // namespace
}  // namespace spillway
