#include "training/rate/lr_policy.h"

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::kInvalid;
using testing::NumCases;
using testing::StatusIs;

constexpr int64_t kUpdatesPerEpoch = 10;

// 20 epochs of 10 updates.
LrContext Context() {
  return {.updates = 200, .epochs = 20, .epoch_of = [](int64_t update) {
            return update / kUpdatesPerEpoch;
          }};
}

LrSchedule Make(const LrPolicy& policy) {
  absl::StatusOr<LrSchedule> schedule = MakeLrSchedule(policy, Context());
  EXPECT_THAT(schedule, testing::IsOk());
  return schedule.ok() ? *schedule : nullptr;
}

TEST(LrPolicyTest, ConstantAndFixedNeverChange) {
  for (const LrPolicyKind kind :
       {LrPolicyKind::kConstant, LrPolicyKind::kFixed}) {
    const LrSchedule rate = Make({.kind = kind, .rate = 0.005});
    EXPECT_EQ(rate(0), 0.005);
    EXPECT_EQ(rate(1'000'000), 0.005);
  }
}

TEST(LrPolicyTest, LinearAndCosineEndWithTheTraining) {
  const LrSchedule linear = Make({.kind = LrPolicyKind::kLinear, .rate = 0.4});
  const LrSchedule cosine = Make({.kind = LrPolicyKind::kCosine, .rate = 0.4});
  for (int64_t update = 0; update <= 201; ++update) {
    EXPECT_EQ(linear(update), LinearDecay(0.4, 200)(update));
    EXPECT_EQ(cosine(update), CosineDecay(0.4, 200)(update));
  }
}

TEST(LrPolicyTest, LinearAndCosineEndAtAStatedUpdate) {
  LrPolicy policy = {.kind = LrPolicyKind::kLinear,
                     .rate = 0.5,
                     .max_update = 50,
                     .final_rate = 0.1,
                     .warmup = {.steps = 10}};
  EXPECT_DOUBLE_EQ(Make(policy)(10), 0.5);
  EXPECT_DOUBLE_EQ(Make(policy)(20), 0.4);
  EXPECT_DOUBLE_EQ(Make(policy)(50), 0.1);
  policy.kind = LrPolicyKind::kCosine;
  EXPECT_DOUBLE_EQ(Make(policy)(5), 0.25);
  EXPECT_DOUBLE_EQ(Make(policy)(30), 0.3);
  EXPECT_DOUBLE_EQ(Make(policy)(50), 0.1);
}

TEST(LrPolicyTest, StepExpInvAndSigmoidCountEpochs) {
  LrPolicy policy = {.rate = 0.8, .gamma = 0.5, .step = 3};
  policy.kind = LrPolicyKind::kStep;
  EXPECT_EQ(Make(policy)(29), 0.8);
  EXPECT_EQ(Make(policy)(30), 0.4);
  policy.kind = LrPolicyKind::kExp;
  EXPECT_EQ(Make(policy)(9), 0.8);
  EXPECT_EQ(Make(policy)(30), 0.1);
  policy.kind = LrPolicyKind::kInv;
  EXPECT_DOUBLE_EQ(Make(policy)(60), 0.8 / std::pow(4, 0.75));
  policy.kind = LrPolicyKind::kSigmoid;
  EXPECT_DOUBLE_EQ(Make(policy)(39), 0.4);
  EXPECT_DOUBLE_EQ(Make(policy)(50), 0.8 / (1 + std::exp(-1)));
}

TEST(LrPolicyTest, HasTheDefaultsOfSystemMl) {
  const LrPolicy defaults = {.kind = LrPolicyKind::kInv, .rate = 1};
  EXPECT_EQ(defaults.gamma, 0.95);
  EXPECT_EQ(defaults.step, 100'000);
  EXPECT_DOUBLE_EQ(Make(defaults)(40), std::pow(1 + 0.95 * 4, -0.75));
}

TEST(LrPolicyTest, PolyWithoutAMaximumCountsEpochs) {
  const LrSchedule rate = Make({.kind = LrPolicyKind::kPoly, .rate = 0.8});
  EXPECT_EQ(rate(0), 0.8);
  EXPECT_EQ(rate(9), 0.8);
  EXPECT_DOUBLE_EQ(rate(100), 0.8 * std::pow(0.5, 0.75));
  EXPECT_EQ(rate(200), 0);
}

TEST(LrPolicyTest, PolyWithAMaximumCountsUpdates) {
  LrPolicy policy = {
      .kind = LrPolicyKind::kPoly, .rate = 0.4, .max_update = 100};
  EXPECT_DOUBLE_EQ(Make(policy)(0), 0.4);
  EXPECT_DOUBLE_EQ(Make(policy)(25), 0.225);
  EXPECT_DOUBLE_EQ(Make(policy)(50), 0.1);
  EXPECT_DOUBLE_EQ(Make(policy)(75), 0.025);
  EXPECT_EQ(Make(policy)(100), 0);
  policy = {.kind = LrPolicyKind::kPoly,
            .rate = 3,
            .max_update = 1000,
            .warmup = {.steps = 100}};
  EXPECT_EQ(Make(policy)(0), 0);
  EXPECT_EQ(Make(policy)(50), 1.5);
  EXPECT_EQ(Make(policy)(100), 3);
  EXPECT_EQ(Make(policy)(1000), 0);
}

TEST(LrPolicyTest, MultiFactorFallsAtItsEpochs) {
  const LrSchedule rate = Make({.kind = LrPolicyKind::kMultiFactor,
                                .rate = 0.8,
                                .gamma = 0.5,
                                .step_epochs = {3, 6}});
  EXPECT_EQ(rate(29), 0.8);
  EXPECT_EQ(rate(30), 0.4);
  EXPECT_EQ(rate(60), 0.2);
}

TEST(LrPolicyTest, MultiFactorWithoutEpochsDoesNotDecay) {
  EXPECT_EQ(Make({.kind = LrPolicyKind::kMultiFactor, .rate = 0.8})(199), 0.8);
}

TEST(LrPolicyTest, PiecewiseWarmsUpToItsFirstValue) {
  const LrSchedule rate = Make({.kind = LrPolicyKind::kPiecewise,
                                .boundaries = {100},
                                .values = {0.5, 0.05},
                                .warmup = {.steps = 10, .begin = 0.25}});
  EXPECT_EQ(rate(0), 0.25);
  EXPECT_DOUBLE_EQ(rate(5), 0.375);
  EXPECT_EQ(rate(99), 0.5);
  EXPECT_EQ(rate(100), 0.05);
}

TEST(LrPolicyTest, ParsesTheNamesItWrites) {
  for (const std::string_view name :
       {"constant", "linear", "cosine", "fixed", "step", "multifactor", "exp",
        "inv", "poly", "sigmoid", "piecewise"}) {
    ASSERT_OK_AND_ASSIGN(const LrPolicyKind kind, ParseLrPolicyKind(name));
    EXPECT_EQ(LrPolicyKindName(kind), name);
  }
  EXPECT_EQ(*ParseLrPolicyKind("sigmoid"), LrPolicyKind::kSigmoid);
  EXPECT_EQ(*ParseLrPolicyKind("multifactor"), LrPolicyKind::kMultiFactor);
  EXPECT_EQ(*ParseWarmUpMode("linear"), WarmUpMode::kLinear);
  EXPECT_EQ(*ParseWarmUpMode("constant"), WarmUpMode::kConstant);
}

TEST(LrPolicyTest, ListsTheNamesItKnows) {
  EXPECT_THAT(ParseLrPolicyKind("polynomial"),
              StatusIs(kInvalid,
                       HasSubstr("'polynomial'; known: constant linear cosine "
                                 "fixed step multifactor exp inv poly sigmoid "
                                 "piecewise")));
  EXPECT_THAT(
      ParseWarmUpMode("square"),
      StatusIs(kInvalid, HasSubstr("'square'; known: linear constant")));
}

// Any policy whose numbers are legal.
class RandomPolicy {
 public:
  explicit RandomPolicy(uint64_t seed) : random_(seed) {}

  LrPolicy Draw() {
    LrPolicy policy = {.kind = static_cast<LrPolicyKind>(Int(0, 10)),
                       .rate = std::exp(Real(-20, 3)),
                       .gamma = Real(0.001, 0.999),
                       .step = Int(1, 30),
                       .step_epochs = Rising(30),
                       .boundaries = Rising(300)};
    if (Int(0, 1) == 0) policy.power = Real(0.01, 5);
    if (Int(0, 1) == 0) policy.max_update = Int(61, 400);
    policy.final_rate = policy.rate * Real(0, 1);
    policy.values.push_back(policy.rate);
    while (policy.values.size() <= policy.boundaries.size()) {
      policy.values.push_back(policy.values.back() * Real(0, 1));
    }
    if (Int(0, 1) == 0) {
      policy.warmup = {.steps = Int(0, 60),
                       .begin = policy.rate * Real(0, 1),
                       .mode = static_cast<WarmUpMode>(Int(0, 1))};
    }
    return policy;
  }

 private:
  int64_t Int(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  double Real(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random_);
  }
  std::vector<int64_t> Rising(int64_t most_gap) {
    std::vector<int64_t> items;
    int64_t last = 0;
    for (int64_t left = Int(0, 5); left > 0; --left) {
      last += Int(1, most_gap);
      items.push_back(last);
    }
    return items;
  }

  std::mt19937_64 random_;
};

class RandomLrPolicy : public ::testing::Test {
 protected:
  // Calls check(policy, schedule, update) for many of them.
  template <typename Check>
  static void ForEach(const Check& check) {
    for (int seed = 0; seed < NumCases(500); ++seed) {
      const LrPolicy policy = RandomPolicy(static_cast<uint64_t>(seed)).Draw();
      SCOPED_TRACE(
          fmt::format("seed {}, {}", seed, LrPolicyKindName(policy.kind)));
      const LrSchedule schedule = Make(policy);
      ASSERT_NE(schedule, nullptr);
      for (int64_t update = 0; update < 450; ++update) {
        check(policy, schedule, update);
      }
      check(policy, schedule, int64_t{1} << 40);
    }
  }
};

TEST_F(RandomLrPolicy, IsFiniteAndNotNegative) {
  ForEach([](const LrPolicy&, const LrSchedule& schedule, int64_t update) {
    EXPECT_TRUE(std::isfinite(schedule(update))) << update;
    EXPECT_GE(schedule(update), 0) << update;
  });
}

TEST_F(RandomLrPolicy, IsAPureFunctionOfTheUpdate) {
  ForEach(
      [](const LrPolicy& policy, const LrSchedule& schedule, int64_t update) {
        const double rate = schedule(update);
        schedule(update / 2);
        EXPECT_EQ(schedule(update), rate) << update;
        if (update % 50 == 0) {
          EXPECT_EQ(Make(policy)(update), rate) << update;
        }
      });
}

// Rises during the warm-up and falls after it. A sigmoid with a positive gamma
// is the only policy that rises. Roundings may add one part in 10^15.
TEST_F(RandomLrPolicy, IsMonotonicBeforeAndAfterTheEndOfTheWarmUp) {
  ForEach(
      [](const LrPolicy& policy, const LrSchedule& schedule, int64_t update) {
        if (update == policy.warmup.steps) return;
        const double before = schedule(update == 0 ? 0 : update - 1);
        const double rate = schedule(update);
        const bool rises = update < policy.warmup.steps ||
                           policy.kind == LrPolicyKind::kSigmoid;
        EXPECT_GE((rises ? rate - before : before - rate), -1e-15 * before)
            << update;
      });
}

TEST_F(RandomLrPolicy, IsNeverAboveTheRateOrBelowTheFinalRateOfADecay) {
  ForEach([](const LrPolicy& policy, const LrSchedule& schedule,
             int64_t update) {
    EXPECT_LE(schedule(update), policy.rate * (1 + 1e-15)) << update;
    const bool has_final_rate = policy.kind == LrPolicyKind::kLinear ||
                                policy.kind == LrPolicyKind::kCosine ||
                                policy.kind == LrPolicyKind::kPoly;
    if (has_final_rate && update >= policy.warmup.steps) {
      EXPECT_GE(schedule(update), policy.final_rate * (1 - 1e-15)) << update;
    }
  });
}

}  // namespace
}  // namespace spillway
