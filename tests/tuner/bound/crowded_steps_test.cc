#include "tuner/bound/crowded_steps.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "tests/tuner/bound/toy_step.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ModelOf;
using testing::ToyModel;
using testing::ToyStep;

constexpr int64_t kCrowdUnit = 1024;

//   step     0 1 2 3 4 5 6
//   a        w     r     r     1 unit, 30 ns
//   b          w       r       2 units, 10 ns
//   c            w r           1 unit, cannot be remade
ToyStep CrowdToy() {
  ToyStep step = {.steps = std::vector<ToyStep::Kernel>(7, {.ns = 100})};
  step.storages = {{.bytes = kCrowdUnit, .uses = {0, 3, 6}, .remake_ns = 30},
                   {.bytes = 2 * kCrowdUnit, .uses = {1, 4}, .remake_ns = 10},
                   {.bytes = kCrowdUnit, .uses = {2, 3}}};
  return step;
}

Crowd CrowdOf(const ToyModel& toy, int64_t budget_bytes, double in_rate,
              int64_t most_gaps = 1000) {
  return FindCrowdedSteps({.model = toy.model,
                           .remake_ns = toy.remake_ns,
                           .budget_bytes = budget_bytes,
                           .in_rate = in_rate,
                           .most_gaps = most_gaps});
}

TEST(CrowdedStepsTest, DescribesTheStepsThatNeedMoreThanTheBudget) {
  const ToyModel toy = ModelOf(CrowdToy(), testing::LinkOf(1));
  // 1 3 4 4 3 1 1 units.
  const Crowd crowd = CrowdOf(toy, 3 * kCrowdUnit, 1);
  EXPECT_EQ(crowd.impossible_bytes, 0);
  EXPECT_TRUE(crowd.has_all);
  ASSERT_EQ(crowd.steps.size(), 2);
  const CrowdedStep& step = crowd.steps[0];
  EXPECT_EQ(step.step, 2);
  EXPECT_EQ(step.absent_bytes, kCrowdUnit);
  EXPECT_EQ(step.after_ns, 400);
  // b first, of which a unit counts; a was written before it.
  EXPECT_THAT(step.gaps, ElementsAre(1, 0));
  EXPECT_EQ(step.remakes[0].bytes, kCrowdUnit);
  EXPECT_EQ(step.remakes[0].ns, 10);
  EXPECT_EQ(step.remakes[1].ns, 30);
  ASSERT_EQ(step.written.size(), 2);
  EXPECT_EQ(step.written[0].written, 0);
  EXPECT_EQ(step.written[0].earlier_bytes, 0);
  EXPECT_EQ(step.written[1].written, 1);
  EXPECT_EQ(step.written[1].earlier_bytes, kCrowdUnit);
  // b is read by step 4, with 300 ns from its start; a by step 3, with 400 ns,
  // but 2048 bytes may come later.
  EXPECT_EQ(step.in_ns, 300);
  EXPECT_EQ(crowd.steps[1].step, 3);
  EXPECT_THAT(crowd.steps[1].gaps, ElementsAre(1));
}

TEST(CrowdedStepsTest, WithoutCopiesOnlyRemakesFreeBytes) {
  const ToyModel toy = ModelOf(CrowdToy(), testing::LinkOf(1));
  // At step 3 only b, 2 units, can be absent.
  EXPECT_EQ(CrowdOf(toy, 2 * kCrowdUnit, 0).impossible_bytes, 0);
  const Crowd crowd = CrowdOf(toy, kCrowdUnit, 0);
  EXPECT_EQ(crowd.impossible_step, 1);
  EXPECT_EQ(crowd.impossible_bytes, kCrowdUnit);
  EXPECT_THAT(crowd.steps[0].written, IsEmpty());
  EXPECT_TRUE(std::isinf(crowd.steps[0].in_ns));
}

TEST(CrowdedStepsTest, KeepsTheMostCrowdedStepOfABlock) {
  const ToyModel toy = ModelOf(CrowdToy(), testing::LinkOf(1));
  // Steps 1 to 4 are crowded, with 1 2 1 1 gaps: two blocks if 3 gaps are the
  // limit.
  const Crowd crowd = CrowdOf(toy, 2 * kCrowdUnit, 1, 3);
  EXPECT_FALSE(crowd.has_all);
  ASSERT_EQ(crowd.steps.size(), 2);
  EXPECT_EQ(crowd.steps[0].step, 2);
  EXPECT_EQ(crowd.steps[1].step, 3);
}

}  // namespace
}  // namespace spillway
