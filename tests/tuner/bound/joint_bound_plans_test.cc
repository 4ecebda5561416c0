// Compares the joint bound with compiled and simulated plans of real training
// steps that the policies for recomputation make, with and without swaps. Each
// plan's budget is the memory that it takes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "base/check.h"
#include "graph/standard_ops.h"
#include "graph/storage.h"
#include "lms/lms.h"
#include "lms/recompute/forward_values.h"
#include "lms/recompute/make_clones.h"
#include "lms/recompute/plan_recompute.h"
#include "tests/support/random_network.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/bound/joint_bound.h"
#include "tuner/search/tflms_sets.h"
#include "tuner/search/tune_swaps.h"

namespace spillway {
namespace {

using testing::InputsOf;
using testing::TunerCase;

// A derived clone takes this part of its original's time here.
constexpr int64_t kDerivedPart = 3;

int64_t CloneNs(const Clone& clone, const TunerCase& tuner_case) {
  const int64_t ns = tuner_case.kernel_ns[clone.original];
  return clone.derived_output < 0 ? ns : ns / kDerivedPart;
}

// For any clone of the graph. Where several storages share a node, all but one
// are free.
std::vector<int64_t> RemakeNs(const TunerCase& tuner_case,
                              const StepModel& model) {
  std::vector<int64_t> remake_ns;
  for (const Gap& gap : model.gaps) {
    const CopyOut& copy = model.copies[static_cast<size_t>(gap.copy_out)];
    if (copy.is_feed) {
      remake_ns.push_back(kCannotRemake);
      continue;
    }
    if (!copy.value.is_valid()) {
      remake_ns.push_back(0);  // several names: not known
      continue;
    }
    const Graph& graph = tuner_case.graph;
    const NodeId id = graph.value(copy.value).producer;
    const Node& node = graph.node(id);
    int64_t largest = 0;
    for (const ValueId output : node.outputs) {
      largest = std::max(largest, graph.type(output).num_bytes());
    }
    const bool can_derive = tuner_case.ops.Find(node.op)->derive != nullptr;
    const int64_t ns =
        tuner_case.kernel_ns[id] / (can_derive ? kDerivedPart : 1);
    remake_ns.push_back(copy.bytes == largest ? ns : 0);
  }
  return remake_ns;
}

// A small network with random times.
TunerCase NetworkCase(uint64_t seed) {
  const auto network = testing::MakeRandomNetwork(seed, DType::kFloat32);
  SPILLWAY_CHECK(network.ok());
  std::mt19937_64 random(seed);
  constexpr std::array<double, 4> kRates = {0.1, 0.5, 2, 8};
  TunerCase made = testing::CaseOf(network->graph, StandardOps(), 0,
                                   testing::LinkOf(kRates[random() % 4]));
  for (int64_t& ns : made.kernel_ns) ns = testing::Below(random, 40'000);
  made.options.fetches = {network->loss};
  return made;
}

// The case with the plan's clones.
TunerCase Cloned(const TunerCase& tuner_case, const RecomputePlan& plan) {
  TunerCase cloned = tuner_case;
  absl::StatusOr<Graph> graph =
      WithClones(plan, tuner_case.ops, tuner_case.graph);
  SPILLWAY_CHECK(graph.ok());
  cloned.graph = *std::move(graph);
  for (const Clone& clone : plan.clones) {
    cloned.kernel_ns.push_back(CloneNs(clone, tuner_case));
    cloned.keep.push_back(true);
  }
  return cloned;
}

// `order`: of a recipe for the graph with clones.
JointBound BoundFor(TunerCase tuner_case, const StepRecipe& order,
                    int64_t budget_bytes, bool can_swap) {
  tuner_case.schedule = KernelOrder(order, tuner_case.graph);
  const StepModel model = ModelOf(tuner_case);
  return FindJointBound({.model = model,
                         .remake_ns = RemakeNs(tuner_case, model),
                         .profile = tuner_case.profile,
                         .budget_bytes = budget_bytes,
                         .can_swap = can_swap},
                        0);
}

struct Compared {
  int plans = 0;
  int above_kernels = 0;  // the bound
};

void ComparePolicy(const TunerCase& tuner_case, const LmsOptions& options,
                   Compared& compared) {
  ASSERT_OK_AND_ASSIGN(
      const RecomputePlan plan,
      PlanRecompute(options, tuner_case.ops, tuner_case.graph));
  if (plan.clones.empty()) return;
  const TunerCase cloned = Cloned(tuner_case, plan);
  TunerInputs inputs = InputsOf(cloned, std::nullopt);
  inputs.recompute = &plan;
  ASSERT_OK_AND_ASSIGN(const StepRecipe recipe, RecipeOf(inputs, options));
  ASSERT_OK_AND_ASSIGN(const EvaluatedRecipe evaluated,
                       EvaluateByTime(inputs, recipe, 1));
  const JointBound bound =
      BoundFor(tuner_case, evaluated.recipe, evaluated.plan.device_bytes, true);
  ASSERT_TRUE(bound.is_feasible);
  EXPECT_LE(bound.step_ns, evaluated.step.step_ns);
  ++compared.plans;
  compared.above_kernels += bound.step_ns > bound.kernels_ns ? 1 : 0;
}

// Clones of random storages, without swaps; the budget is what the step needs
// if no byte is lost between buffers.
void CompareRandomClones(const TunerCase& tuner_case, std::mt19937_64& random,
                         Compared& compared) {
  const StorageMap storages = StorageMap::Of(tuner_case.graph, tuner_case.ops);
  ASSERT_OK_AND_ASSIGN(const ForwardValues values,
                       ForwardValues::Of(LmsOptions::V1(), tuner_case.ops,
                                         storages, tuner_case.graph));
  IdMap<StorageId, bool> is_remade(storages.size(), false);
  for (const StorageId id : is_remade.ids()) {
    is_remade[id] =
        values.CanRemake(id) && values.Waits(id) && random() % 2 == 0;
  }
  const RecomputePlan plan = MakeClones(values, is_remade);
  if (plan.clones.empty()) return;
  const TunerCase cloned = Cloned(tuner_case, plan);
  ASSERT_OK_AND_ASSIGN(const StepRecipe recipe,
                       RecipeOf(InputsOf(cloned, std::nullopt), LmsOptions{}));
  TunerCase ordered = cloned;
  ordered.schedule = recipe.schedule;
  const StepModel model = ModelOf(ordered);
  const JointBound bound =
      BoundFor(tuner_case, recipe, model.peak_bytes, false);
  const JointBound unbounded =
      BoundFor(tuner_case, recipe, int64_t{1} << 40, false);
  ASSERT_TRUE(bound.is_feasible);
  // Without the waits for feeds.
  EXPECT_LE(bound.step_ns - (unbounded.step_ns - bound.kernels_ns),
            model.kernels_ns);
  ++compared.plans;
  compared.above_kernels += bound.step_ns > unbounded.step_ns ? 1 : 0;
}

std::vector<LmsOptions> PoliciesFor(RecomputePolicy policy) {
  std::vector<LmsOptions> sets = {
      {},
      LmsOptions::V1({.n_tensors = 3}),
      LmsOptions::V1({.lb = 2}),
      {.mode = LmsMode::kV2,
       .v2 = {.swapout_threshold = 2, .swapin_ahead = 1, .swapin_groupby = 0}}};
  for (LmsOptions& options : sets) {
    options.size_threshold_bytes = 0;
    options.recompute.policy = policy;
  }
  return sets;
}

template <typename Compare>
void ForRandomNetworks(const Compare& compare) {
  const int64_t cases = testing::StressSetting("SPILLWAY_STRESS_CASES", 60);
  const int64_t first = testing::StressSetting("SPILLWAY_STRESS_SEED", 1);
  Compared compared;
  for (int64_t i = 0; i < cases && !::testing::Test::HasFailure(); ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    compare(NetworkCase(seed), seed, compared);
  }
  ::testing::Test::RecordProperty("plans", compared.plans);
  ::testing::Test::RecordProperty("above_kernels", compared.above_kernels);
  EXPECT_GT(compared.plans, cases);
  EXPECT_GT(compared.above_kernels, compared.plans / 4);
}

TEST(JointBoundPlansTest, NoPlanOfAPolicyIsFaster) {
  ForRandomNetworks(
      [](const TunerCase& tuner_case, uint64_t /*seed*/, Compared& compared) {
        for (const RecomputePolicy policy :
             {RecomputePolicy::kCheap, RecomputePolicy::kSqrt}) {
          for (const LmsOptions& options : PoliciesFor(policy)) {
            SCOPED_TRACE(DescribeOptions(options));
            ComparePolicy(tuner_case, options, compared);
          }
        }
      });
}

TEST(JointBoundPlansTest, NoClonesOfRandomStoragesAreFaster) {
  ForRandomNetworks(
      [](const TunerCase& tuner_case, uint64_t seed, Compared& compared) {
        std::mt19937_64 random(seed);
        for (int i = 0; i < 10; ++i) {
          CompareRandomClones(tuner_case, random, compared);
        }
      });
}

}  // namespace
}  // namespace spillway
