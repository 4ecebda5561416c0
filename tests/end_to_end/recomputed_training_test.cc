// Training with recomputation is bitwise identical to training without: with
// each policy, with swaps on top, and with any choice of what is recomputed.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "lms/apply_swap_plan.h"
#include "lms/lms.h"
#include "lms/recompute/forward_values.h"
#include "lms/recompute/make_clones.h"
#include "tests/end_to_end/small_steps.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/random_network.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using testing::ExpectSameTraining;
using testing::IsOk;
using testing::LeastCases;
using testing::MakeRandomNetwork;
using testing::NumCases;
using testing::RandomNetwork;
using testing::SmallSteps;
using testing::StressSetting;
using testing::TrainedModel;
using testing::TrainGraph;
using testing::TrainGraphSpec;
using testing::TrainModel;
using testing::TrainModelSpec;

constexpr RecomputePolicy kPolicies[] = {RecomputePolicy::kCheap,
                                         RecomputePolicy::kSqrt};

class RecomputedZooTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RecomputedZooTest, EachPolicyKeepsEveryBit) {
  TrainModelSpec spec = {.model = GetParam(),
                         .batch_size = 2,
                         .image_size = SmallSteps().at(GetParam()).image_size,
                         .num_classes = 4,
                         .optimizer = Sgd{.learning_rate = 0.001},
                         .passes = "auto",
                         .steps = 1,
                         .threads = 1};
  ASSERT_OK_AND_ASSIGN(const TrainedModel kept, TrainModel(spec));
  for (const RecomputePolicy policy : kPolicies) {
    SCOPED_TRACE(RecomputePolicyName(policy));
    spec.lms.recompute.policy = policy;
    spec.device = policy == RecomputePolicy::kCheap ? "cpu" : "inline";
    ASSERT_OK_AND_ASSIGN(const TrainedModel run, TrainModel(spec));
    ExpectSameTraining(run, kept);
  }
}

// With a sanitizer, four of them.
std::vector<std::string> Models() {
  if (testing::kHasSanitizer) {
    return {"densenet40_k12", "googlenet", "mobilenet_v2", "resnet20"};
  }
  return testing::NetworksToRun();
}

INSTANTIATE_TEST_SUITE_P(Zoo, RecomputedZooTest, ::testing::ValuesIn(Models()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// Dropout among them: its mask is drawn again, not stored.
TEST(RecomputedTrainingTest, SwapsOnTopKeepEveryBit) {
  int64_t swapped = 0;
  for (const char* model : {"mnist_deep", "resnet20"}) {
    TrainModelSpec spec = {.model = model, .optimizer = Adam{}};
    ASSERT_OK_AND_ASSIGN(const TrainedModel kept, TrainModel(spec));
    for (const RecomputePolicy policy : kPolicies) {
      for (LmsOptions lms :
           {LmsOptions::V1(), LmsOptions::V2({.swapout_threshold = 1,
                              .swapin_ahead = 1,
                              .swapin_groupby = 0})}) {
        for (const bool check_memory : {false, true}) {
          SCOPED_TRACE(::testing::Message()
                       << model << " " << RecomputePolicyName(policy) << " "
                       << LmsModeName(lms.mode) << " " << check_memory);
          lms.recompute.policy = policy;
          spec.lms = lms;
          spec.device = check_memory ? "inline" : "cpu";
          spec.check_memory = check_memory;
          ASSERT_OK_AND_ASSIGN(const TrainedModel run, TrainModel(spec));
          ExpectSameTraining(run, kept);
          swapped += run.copies.swap_outs;
        }
      }
    }
  }
  EXPECT_GT(swapped, 0);
}

TEST(RecomputedTrainingTest, RecomputationNeedsLessMemory) {
  TrainModelSpec spec = {
      .model = "resnet20", .batch_size = 16, .steps = 1, .device = "cpu"};
  ASSERT_OK_AND_ASSIGN(const TrainedModel kept, TrainModel(spec));
  spec.lms.recompute.policy = RecomputePolicy::kCheap;
  ASSERT_OK_AND_ASSIGN(const TrainedModel cheap, TrainModel(spec));
  spec.lms.recompute.policy = RecomputePolicy::kSqrt;
  ASSERT_OK_AND_ASSIGN(const TrainedModel sqrt, TrainModel(spec));
  EXPECT_LT(cheap.memory.measured_device_bytes,
            0.85 * kept.memory.measured_device_bytes);
  EXPECT_LT(sqrt.memory.measured_device_bytes,
            0.5 * kept.memory.measured_device_bytes);
}

// The tensors that a dense block grows are kept; what is made of them is not.
TEST(RecomputedTrainingTest, GrownTensorsAreReadInTheEnd) {
  TrainModelSpec spec = {.model = "densenet40_k12",
                         .batch_size = 4,
                         .passes = "auto",
                         .steps = 1,
                         .device = "cpu"};
  ASSERT_OK_AND_ASSIGN(const TrainedModel kept, TrainModel(spec));
  spec.lms.recompute.policy = RecomputePolicy::kCheap;
  ASSERT_OK_AND_ASSIGN(const TrainedModel cheap, TrainModel(spec));
  ExpectSameTraining(cheap, kept);
  EXPECT_LT(cheap.memory.measured_device_bytes,
            0.5 * kept.memory.measured_device_bytes);
}

// Recomputes `percent` of the storages that may be.
absl::StatusOr<RecomputePlan> RandomClones(const Graph& graph, uint64_t percent,
                                           std::mt19937_64& random) {
  const StorageMap storages = StorageMap::Of(graph, StandardOps());
  SPILLWAY_ASSIGN_OR_RETURN(
      const ForwardValues values,
      ForwardValues::Of({}, StandardOps(), storages, graph));
  IdMap<StorageId, bool> is_remade(storages.size(), false);
  for (const StorageId id : is_remade.ids()) {
    const bool is_read = values.FirstReader(id).is_valid();
    is_remade[id] = values.CanRemake(id) && (!is_read || values.Waits(id)) &&
                    random() % 100 < percent;
  }
  return MakeClones(values, is_remade);
}

TEST(RecomputedTrainingTest, AnyChoiceOfClonesKeepsEveryBit) {
  const auto cases = static_cast<uint64_t>(
      StressSetting("SPILLWAY_STRESS_CASES", NumCases(40)));
  int64_t clones = 0;
  for (uint64_t seed = 1; seed <= cases && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(const RandomNetwork network, MakeRandomNetwork(seed));
    TrainGraphSpec spec = {.num_classes = network.num_classes};
    ASSERT_OK_AND_ASSIGN(const TrainedModel kept,
                         TrainGraph(network.graph, network.loss, spec));
    std::mt19937_64 random(seed);
    for (const uint64_t percent : {30, 70, 100}) {
      SCOPED_TRACE(percent);
      ASSERT_OK_AND_ASSIGN(const RecomputePlan plan,
                           RandomClones(network.graph, percent, random));
      clones += static_cast<int64_t>(plan.clones.size());
      ASSERT_OK_AND_ASSIGN(Graph edited,
                           WithClones(plan, StandardOps(), network.graph));
      spec.device = seed % 2 == 0 ? "inline" : "cpu";
      spec.check_memory = seed % 2 == 0 && percent == 70;
      ASSERT_OK_AND_ASSIGN(const TrainedModel run,
                           TrainGraph(edited, network.loss, spec));
      ExpectSameTraining(run, kept);
      const LmsOptions swaps = LmsOptions::V1();
      ASSERT_OK_AND_ASSIGN(const SwapPlan swap_plan, PlanSwaps(swaps, edited));
      ApplySwapPlan(swap_plan, edited);
      ASSERT_OK_AND_ASSIGN(const TrainedModel swapped,
                           TrainGraph(edited, network.loss, spec));
      ExpectSameTraining(swapped, kept);
    }
  }
  EXPECT_GT(clones, LeastCases(300));
}

}  // namespace
}  // namespace spillway
