// Scaling the loss by a power of two, which is exact, gives bitwise identical
// results in float32.
#include "tests/end_to_end/train_model.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::TrainedModel;
using testing::TrainModel;
using testing::TrainModelSpec;

void ExpectScalingChangesNothing(TrainModelSpec spec) {
  spec.weight_decay = 0.01;
  spec.steps = 5;
  ASSERT_OK_AND_ASSIGN(const TrainedModel plain, TrainModel(spec));
  for (const double scale : {1024.0, 0.25}) {
    SCOPED_TRACE(scale);
    spec.loss_scale = scale;
    ASSERT_OK_AND_ASSIGN(const TrainedModel scaled, TrainModel(spec));
    EXPECT_EQ(scaled.losses, plain.losses);
    EXPECT_EQ(scaled.checksum, plain.checksum);
  }
}

TEST(LossScaleTest, Sgd) {
  ExpectScalingChangesNothing({.optimizer = Sgd{.learning_rate = 0.05}});
}

TEST(LossScaleTest, Momentum) { ExpectScalingChangesNothing({}); }

TEST(LossScaleTest, Adam) {
  ExpectScalingChangesNothing({.model = "mnist_deep", .optimizer = Adam{}});
}

TEST(LossScaleTest, RmsProp) {
  ExpectScalingChangesNothing({.optimizer = RmsProp{}});
}

TEST(LossScaleTest, Lars) {
  ExpectScalingChangesNothing({.optimizer = Lars{}});
}

TEST(LossScaleTest, AdaGrad) {
  ExpectScalingChangesNothing({.optimizer = AdaGrad{}});
}

TEST(LossScaleTest, AnotherWeightGivesAnotherTraining) {
  TrainModelSpec spec = {.loss_scale = 1024};
  ASSERT_OK_AND_ASSIGN(const TrainedModel without, TrainModel(spec));
  spec.weight_decay = 0.01;
  ASSERT_OK_AND_ASSIGN(const TrainedModel with, TrainModel(spec));
  EXPECT_NE(with.checksum, without.checksum);
}

}  // namespace
}  // namespace spillway
