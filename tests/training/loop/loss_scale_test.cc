#include "training/loop/loss_scale.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

TEST(LossScaleTest, DoublesAtTheThousandAndFirstGoodUpdate) {
  LossScaleState state = {.scale = 128};
  for (int i = 0; i < 1000; ++i) {
    ASSERT_THAT(AdvanceLossScale(true, state), IsOk());
    ASSERT_EQ(state.scale, 128) << i;
  }
  ASSERT_THAT(AdvanceLossScale(true, state), IsOk());
  EXPECT_EQ(state, (LossScaleState{.scale = 256}));
}

TEST(LossScaleTest, HalvesAndCountsAnew) {
  LossScaleState state = {.scale = 128, .good = 999};
  ASSERT_THAT(AdvanceLossScale(false, state), IsOk());
  EXPECT_EQ(state, (LossScaleState{.scale = 64, .skipped = 1}));
  ASSERT_THAT(AdvanceLossScale(true, state), IsOk());
  EXPECT_EQ(state, (LossScaleState{.scale = 64, .good = 1}));
}

TEST(LossScaleTest, StaysWithinItsLimits) {
  LossScaleState state = {.scale = kMostLossScale, .good = 1000};
  ASSERT_THAT(AdvanceLossScale(true, state), IsOk());
  EXPECT_EQ(state.scale, kMostLossScale);
  state = {.scale = 1};
  ASSERT_THAT(AdvanceLossScale(false, state), IsOk());
  EXPECT_EQ(state.scale, 1);
}

TEST(LossScaleTest, GivesUpAfterTwentySkippedUpdates) {
  LossScaleState state = {.scale = 8};
  for (int i = 0; i < 19; ++i) {
    ASSERT_THAT(AdvanceLossScale(false, state), IsOk());
  }
  EXPECT_THAT(AdvanceLossScale(false, state),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("20 updates in a row")));
}

TEST(LossScaleTest, StatesThatNoTrainingHasAreRefused) {
  EXPECT_THAT(CheckLossScaleState({}), IsOk());
  for (const LossScaleState& state :
       {LossScaleState{.scale = 3}, LossScaleState{.scale = 0.5},
        LossScaleState{.scale = 2 * kMostLossScale}, LossScaleState{.good = -1},
        LossScaleState{.skipped = 20}}) {
    EXPECT_THAT(CheckLossScaleState(state),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("is not possible")));
  }
}

}  // namespace
}  // namespace spillway
