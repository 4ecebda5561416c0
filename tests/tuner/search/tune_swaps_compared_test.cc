// Compares the tuner with itself at other budgets, and with TFLMS's options, of
// which it tries a few.
//
// SPILLWAY_STRESS_CASES sets the number of random cases, SPILLWAY_STRESS_SEED
// the seed of the first one; SPILLWAY_STRESS_REPORT prints each exception.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/search/tflms_sets.h"
#include "tuner/search/tune_swaps.h"

namespace spillway {
namespace {

using testing::BudgetBetween;
using testing::InputsOf;
using testing::ModelOf;
using testing::NaiveLeastBytes;
using testing::TrainingCase;
using testing::TunerCase;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Counts how often, and by how much, a step was slower than a step that should
// not be faster.
struct Slower {
  int compared = 0;
  int slower = 0;
  double worst = 1;

  void Compare(const std::string& what, int64_t step_ns, int64_t other_ns) {
    if (other_ns == kNever) return;
    ++compared;
    if (step_ns <= other_ns) return;
    ++slower;
    const double ratio =
        static_cast<double>(step_ns) / static_cast<double>(other_ns);
    worst = std::max(worst, ratio);
    if (std::getenv("SPILLWAY_STRESS_REPORT") == nullptr) return;
    fmt::print("{}: {} ns, not {} ns: {:.4f}\n", what,
               step_ns == kNever ? -1 : step_ns, other_ns, ratio);
  }

  void Record() const {
    ::testing::Test::RecordProperty("compared", compared);
    ::testing::Test::RecordProperty("slower", slower);
    ::testing::Test::RecordProperty("worst", fmt::format("{:.4f}", worst));
  }
};

int64_t TunedNs(const TunerInputs& inputs) {
  const absl::StatusOr<TunedStep> tuned = TuneSwaps(inputs, {});
  return tuned.ok() ? tuned->chosen.step.step_ns : kNever;
}

// Budgets from the least that any swaps need to the peak.
void CompareBudgets(const std::string& name, const TunerCase& tuner_case,
                    int budgets, Slower& slower) {
  const StepModel model = ModelOf(tuner_case);
  int64_t smaller_budget_ns = kNever;
  for (int i = 0; i < budgets; ++i) {
    const int64_t budget =
        BudgetBetween(NaiveLeastBytes(model), model.peak_bytes, i, budgets);
    const int64_t step_ns = TunedNs(InputsOf(tuner_case, budget));
    slower.Compare(
        fmt::format("{}, budget {} ({} of {})", name, budget, i, budgets),
        step_ns, smaller_budget_ns);
    smaller_budget_ns = std::min(smaller_budget_ns, step_ns);
  }
}

std::vector<LmsOptions> Grid() {
  std::vector<LmsOptions> grid;
  for (const int64_t lb : {1, 2, 3, 4}) {
    for (const ControlStrategy strategy :
         {ControlStrategy::kChainRule, ControlStrategy::kDirectOrder}) {
      for (const bool fuse : {false, true}) {
        for (const bool branches : {false, true}) {
          grid.push_back({.mode = LmsMode::kV1,
                          .v1 = {.lb = lb,
                                 .ctrld_strategy = strategy,
                                 .fuse_swapins = fuse,
                                 .swap_branches = branches}});
        }
      }
    }
  }
  for (const int64_t threshold : {1, 2, 4, 8, 16}) {
    for (const int64_t ahead : {1, 2, 4, 8}) {
      for (const int64_t groupby : {0, 2, 8}) {
        for (const int64_t sync_mode : {0, 3}) {
          grid.push_back({.mode = LmsMode::kV2,
                          .v2 = {.swapout_threshold = threshold,
                                 .swapin_ahead = ahead,
                                 .swapin_groupby = groupby,
                                 .sync_mode = sync_mode}});
        }
      }
    }
  }
  return grid;
}

void CompareWithGrid(const std::string& name, const TunerCase& tuner_case,
                     int budgets, Slower& slower) {
  const StepModel model = ModelOf(tuner_case);
  for (int i = 1; i < budgets; ++i) {
    const int64_t budget =
        BudgetBetween(NaiveLeastBytes(model), model.peak_bytes, i, budgets + 1);
    const TunerInputs inputs = InputsOf(tuner_case, budget);
    int64_t best_ns = kNever;
    std::string best;
    for (const LmsOptions& options : Grid()) {
      const absl::StatusOr<StepRecipe> recipe = RecipeOf(inputs, options);
      if (!recipe.ok()) continue;
      const absl::StatusOr<EvaluatedRecipe> evaluated =
          Evaluate(inputs, *recipe);
      if (!evaluated.ok() || evaluated->step.step_ns >= best_ns) continue;
      best_ns = evaluated->step.step_ns;
      best = recipe->name;
    }
    slower.Compare(fmt::format("{}, budget {}, against {}", name, budget, best),
                   TunedNs(inputs), best_ns);
  }
}

void ForEachRandomCase(
    int64_t standard,
    const std::function<void(const std::string&, const TunerCase&)>& compare) {
  const int64_t cases =
      testing::StressSetting("SPILLWAY_STRESS_CASES", standard);
  const int64_t first = testing::StressSetting("SPILLWAY_STRESS_SEED", 1);
  for (int64_t seed = first; seed < first + cases; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const int nodes = static_cast<int>(8 + seed % 12);
    compare(fmt::format("TrainingCase({}, {})", seed, nodes),
            TrainingCase(static_cast<uint64_t>(seed), nodes));
  }
}

// In 40 random cases: slower at 6 of 440 budgets, by at most 0.72 %.
TEST(TuneSwapsComparedTest, MoreMemoryIsHardlyEverSlower) {
  Slower slower;
  ForEachRandomCase(8, [&](const std::string& name, const TunerCase& made) {
    CompareBudgets(name, made, 12, slower);
  });
  slower.Record();
  EXPECT_LE(slower.slower, slower.compared / 20);
  EXPECT_LT(slower.worst, 1.01);
}

TEST(TuneSwapsComparedTest, NoSetOfTflmsIsFaster) {
  Slower slower;
  ForEachRandomCase(5, [&](const std::string& name, const TunerCase& made) {
    CompareWithGrid(name, made, 4, slower);
  });
  slower.Record();
  EXPECT_GT(slower.compared, 8);
  EXPECT_EQ(slower.slower, 0);
}

// SPILLWAY_STRESS adds larger networks: googlenet is slower at one budget, by
// 0.2 %.
TEST(TuneSwapsComparedTest, NetworksAreTunedAsWell) {
  const bool all = std::getenv("SPILLWAY_STRESS") != nullptr;
  Slower budgets;
  Slower grid;
  for (const double gbps : {2.0, 12.0}) {
    const auto compare = [&](const char* model, int64_t image_size,
                             int num_budgets) {
      const std::string name = fmt::format("{} at {} GB/s", model, gbps);
      const TunerCase made = testing::ZooCase(model, image_size, 32, gbps);
      CompareBudgets(name, made, num_budgets, budgets);
      if (num_budgets <= 4) CompareWithGrid(name, made, num_budgets - 1, grid);
    };
    compare("lenet", 28, 4);
    if (!all) continue;
    compare("resnet20", 16, 4);
    compare("resnet20", 16, 12);
    compare("googlenet", 32, 8);
  }
  EXPECT_GT(budgets.compared, 3);
  EXPECT_LT(budgets.worst, 1.005);
  EXPECT_GT(grid.compared, 3);
  EXPECT_EQ(grid.slower, 0);
}

}  // namespace
}  // namespace spillway
