#include "tuner/model/step_recipe.h"

#include <random>
#include <vector>

#include "graph/order/schedule.h"
#include "graph/well_known_ops.h"
#include "lms/lms.h"
#include "tests/support/random_graph.h"
#include "tests/support/status_matchers.h"
#include "tests/tuner/found_swaps.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::ModelOf;
using testing::StatusIs;
using testing::TunerCase;

TEST(StepRecipeTest, WorkspacesOfTheStepAreThoseOfTheEditedGraph) {
  const TunerCase tuner_case = testing::RandomCase(5, 24);
  ASSERT_FALSE(tuner_case.options.workspace_bytes.empty());
  const StepModel model = ModelOf(tuner_case);
  const std::vector<size_t> gaps = testing::MovableGaps(model);
  ASSERT_FALSE(gaps.empty());
  const MovedGaps moved = testing::ChoiceOf(model, gaps, 1);
  std::mt19937_64 random(1);
  const StepRecipe recipe = testing::RecipeFor(
      tuner_case, model,
      testing::FoundFor(model, moved,
                        testing::SomeReturns(model, moved, random)));
  ASSERT_OK_AND_ASSIGN(const Graph edited,
                       ApplyRecipe(recipe, tuner_case.ops, tuner_case.graph));
  const CompileOptions options = OptionsFor(recipe, edited, tuner_case.options);
  ASSERT_EQ(options.workspace_bytes.size(), edited.num_nodes());
  EXPECT_GT(edited.num_nodes(), tuner_case.graph.num_nodes());
  for (const Node& node : edited.nodes()) {
    EXPECT_EQ(options.workspace_bytes[node.id],
              node.op == kSwapIn || node.op == kSwapOut
                  ? 0
                  : tuner_case.options.workspace_bytes[node.id]);
  }
}

TEST(StepRecipeTest, SwapsThatChangeWhatIsComputedAreRefused) {
  const TunerCase tuner_case = testing::SmallRandomCase(1, 10);
  // A swap-in without a trigger.
  StepRecipe recipe;
  for (const Node& node : tuner_case.graph.nodes()) {
    if (node.inputs.empty() || !recipe.swaps.swaps.empty()) continue;
    recipe.swaps.swaps.push_back(
        {.value = node.inputs[0], .swap_ins = {{.readers = {node.id}}}});
  }
  EXPECT_THAT(ApplyRecipe(recipe, tuner_case.ops, tuner_case.graph),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("swapin")));
}

// Aliases of a tensor whose readers all read copies do not run.
TEST(StepRecipeTest, TheOrderOfTheKernelsHasEveryNodeOfTheGraph) {
  int left_out = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Graph graph = testing::RandomTrainingGraph(
        {.seed = seed, .forward_nodes = 12, .alias_probability = 0.4});
    StepRecipe recipe;
    recipe.options = LmsOptions::V2(
        {.swapout_threshold = 1, .swapin_ahead = 1, .swapin_groupby = 0});
    ASSERT_OK_AND_ASSIGN(recipe.swaps, PlanSwaps(recipe.options, graph));
    ASSERT_OK_AND_ASSIGN(const Graph edited, ApplyRecipe(recipe, graph));
    std::vector<ValueId> fetches;  // all values without readers
    for (const ValueId value : graph.values().ids()) {
      if (graph.uses(value).empty()) fetches.push_back(value);
    }
    const auto keep = NodesToRun(graph, StandardOps(), fetches);
    ASSERT_OK_AND_ASSIGN(
        recipe.schedule,
        MakeSchedule(edited, StandardOps(),
                     NodesToRun(edited, StandardOps(), fetches)));
    for (const Node& node : graph.nodes()) {
      left_out += keep[node.id] && !recipe.schedule.contains(node.id) ? 1 : 0;
    }
    EXPECT_THAT(CheckSchedule(graph, keep, KernelOrder(recipe, graph)),
                testing::IsOk());
  }
  EXPECT_GT(left_out, 10);
}

}  // namespace
}  // namespace spillway
