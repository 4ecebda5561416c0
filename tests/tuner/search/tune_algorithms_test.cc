#include "tuner/search/tune_algorithms.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "executor/plan/verify_plan.h"
#include "simulator/cost_model.h"
#include "simulator/node_signature.h"
#include "tests/executor/plan/plan_cases.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/support/toy_ops.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using testing::Below;
using testing::BudgetBetween;
using testing::CaseOf;
using testing::ChainGraph;
using ::testing::HasSubstr;
using testing::InputsOf;
using testing::IsOk;
using testing::LinkOf;
using testing::ModelOf;
using testing::NumCases;
using testing::StatusIs;
using testing::ToyOps;
using testing::TrainingCase;
using testing::TunerCase;

constexpr int64_t kChosenBytes = 1024;

KnownAlgorithms KnownOf(const TunerCase& tuner_case) {
  return FindAlgorithms(tuner_case.graph,
                        ListedAlgorithms(tuner_case.graph.num_nodes()),
                        tuner_case.profile);
}

// f1 f2 f3 f4 b4 b3 b2 b1, which need 1 2 3 4 5 5 4 3 units. Kernels take 10
// us, except b4: 10 us with a workspace of one unit, 15 us without.
class ChainTest : public ::testing::Test {
 protected:
  ChainTest()
      : chain_(CaseOf(ChainGraph(4, kChosenBytes, false), ToyOps(), 10'000,
                      LinkOf(0.5))) {
    for (const Node& node : chain_.graph.nodes()) {
      chain_.profile.kernels[NodeSignature(chain_.graph, node)] = 10'000;
    }
  }

  void AddChoice(std::string_view node) {
    const NodeId id = *chain_.graph.FindNode(node);
    known_[id] = {
        {.name = "large", .workspace_bytes = kChosenBytes, .ns = 10'000},
        {.name = "small", .workspace_bytes = 0, .ns = 15'000}};
    auto& measured =
        chain_.profile
            .algorithms[NodeSignature(chain_.graph, chain_.graph.node(id))];
    measured["large"] = {kChosenBytes, 10'000};
    measured["small"] = {0, 15'000};
  }

  TunerCase chain_;
  KnownAlgorithms known_ = KnownAlgorithms(chain_.graph.num_nodes());
};

TEST_F(ChainTest, WithoutAChoiceItIsTheTuner) {
  ASSERT_OK_AND_ASSIGN(const TunedStep plain,
                       TuneSwaps(InputsOf(chain_, 4 * kChosenBytes), {}));
  ASSERT_OK_AND_ASSIGN(
      const TunedStep tuned,
      TuneAlgorithms(InputsOf(chain_, 4 * kChosenBytes), known_, {}));
  EXPECT_EQ(tuned.chosen.recipe.name, plain.chosen.recipe.name);
  EXPECT_EQ(tuned.chosen.step.step_ns, plain.chosen.step.step_ns);
  EXPECT_TRUE(tuned.chosen.recipe.algorithms.empty());
}

TEST_F(ChainTest, TheFastestIsTakenWhereItFits) {
  AddChoice("b4");
  ASSERT_OK_AND_ASSIGN(
      const TunedStep tuned,
      TuneAlgorithms(InputsOf(chain_, 6 * kChosenBytes), known_, {}));
  EXPECT_FALSE(tuned.is_necessary);
  EXPECT_EQ(tuned.chosen.step.step_ns, 80'000);
  EXPECT_EQ(tuned.chosen.plan.device_bytes, 6 * kChosenBytes);
  EXPECT_EQ(
      AlgorithmOf(tuned.chosen.recipe.algorithms, *chain_.graph.FindNode("b4")),
      "large");
}

TEST_F(ChainTest, ASmallerWorkspaceIsTakenWhereSwapsWouldCostMore) {
  AddChoice("b4");
  // At b4 a unit has to leave for the workspace. It takes 2 us in each
  // direction, which other kernels hide.
  ASSERT_OK_AND_ASSIGN(
      const TunedStep swapped,
      TuneAlgorithms(InputsOf(chain_, 5 * kChosenBytes), known_, {}));
  EXPECT_TRUE(swapped.is_necessary);
  EXPECT_EQ(swapped.chosen.step.step_ns, 80'000);
  // Now it takes 205 us in each direction, so 5 us more at b4 are cheaper.
  chain_.profile.to_host.bytes_per_second /= 100;
  chain_.profile.to_host.shared_bytes_per_second /= 100;
  chain_.profile.to_device.bytes_per_second /= 100;
  chain_.profile.to_device.shared_bytes_per_second /= 100;
  ASSERT_OK_AND_ASSIGN(
      const TunedStep smaller,
      TuneAlgorithms(InputsOf(chain_, 5 * kChosenBytes), known_, {}));
  EXPECT_EQ(AlgorithmOf(smaller.chosen.recipe.algorithms,
                        *chain_.graph.FindNode("b4")),
            "small");
  EXPECT_TRUE(smaller.chosen.recipe.swaps.swaps.empty());
  EXPECT_LE(smaller.bound.step_ns, smaller.chosen.step.step_ns);
}

TEST_F(ChainTest, WithoutTimesASmallerWorkspaceIsForWhatDoesNotFitElse) {
  const NodeId b4 = *chain_.graph.FindNode("b4");
  known_[b4] = {{.name = "guess", .workspace_bytes = 3 * kChosenBytes},
                {.name = "small", .workspace_bytes = 0}};
  const auto chosen = [&](int64_t budget) {
    TunerInputs inputs = InputsOf(chain_, budget);
    inputs.compile.workspace_bytes.resize(chain_.graph.num_nodes(), 0);
    inputs.compile.workspace_bytes[b4] = 3 * kChosenBytes;
    const absl::StatusOr<TunedStep> tuned = TuneAlgorithms(inputs, known_, {});
    EXPECT_THAT(tuned, IsOk());
    return std::string(AlgorithmOf(tuned->chosen.recipe.algorithms, b4));
  };
  EXPECT_EQ(chosen(8 * kChosenBytes), "");
  // The simulator knows the cost of swaps; the cost of "small" is unknown.
  EXPECT_EQ(chosen(6 * kChosenBytes), "");
  EXPECT_EQ(chosen(4 * kChosenBytes), "small");
}

TEST_F(ChainTest, WhatFitsNoHowSaysTheLeast) {
  AddChoice("b4");
  EXPECT_THAT(TuneAlgorithms(InputsOf(chain_, 2 * kChosenBytes), known_, {}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("nothing that was tried fits")));
}

// Random networks in which some kinds of kernel have several algorithms.
struct Choices {
  TunerCase made = {};
  KnownAlgorithms known = {};
};

Choices RandomChoices(uint64_t seed) {
  std::mt19937_64 random(seed);
  Choices choices = {.made = TrainingCase(seed, 8)};
  TunerCase& made = choices.made;
  made.profile.flops_per_second[DType::kFloat32] = 1e10;
  made.profile.memory_bytes_per_second = 1e9;
  const int64_t peak = ModelOf(made).peak_bytes;
  for (const Node& node : made.graph.nodes()) {
    const std::string signature = NodeSignature(made.graph, node);
    const int64_t ns = made.kernel_ns[node.id];
    if (ns == 0 || Below(random, 3) > 0) continue;
    auto& measured = made.profile.algorithms[signature];
    measured["a"] = {Below(random, peak / 2), ns};
    measured["b"] = {Below(random, peak / 4), ns + Below(random, 2 * ns + 1)};
    measured["c"] = {0, 2 * ns + Below(random, 2 * ns + 1)};
  }
  choices.known = KnownOf(made);
  return choices;
}

// With the same algorithms for all nodes in every step.
absl::StatusOr<TunedStep> TuneWith(const Choices& choices, int64_t budget,
                                   const AlgorithmNames& names) {
  const TunerCase& made = choices.made;
  TunerInputs inputs = InputsOf(made, budget);
  inputs.compile.workspace_bytes.resize(made.graph.num_nodes(), 0);
  SetWorkspaces(choices.known, names, inputs.compile.workspace_bytes);
  const IdMap<NodeId, int64_t> kernel_ns =
      EstimateKernelTimes(made.graph, made.ops, made.profile, names);
  return TuneSwaps({.graph = made.graph,
                    .ops = made.ops,
                    .keep = made.keep,
                    .compile = inputs.compile,
                    .kernel_ns = kernel_ns,
                    .profile = made.profile},
                   {});
}

class RandomTuneAlgorithmsTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomTuneAlgorithmsTest, NoSlowerThanAnyOneLimitAndAboveTheBound) {
  const Choices choices = RandomChoices(GetParam());
  const TunerCase& made = choices.made;
  const int64_t peak = ModelOf(made).peak_bytes;
  for (int i = 0; i < 3; ++i) {
    const int64_t budget = BudgetBetween(peak / 2, peak + peak / 4, i, 3);
    SCOPED_TRACE(::testing::Message()
                 << "seed " << GetParam() << ", budget " << budget);
    const absl::StatusOr<TunedStep> tuned =
        TuneAlgorithms(InputsOf(made, budget), choices.known, {});
    for (const LimitedChoice& choice : LimitedChoices(choices.known)) {
      const absl::StatusOr<TunedStep> fixed =
          TuneWith(choices, budget, choice.names);
      if (!fixed.ok()) continue;
      ASSERT_THAT(tuned, IsOk());
      EXPECT_LE(tuned->chosen.step.step_ns, fixed->chosen.step.step_ns);
      EXPECT_LE(BoundOfAny(InputsOf(made, budget), choices.known,
                           fixed->chosen.recipe)
                    .step_ns,
                fixed->chosen.step.step_ns);
    }
    if (!tuned.ok()) continue;
    EXPECT_LE(tuned->chosen.plan.device_bytes, budget);
    EXPECT_LE(tuned->bound.step_ns, tuned->chosen.step.step_ns);
    EXPECT_THAT(VerifyPlan(tuned->chosen.plan, tuned->chosen.graph, made.ops),
                IsOk());
    // The plan has the workspaces of the algorithms that the recipe names.
    IdMap<NodeId, int64_t> bytes(made.graph.num_nodes());
    SetWorkspaces(choices.known, tuned->chosen.recipe.algorithms, bytes);
    for (const Step& step : tuned->chosen.plan.steps) {
      if (!step.workspace.is_valid()) continue;
      EXPECT_EQ(tuned->chosen.plan.buffers[step.workspace].bytes,
                bytes[step.node]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTuneAlgorithmsTest,
                         ::testing::Range<uint64_t>(0, NumCases(8)));

}  // namespace
}  // namespace spillway
