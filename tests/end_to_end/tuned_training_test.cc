// Runs the tuner's choices: random networks in a part of their memory, by swaps
// alone or with recomputation, with every access checked, bitwise identical to
// an unconstrained run.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "executor/kernel_registry.h"
#include "executor/plan/compile.h"
#include "executor/session/plan_programs.h"
#include "ops/all_ops.h"
#include "simulator/cost_model.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/random_network.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tuner/search/tune_swaps.h"

namespace spillway {
namespace {

using testing::ExpectExactMemory;
using testing::IsOk;
using testing::LeastCases;
using testing::NumCases;
using testing::RandomNetwork;
using testing::TrainedModel;

constexpr uint64_t kSeed = 5;  // of variables and dropout

// A link so slow that copies stall compute.
DeviceProfile SlowLink() {
  const LinkDirection link = {.latency_ns = 2'000,
                              .bytes_per_second = 2e9,
                              .shared_bytes_per_second = 2e9};
  return {.to_host = link,
          .to_device = link,
          .memory_bytes_per_second = 50e9,
          .flops_per_second = {{DType::kFloat32, 50e9}},
          .kernel_ns = 1'000};
}

// A network as the tuner's input.
class Tunable {
 public:
  explicit Tunable(RandomNetwork network)
      : network_(std::move(network)),
        profile_(SlowLink()),
        kernel_ns_(
            EstimateKernelTimes(network_.graph, StandardOps(), profile_)) {}

  absl::Status Prepare() {
    const Graph& graph = network_.graph;
    compile_.fetches = {network_.loss};
    keep_ = NodesToRun(graph, StandardOps(), compile_.fetches);
    SPILLWAY_ASSIGN_OR_RETURN(
        const KernelMap kernels,
        PrepareKernels(graph, StandardOps(), StandardKernels(), keep_, {}));
    compile_.workspace_bytes = WorkspaceBytes(graph, kernels);
    SPILLWAY_ASSIGN_OR_RETURN(const Schedule schedule,
                              MakeSchedule(graph, StandardOps(), keep_));
    AddResidents(graph, StandardOps(), schedule, "", compile_.residents);
    return AddDerivedKernels();
  }

  // `recomputes`: tensors may be recomputed too.
  absl::StatusOr<TunedStep> TuneWithin(std::optional<int64_t> budget_bytes,
                                       bool recomputes) {
    TunerInputs inputs = {.graph = network_.graph,
                          .ops = StandardOps(),
                          .keep = keep_,
                          .compile = compile_,
                          .kernel_ns = kernel_ns_,
                          .profile = profile_,
                          .choices = recomputes ? &choices_ : nullptr};
    inputs.compile.device_budget_bytes = budget_bytes;
    return TuneSwaps(inputs, {});
  }

  // A session that runs the chosen plan.
  absl::StatusOr<std::unique_ptr<Session>> NewSession(
      const EvaluatedRecipe& chosen, const std::string& device_name) const {
    SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                              NewDevice(device_name, {.threads = 1}));
    const SessionOptions options = {.ops = &StandardOps(),
                                    .kernels = &StandardKernels(),
                                    .threads = 1,
                                    .seed = kSeed,
                                    .check_memory = true};
    std::vector<Program> programs;
    programs.push_back({.graph = chosen.graph, .fetches = compile_.fetches});
    SPILLWAY_ASSIGN_OR_RETURN(
        PlannedPrograms planned,
        PlanPrograms(std::move(programs), device->kind(), options));
    planned.programs[0].plan = chosen.plan;
    planned.device_bytes = chosen.plan.device_bytes;
    planned.host_bytes = chosen.plan.host_bytes;
    for (Resident& resident : planned.residents) {
      resident.offset = compile_.residents.offsets.at(resident.name);
    }
    return CreateSession(std::move(planned), std::move(device), options);
  }

  const RandomNetwork& network() const { return network_; }

 private:
  absl::Status AddDerivedKernels() {
    const DerivedNodes derived = AddDerivedNodes(network_.graph, StandardOps());
    const IdMap<NodeId, int64_t> ns =
        EstimateKernelTimes(derived.graph, StandardOps(), profile_);
    const IdMap<NodeId, bool> all(derived.graph.num_nodes(), true);
    SPILLWAY_ASSIGN_OR_RETURN(const KernelMap kernels,
                              PrepareKernels(derived.graph, StandardOps(),
                                             StandardKernels(), all, {}));
    const IdMap<NodeId, int64_t> workspaces =
        WorkspaceBytes(derived.graph, kernels);
    choices_.derived.resize(network_.graph.num_values());
    for (const ValueId value : choices_.derived.ids()) {
      const NodeId node = derived.node_of[value];
      if (!node.is_valid()) continue;
      choices_.derived[value] = {.ns = ns[node],
                                 .workspace_bytes = workspaces[node]};
    }
    return absl::OkStatus();
  }

  const RandomNetwork network_;
  const DeviceProfile profile_;
  const IdMap<NodeId, int64_t> kernel_ns_;
  IdMap<NodeId, bool> keep_;
  CompileOptions compile_;
  RecomputeChoices choices_;
};

struct RunSpec {
  int64_t budget_bytes = 0;
  bool recomputes = false;
  std::string device = {};
};

// By what a plan fits its budget.
struct Counts {
  int64_t plans = 0;
  int64_t clones = 0;
};

// Runs the plan that is chosen, if any fits.
void RunsTheSame(Tunable& tunable, const TrainedModel& free,
                 const RunSpec& spec, Counts& counts) {
  const absl::StatusOr<TunedStep> tuned =
      tunable.TuneWithin(spec.budget_bytes, spec.recomputes);
  if (!tuned.ok()) {
    EXPECT_TRUE(absl::IsResourceExhausted(tuned.status())) << tuned.status();
    return;
  }
  const auto clones =
      static_cast<int64_t>(tuned->chosen.recipe.recompute.clones.size());
  ++counts.plans;
  counts.clones += clones;
  const auto session = tunable.NewSession(tuned->chosen, spec.device);
  EXPECT_THAT(session, IsOk());
  if (!session.ok()) return;
  const auto run = testing::TrainSession(
      **session, tuned->chosen.graph, tunable.network().loss,
      {.num_classes = tunable.network().num_classes, .steps = 2});
  EXPECT_THAT(run, IsOk());
  if (!run.ok()) return;
  EXPECT_EQ(run->losses, free.losses);
  EXPECT_EQ(run->checksum, free.checksum);
  EXPECT_LE(run->memory.measured_device_bytes, spec.budget_bytes);
  ExpectExactMemory(*run);
  EXPECT_EQ(run->copies.swap_outs + run->copies.fed_again + clones > 0,
            tuned->is_necessary);
}

TEST(TunedTrainingTest, RandomNetworksTrainInsideTheirBudgetToTheSameBits) {
  Counts swapping;
  Counts recomputing;
  for (uint64_t seed = 1; seed <= NumCases(24) && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(RandomNetwork network,
                         testing::MakeRandomNetwork(seed));
    ASSERT_OK_AND_ASSIGN(
        const TrainedModel free,
        testing::TrainGraph(
            network.graph, network.loss,
            {.num_classes = network.num_classes, .steps = 2, .threads = 1}));
    Tunable tunable(std::move(network));
    ASSERT_THAT(tunable.Prepare(), IsOk());
    const int64_t peak = free.memory.measured_device_bytes;
    for (const int64_t percent : {90, 75, 60}) {
      SCOPED_TRACE(::testing::Message() << percent << " %");
      const std::string device = seed % 2 == 0 ? "cpu" : "inline";
      const int64_t budget = peak * percent / 100;
      RunsTheSame(tunable, free, {budget, false, device}, swapping);
      RunsTheSame(tunable, free, {budget, true, device}, recomputing);
    }
  }
  EXPECT_GT(swapping.plans, LeastCases(20));
  EXPECT_EQ(swapping.clones, 0);
  EXPECT_GE(recomputing.plans, swapping.plans);
  EXPECT_GE(recomputing.clones, LeastCases(20));
}

}  // namespace
}  // namespace spillway
