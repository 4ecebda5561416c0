// Compares the bound with all possible plans: every choice of tensors of small
// random steps, with copies back at many positions and buffers placed in
// several ways, compiled, verified and simulated.
//
// SPILLWAY_STRESS_CASES sets the number of cases, SPILLWAY_STRESS_SEED the seed
// of the first one.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lms/lms.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/support/toy_ops.h"
#include "tests/tuner/found_swaps.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/bound/lower_bound.h"
#include "tuner/search/tflms_sets.h"
#include "tuner/search/tune_swaps.h"

namespace spillway {
namespace {

using testing::BudgetBetween;
using testing::InputsOf;
using testing::IsOk;
using testing::ModelOf;
using testing::MovableGaps;
using testing::NaiveLeastBytes;
using testing::StatusIs;
using testing::TrainingCase;
using testing::TunerCase;

// The fastest plan of a step within a budget, over all choices of gaps.
class EveryChoice {
 public:
  EveryChoice(const TunerCase& tuner_case, const StepModel& model,
              int64_t budget_bytes, std::mt19937_64& random)
      : case_(tuner_case),
        model_(model),
        inputs_(InputsOf(tuner_case, budget_bytes)),
        random_(random) {}

  // nullopt if no plan was found.
  std::optional<int64_t> FastestNs() {
    const std::vector<size_t> gaps = MovableGaps(model_);
    constexpr uint64_t kMostChoices = 32;
    const bool all = gaps.size() <= 5;
    const uint64_t choices = all ? uint64_t{1} << gaps.size() : kMostChoices;
    for (uint64_t choice = 0; choice < choices; ++choice) {
      const MovedGaps moved =
          testing::ChoiceOf(model_, gaps, all ? choice : random_());
      TryReturns(moved, Earliest(moved));
      TryReturns(moved, Latest(moved));
      TryReturns(moved, testing::SomeReturns(model_, moved, random_));
    }
    return fastest_ns_;
  }

 private:
  std::vector<int32_t> Earliest(const MovedGaps& moved) const {
    std::vector<int32_t> back_after(moved.size(), -1);
    for (size_t i = 0; i < moved.size(); ++i) {
      if (moved[i] != 0) back_after[i] = model_.gaps[i].last + 1;
    }
    return back_after;
  }

  std::vector<int32_t> Latest(const MovedGaps& moved) const {
    std::vector<int32_t> back_after(moved.size(), -1);
    for (size_t i = 0; i < moved.size(); ++i) {
      if (moved[i] != 0) back_after[i] = model_.gaps[i].next - 1;
    }
    return back_after;
  }

  void TryReturns(const MovedGaps& moved, std::vector<int32_t> back_after) {
    const StepRecipe recipe = testing::RecipeFor(
        case_, model_, testing::FoundFor(model_, moved, std::move(back_after)));
    Look(Evaluate(inputs_, recipe));
    Look(EvaluateByTime(inputs_, recipe, 1));
  }

  void Look(const absl::StatusOr<EvaluatedRecipe>& evaluated) {
    if (absl::IsResourceExhausted(evaluated.status())) return;
    ASSERT_THAT(evaluated, IsOk());
    EXPECT_LE(evaluated->plan.device_bytes,
              *inputs_.compile.device_budget_bytes);
    const int64_t step_ns = evaluated->step.step_ns;
    if (!fastest_ns_ || step_ns < *fastest_ns_) fastest_ns_ = step_ns;
  }

  const TunerCase& case_;
  const StepModel& model_;
  const TunerInputs inputs_;
  std::mt19937_64& random_;
  std::optional<int64_t> fastest_ns_;
};

struct Counts {
  int fitting = 0;
  int waiting = 0;        // of the fitting cases: the bound exceeds the kernels
  int tight = 0;          // of the fitting cases: reached within 1 %
  int tight_waiting = 0;  // both
};

void CompareWithEveryChoice(const TunerCase& tuner_case, uint64_t seed,
                            Counts& counts) {
  const StepModel model = ModelOf(tuner_case);
  const int64_t least = NaiveLeastBytes(model);
  if (least == model.peak_bytes) return;
  std::mt19937_64 random(seed);
  const int64_t no_budget_ns =
      LowerBound(model, tuner_case.profile, model.peak_bytes).step_ns;
  constexpr int kBudgets = 3;
  for (int i = 0; i < kBudgets; ++i) {
    const int64_t budget = BudgetBetween(least, model.peak_bytes, i, kBudgets) -
                           (i > 0 ? testing::Below(random, 300) : 0);
    SCOPED_TRACE(::testing::Message() << "budget " << budget);
    const int64_t bound_ns =
        LowerBound(model, tuner_case.profile, budget).step_ns;
    const std::optional<int64_t> fastest_ns =
        EveryChoice(tuner_case, model, budget, random).FastestNs();
    if (!fastest_ns) continue;
    EXPECT_GE(*fastest_ns, bound_ns);
    const bool is_waiting = bound_ns > no_budget_ns;
    const bool is_tight = static_cast<double>(*fastest_ns) <=
                          1.01 * static_cast<double>(bound_ns);
    ++counts.fitting;
    counts.waiting += is_waiting ? 1 : 0;
    counts.tight += is_tight ? 1 : 0;
    counts.tight_waiting += is_waiting && is_tight ? 1 : 0;
  }
}

void Record(const Counts& counts) {
  ::testing::Test::RecordProperty("fitting", counts.fitting);
  ::testing::Test::RecordProperty("waiting", counts.waiting);
  ::testing::Test::RecordProperty("tight", counts.tight);
  ::testing::Test::RecordProperty("tight_waiting", counts.tight_waiting);
}

TEST(LowerBoundRandomTest, NoChoiceOfTensorsAndPlacesIsFaster) {
  const int64_t cases = testing::StressSetting("SPILLWAY_STRESS_CASES", 150);
  const int64_t first = testing::StressSetting("SPILLWAY_STRESS_SEED", 1);
  Counts counts;
  for (int64_t i = 0; i < cases && !HasFailure(); ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    CompareWithEveryChoice(
        testing::SmallRandomCase(seed, static_cast<int>(6 + seed % 4)), seed,
        counts);
  }
  Record(counts);
  if (cases < 100) return;
  // If the bound were too low, no plan would reach it.
  EXPECT_GT(counts.fitting, cases / 2);
  EXPECT_GT(counts.waiting, counts.fitting / 3);
  EXPECT_GT(counts.tight_waiting, counts.waiting / 12);
}

// v comes back only for p, which overwrites it, and again for s: only then are
// v and p never on the device together, and g can stay.
//
//   v g a b p q r s      v: read by g, p and s; g: read by a and r
TEST(LowerBoundRandomTest, ATensorMayComeBackOnlyToBeOverwritten) {
  Graph graph("overwritten");
  const auto add = [&](const char* name, const char* op,
                       std::vector<ValueId> inputs, int64_t bytes) {
    return graph.output(graph.AddNode(
        {.name = name,
         .op = op,
         .inputs = std::move(inputs),
         .outputs = {{.dtype = DType::kUInt8, .shape = {bytes}}}}));
  };
  const ValueId v = add("v", "F", {}, 1024);
  const ValueId g = add("g", "F", {v}, 1024);
  const ValueId a = add("a", "F", {g}, 256);
  const ValueId b = add("b", "F", {a}, 256);
  const ValueId p = add("p", "InPlace", {v}, 1024);
  const ValueId q = add("q", "F", {p, b}, 256);
  const ValueId r = add("r", "F", {q, g}, 256);
  add("s", "F", {r, v}, 256);
  TunerCase tuner_case = testing::CaseOf(std::move(graph), testing::ToyOps(),
                                         10, testing::LinkOf(1));
  tuner_case.profile.to_device = testing::LinkOf(1024).to_device;
  tuner_case.kernel_ns[NodeId(1)] = 10'000;
  tuner_case.kernel_ns[NodeId(6)] = 2'000;
  const StepModel model = ModelOf(tuner_case);
  ASSERT_EQ(model.peak_bytes, 3 * 1024 + 512);
  std::mt19937_64 random(1);
  const std::optional<int64_t> fastest_ns =
      EveryChoice(tuner_case, model, 3 * 1024, random).FastestNs();
  ASSERT_TRUE(fastest_ns.has_value());
  EXPECT_GE(*fastest_ns,
            LowerBound(model, tuner_case.profile, 3 * 1024).step_ns);
  EXPECT_LE(*fastest_ns, model.kernels_ns + 2);
}

TEST(LowerBoundRandomTest, NoSetOfTflmsIsFaster) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const TunerCase tuner_case = TrainingCase(seed, 7);
    const StepModel model = ModelOf(tuner_case);
    for (int i = 0; i < 4; ++i) {
      const int64_t budget =
          BudgetBetween(NaiveLeastBytes(model), model.peak_bytes, i, 5);
      SCOPED_TRACE(::testing::Message()
                   << "seed " << seed << ", budget " << budget);
      const TunerInputs inputs = InputsOf(tuner_case, budget);
      std::vector<LmsOptions> sets;
      for (const int64_t n : {1, 2, 4}) {
        sets.push_back({.mode = LmsMode::kV1, .v1 = {.lb = n}});
        sets.push_back({.mode = LmsMode::kV1,
                        .v1 = {.lb = n,
                               .ctrld_strategy = ControlStrategy::kDirectOrder,
                               .swap_branches = true}});
        sets.push_back({.mode = LmsMode::kV2,
                        .v2 = {.swapout_threshold = n,
                               .swapin_ahead = n,
                               .swapin_groupby = 0}});
        sets.push_back({.mode = LmsMode::kV2,
                        .v2 = {.swapout_threshold = n,
                               .swapin_ahead = 1,
                               .swapin_groupby = n,
                               .sync_mode = 3}});
      }
      for (const LmsOptions& options : sets) {
        ASSERT_OK_AND_ASSIGN(const StepRecipe recipe,
                             RecipeOf(inputs, options));
        const auto evaluated = EvaluateByTime(inputs, recipe, 1);
        if (!evaluated.ok()) {
          EXPECT_THAT(evaluated,
                      StatusIs(absl::StatusCode::kResourceExhausted,
                               ::testing::HasSubstr("device memory")));
          continue;
        }
        ++compared;
        EXPECT_GE(evaluated->step.step_ns, BoundOf(inputs, recipe).step_ns)
            << DescribeOptions(options);
      }
    }
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace spillway
