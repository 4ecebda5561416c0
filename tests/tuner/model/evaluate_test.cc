#include "tuner/model/evaluate.h"

#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/executor/plan/naive_plan.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/support/toy_ops.h"
#include "tests/tuner/found_swaps.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using testing::BudgetBetween;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::InputsOf;
using testing::IsOk;
using testing::LeastCases;
using testing::ModelOf;
using testing::NaiveLeastBytes;
using testing::NumCases;
using testing::PlanText;
using testing::StatusIs;
using testing::TunerCase;

// Evaluates a recipe of random swaps in both ways.
class RandomRecipe {
 public:
  explicit RandomRecipe(uint64_t seed)
      : random_(seed),
        case_(testing::SmallRandomCase(seed, 22)),
        model_(ModelOf(case_)) {}

  void Check(int& fitting, int& faster) {
    const MovedGaps moved = testing::ChoiceOf(
        model_, testing::MovableGaps(model_), random_() | random_());
    const StepRecipe recipe = testing::RecipeFor(
        case_, model_,
        testing::FoundFor(model_, moved,
                          testing::SomeReturns(model_, moved, random_)));
    const TunerInputs inputs = InputsOf(
        case_, BudgetBetween(NaiveLeastBytes(model_), model_.peak_bytes,
                             static_cast<int>(random_() % 4), 4));
    const auto once = Evaluate(inputs, recipe);
    const auto by_time = EvaluateByTime(inputs, recipe, 2);
    if (!once.ok()) {
      EXPECT_THAT(once, StatusIs(absl::StatusCode::kResourceExhausted,
                                 HasSubstr("device memory")));
      return;
    }
    ASSERT_THAT(by_time, IsOk());  // begins with Evaluate
    EXPECT_LE(by_time->step.step_ns, once->step.step_ns);
    ++fitting;
    faster += by_time->step.step_ns < once->step.step_ns ? 1 : 0;
    ExpectSound(inputs, *once);
    ExpectSound(inputs, *by_time);
    ASSERT_OK_AND_ASSIGN(const EvaluatedRecipe again,
                         EvaluateByTime(inputs, recipe, 2));
    EXPECT_EQ(PlanText(again.plan), PlanText(by_time->plan));
    EXPECT_EQ(again.recipe.placement.index, by_time->recipe.placement.index);
  }

 private:
  void ExpectSound(const TunerInputs& inputs,
                   const EvaluatedRecipe& evaluated) const {
    EXPECT_LE(evaluated.plan.device_bytes, *inputs.compile.device_budget_bytes);
    EXPECT_EQ(testing::NaiveFault(evaluated.plan, evaluated.graph, inputs.ops),
              "");
    // The recipe is complete: it gives the same plan and the same time.
    ASSERT_OK_AND_ASSIGN(
        const Graph edited,
        ApplyRecipe(evaluated.recipe, inputs.ops, inputs.graph));
    const CompileOptions options =
        OptionsFor(evaluated.recipe, edited, inputs.compile);
    ASSERT_OK_AND_ASSIGN(
        const ExecutionPlan again,
        CompilePlan(edited, inputs.ops, evaluated.recipe.schedule, options));
    EXPECT_EQ(PlanText(again), PlanText(evaluated.plan));
    IdMap<NodeId, int64_t> kernel_ns = inputs.kernel_ns;
    kernel_ns.resize(edited.num_nodes(), 0);
    EXPECT_EQ(SimulateStep(again, edited, kernel_ns, inputs.profile).step_ns,
              evaluated.step.step_ns);
  }

  std::mt19937_64 random_;
  const TunerCase case_;
  const StepModel model_;
};

TEST(EvaluateTest, RandomRecipesKeepTheirBudgetAndCanBeMadeAgain) {
  int fitting = 0;
  int faster = 0;
  for (uint64_t seed = 0; seed < NumCases(250) && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RandomRecipe(seed).Check(fitting, faster);
  }
  EXPECT_GT(fitting, LeastCases(80));
  EXPECT_GT(faster, fitting / 10);
}

// As labels that are fed, reshaped, and read only by the loss.
TEST(EvaluateTest, AnAliasWhoseReadersAllReadTheCopyDoesNotRun) {
  Graph graph("late labels");
  const TensorType type{.dtype = DType::kUInt8, .shape = {1000}};
  const auto add = [&](const char* name, const char* op,
                       std::vector<ValueId> inputs) {
    return graph.output(graph.AddNode({.name = name,
                                       .op = op,
                                       .inputs = std::move(inputs),
                                       .outputs = {type}}));
  };
  const ValueId labels = add("labels", "F", {});
  const ValueId alias = add("alias", "Alias", {labels});
  const ValueId a = add("a", "F", {});
  const ValueId b = add("b", "F", {a});
  const ValueId loss = add("loss", "F", {b, alias});
  TunerCase tuner_case = testing::CaseOf(std::move(graph), testing::ToyOps(),
                                         10, testing::LinkOf(1));
  tuner_case.options.fetches = {loss};
  const StepModel model = ModelOf(tuner_case);
  ASSERT_EQ(model.gaps.size(), 1u);
  const auto evaluated =
      Evaluate(InputsOf(tuner_case, std::nullopt),
               testing::RecipeFor(tuner_case, model,
                                  testing::FoundFor(model, {1}, {3})));
  ASSERT_THAT(evaluated, IsOk());
  std::vector<std::string> names;
  for (const NodeId id : evaluated->recipe.schedule.order) {
    names.push_back(evaluated->graph.node(id).name);
  }
  EXPECT_THAT(names,
              ElementsAre("labels", "lms/swapout_labels_0", "a", "b",
                          "lms/swapin_labels_0", "lms/alias_alias", "loss"));
}

}  // namespace
}  // namespace spillway
