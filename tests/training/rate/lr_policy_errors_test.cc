#include <limits>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"
#include "training/rate/lr_policy.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::kInvalid;
using testing::StatusIs;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Refused {
  std::string name;
  LrPolicy policy = {};
  std::string error = {};
};

class BadLrPolicy : public ::testing::TestWithParam<Refused> {};

TEST_P(BadLrPolicy, IsRefusedWithItsReason) {
  const LrContext context = {
      .updates = 200, .epochs = 20, .epoch_of = [](int64_t update) {
        return update / 10;
      }};
  EXPECT_THAT(MakeLrSchedule(GetParam().policy, context),
              StatusIs(kInvalid, HasSubstr(GetParam().error)));
}

std::string NameOf(const ::testing::TestParamInfo<Refused>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Rates, BadLrPolicy,
    ::testing::Values(
        Refused{"NegativeRate",
                {.rate = -0.1},
                "learning-rate policy constant: rate is -0.1; it must be 0 or "
                "more and finite"},
        Refused{"InfiniteRate", {.rate = kInfinity}, "rate is inf; it must"},
        Refused{"NanRate", {.rate = kNan}, "rate is nan; it must"},
        Refused{"NanGamma", {.gamma = kNan}, "gamma is nan; it must be finite"},
        Refused{"InfinitePower", {.power = kInfinity}, "power is inf; it must"},
        Refused{"NegativeFinalRate",
                {.final_rate = -1},
                "final_rate is -1; it must be 0 or more"},
        Refused{"NanFinalRate", {.final_rate = kNan}, "final_rate is nan"},
        Refused{"NanValue", {.values = {kNan}}, "values[0] is nan; it must"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    WarmUps, BadLrPolicy,
    ::testing::Values(
        Refused{"NegativeSteps",
                {.warmup = {.steps = -1}},
                "warmup.steps is -1; it must be 0 or more"},
        Refused{"NegativeBegin",
                {.warmup = {.begin = -0.1}},
                "warmup.begin is -0.1; it must be 0 or more and finite"},
        Refused{"NanBegin", {.warmup = {.begin = kNan}}, "begin is nan"},
        Refused{"BeginAboveTheRate",
                {.rate = 0.1, .warmup = {.steps = 5, .begin = 0.2}},
                "warmup.begin is 0.2; it must be at most the rate, 0.1"},
        Refused{"BeginAboveTheFirstValue",
                {.kind = LrPolicyKind::kPiecewise,
                 .rate = 1,
                 .values = {0.1},
                 .warmup = {.steps = 5, .begin = 0.2}},
                "warmup.begin is 0.2; it must be at most the rate, 0.1"},
        Refused{"AsLongAsPoly",
                {.kind = LrPolicyKind::kPoly,
                 .max_update = 50,
                 .warmup = {.steps = 50}},
                "warmup.steps is 50; it must be less than max_update, 50"},
        Refused{"AsLongAsTheTraining",
                {.kind = LrPolicyKind::kLinear, .warmup = {.steps = 200}},
                "must be less than the updates of the training, 200"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Kinds, BadLrPolicy,
    ::testing::Values(
        Refused{"StepOfNoEpochs",
                {.kind = LrPolicyKind::kStep, .step = 0},
                "learning-rate policy step: step is 0; it must be 1 or more"},
        Refused{"StepThatRises",
                {.kind = LrPolicyKind::kStep, .gamma = 1.5},
                "gamma is 1.5; it must be more than 0 and at most 1"},
        Refused{"ExpThatRises",
                {.kind = LrPolicyKind::kExp, .gamma = 1.01},
                "gamma is 1.01; it must be more than 0 and at most 1"},
        Refused{"ExpOfANegativeFactor",
                {.kind = LrPolicyKind::kExp, .gamma = -0.5},
                "gamma is -0.5; it must be more than 0"},
        Refused{"InvOfANegativeGamma",
                {.kind = LrPolicyKind::kInv, .gamma = -0.5},
                "gamma is -0.5; it must be 0 or more and finite"},
        Refused{"InvOfPowerZero",
                {.kind = LrPolicyKind::kInv, .power = 0},
                "power is 0; it must be more than 0"},
        Refused{"SigmoidOfANegativeStep",
                {.kind = LrPolicyKind::kSigmoid, .step = -3},
                "step is -3; it must be 0 or more"},
        Refused{"PolyOfANegativePower",
                {.kind = LrPolicyKind::kPoly, .power = -0.5},
                "power is -0.5; it must be more than 0"},
        Refused{"PolyUntilNoUpdate",
                {.kind = LrPolicyKind::kPoly, .max_update = 0},
                "max_update is 0; it must be 1 or more"},
        Refused{"PolyWithAFactorThatDoesNotDecay",
                {.kind = LrPolicyKind::kPoly, .gamma = 1, .max_update = 100},
                "gamma is 1; it must be less than 1"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Lists, BadLrPolicy,
    ::testing::Values(
        Refused{"UnsortedStepEpochs",
                {.kind = LrPolicyKind::kMultiFactor, .step_epochs = {60, 30}},
                "step_epochs[1] is 30; it must be 61 or more, since each is "
                "larger than the one before"},
        Refused{"RepeatedStepEpochs",
                {.kind = LrPolicyKind::kMultiFactor, .step_epochs = {30, 30}},
                "step_epochs[1] is 30; it must be 31 or more"},
        Refused{"StepAtEpochZero",
                {.kind = LrPolicyKind::kMultiFactor, .step_epochs = {0, 30}},
                "step_epochs[0] is 0; it must be 1 or more"},
        Refused{"MultiFactorThatRises",
                {.kind = LrPolicyKind::kMultiFactor, .gamma = 10},
                "gamma is 10; it must be more than 0 and at most 1"},
        Refused{"UnsortedBoundaries",
                {.kind = LrPolicyKind::kPiecewise,
                 .boundaries = {9, 5},
                 .values = {3, 2, 1}},
                "boundaries[1] is 5; it must be 10 or more"},
        Refused{"NegativeBoundary",
                {.kind = LrPolicyKind::kPiecewise,
                 .boundaries = {-5},
                 .values = {2, 1}},
                "boundaries[0] is -5; it must be 1 or more"},
        Refused{"TooFewValues",
                {.kind = LrPolicyKind::kPiecewise,
                 .boundaries = {5, 9},
                 .values = {3, 2}},
                "values has 2 items and boundaries has 2; there must be one "
                "more value"},
        Refused{"NoValues",
                {.kind = LrPolicyKind::kPiecewise},
                "values has 0 items and boundaries has 0"},
        Refused{"NegativeValue",
                {.kind = LrPolicyKind::kPiecewise, .values = {-1}},
                "values[0] is -1; it must be 0 or more"}),
    NameOf);

TEST(LrPolicyContext, MustHaveWhatThePolicyNeeds) {
  EXPECT_THAT(MakeLrSchedule({.kind = LrPolicyKind::kExp}, {}),
              StatusIs(kInvalid, HasSubstr("epoch_of")));
  EXPECT_THAT(
      MakeLrSchedule({.kind = LrPolicyKind::kPoly},
                     {.epoch_of = [](int64_t) { return 0; }}),
      StatusIs(kInvalid, HasSubstr("epochs of the training is 0; it must be")));
  EXPECT_THAT(MakeLrSchedule({.kind = LrPolicyKind::kCosine}, {}),
              StatusIs(kInvalid, HasSubstr("updates of the training is 0")));
  EXPECT_THAT(
      MakeLrSchedule({.kind = LrPolicyKind::kLinear, .max_update = 5}, {}),
      testing::IsOk());
  EXPECT_THAT(MakeLrSchedule({}, {}), testing::IsOk());
}

}  // namespace
}  // namespace spillway
