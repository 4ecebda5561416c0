// Budgets are hard limits: random networks, LMS options and budgets. Each case
// runs inside its budgets, bitwise identical to an unconstrained run, or is
// refused with correct numbers.
//
// SPILLWAY_STRESS_CASES sets the number of cases, SPILLWAY_STRESS_SEED the seed
// of the first one.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

#include "base/units.h"
#include "executor/kernel_registry.h"
#include "executor/plan/choose_schedule.h"
#include "executor/plan/compile.h"
#include "lms/lms.h"
#include "ops/all_ops.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/random_network.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using testing::ExpectExactMemory;
using testing::ExpectSameTraining;
using testing::ExpectWithinBudgets;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::RandomNetwork;
using testing::StatusIs;
using testing::TrainedModel;
using testing::TrainGraph;
using testing::TrainGraphSpec;

class Case {
 public:
  explicit Case(uint64_t seed) : seed_(seed), random_(seed) {}

  // Increments `ran` or `refused`.
  void Check(int& ran, int& refused) {
    ASSERT_OK_AND_ASSIGN(const RandomNetwork network,
                         testing::MakeRandomNetwork(seed_));
    ASSERT_OK_AND_ASSIGN(const TrainedModel free,
                         TrainGraph(network.graph, network.loss,
                                    {.num_classes = network.num_classes,
                                     .steps = 2,
                                     .threads = 1,
                                     .schedule = ScheduleKind::kCreation}));
    ExpectExactMemory(free);
    Graph edited = network.graph;
    const LmsOptions lms = PickLms();
    ASSERT_OK_AND_ASSIGN(const LmsReport report, ApplyLms(lms, edited));
    TrainGraphSpec spec = PickSpec(network);
    PickBudgets(edited, network.loss, spec);
    SCOPED_TRACE(::testing::Message()
                 << LmsModeName(lms.mode) << ", " << report.swap_outs
                 << " swap-outs, " << spec.device
                 << (spec.check_memory ? " checked" : "") << ", device memory "
                 << *spec.device_memory << " of " << smallest_device_
                 << ", host memory " << spec.host_memory.value_or(-1) << " of "
                 << smallest_host_);
    const auto run = TrainGraph(edited, network.loss, spec);
    if (!Fits(spec)) {
      ++refused;
      ExpectRefused(run.status(), spec);
      return;
    }
    ++ran;
    ASSERT_THAT(run.status(), IsOk());
    ExpectSameTraining(*run, free);
    ExpectWithinBudgets(*run, *spec.device_memory, spec.host_memory);
  }

 private:
  int64_t Pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  bool Chance(double probability) {
    return std::bernoulli_distribution(probability)(random_);
  }

  LmsOptions PickLms() {
    LmsOptions options = {
        .mode = static_cast<LmsMode>(Pick(0, 2)),
        .size_threshold_bytes = Chance(0.3) ? Pick(0, 4096) : 0,
        .compat = Chance(0.2)};
    if (options.mode == LmsMode::kV1) {
      options.v1.n_tensors = Chance(0.3) ? Pick(1, 20) : -1;
      options.v1.lb = Pick(0, 5);
      options.v1.ub = Chance(0.3) ? options.v1.lb + Pick(2, 10) : 10000;
      options.v1.ctrld_strategy = Chance(0.4) ? ControlStrategy::kDirectOrder
                                              : ControlStrategy::kChainRule;
      options.v1.fuse_swapins = Chance(0.3);
      options.v1.swap_branches = Chance(0.3);
      options.v1.branch_threshold = Pick(0, 3);
    } else if (options.mode == LmsMode::kV2) {
      options.v2.swapout_threshold = Pick(1, 12);
      options.v2.swapin_ahead = Pick(1, 6);
      options.v2.swapin_groupby = Pick(0, 4);
      options.v2.sync_mode = Pick(0, 3);
    }
    return options;
  }

  TrainGraphSpec PickSpec(const RandomNetwork& network) {
    return {
        .num_classes = network.num_classes,
        .steps = 2,
        .device = Chance(0.5) ? "cpu" : "inline",
        .threads = 1,
        .schedule = Chance(0.2) ? ScheduleKind::kCreation : ScheduleKind::kAuto,
        .check_memory = Chance(0.3)};
  }

  // The device budget first: the host's requirement may depend on it.
  void PickBudgets(const Graph& graph, ValueId loss, TrainGraphSpec& spec) {
    const OpRegistry& ops = StandardOps();
    CompileOptions options = {.fetches = {loss}};
    const IdMap<NodeId, bool> keep = NodesToRun(graph, ops, options.fetches);
    ASSERT_OK_AND_ASSIGN(const KernelMap kernels,
                         PrepareKernels(graph, ops, StandardKernels(), keep,
                                        {.threads = spec.threads}));
    options.workspace_bytes = WorkspaceBytes(graph, kernels);
    ASSERT_OK_AND_ASSIGN(const Schedule creation,
                         MakeSchedule(graph, ops, keep));
    AddResidents(graph, ops, creation, "", options.residents);
    ASSERT_OK_AND_ASSIGN(
        const Schedule schedule,
        ChooseSchedule(graph, ops, keep,
                       spec.schedule == ScheduleKind::kAuto
                           ? ScheduleKind::kMemory  // a budget will be set
                           : spec.schedule,
                       options));
    smallest_device_ = SmallestDeviceBudget(graph, ops, schedule, options);
    spec.device_memory = std::max<int64_t>(PickBudget(smallest_device_), 1);
    if (*spec.device_memory < smallest_device_ || Chance(0.6)) return;
    options.device_budget_bytes = spec.device_memory;
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan,
                         CompilePlan(graph, ops, schedule, options));
    smallest_host_ = plan.host_bytes;
    spec.host_memory = PickBudget(smallest_host_);
  }

  // Close to the requirement, often exactly there or a byte below.
  int64_t PickBudget(int64_t smallest) {
    switch (Pick(0, 4)) {
      case 0:
        return smallest;
      case 1:
        return std::max<int64_t>(smallest - 1, 0);
      case 2:
        return Pick(smallest / 2, smallest);
      default:
        return Pick(smallest, 2 * smallest);
    }
  }

  bool Fits(const TrainGraphSpec& spec) const {
    return *spec.device_memory >= smallest_device_ &&
           spec.host_memory.value_or(smallest_host_) >= smallest_host_;
  }

  void ExpectRefused(const absl::Status& status,
                     const TrainGraphSpec& spec) const {
    if (*spec.device_memory >= smallest_device_) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                   HasSubstr("host swap pool exhausted: need " +
                                             FormatBytes(smallest_host_))));
      return;
    }
    EXPECT_THAT(
        status,
        StatusIs(absl::StatusCode::kResourceExhausted,
                 AllOf(HasSubstr(
                           FormatBytes(smallest_device_ - *spec.device_memory) +
                           " missing"),
                       HasSubstr("the smallest budget with these options is " +
                                 std::to_string(smallest_device_) + " bytes"),
                       HasSubstr("the floor"))));
  }

  const uint64_t seed_;
  std::mt19937_64 random_;
  int64_t smallest_device_ = 0;
  int64_t smallest_host_ = 0;
};

TEST(BudgetStressTest, EveryCaseRunsInsideItsBudgetOrIsRefusedWithAReason) {
  const int64_t cases = testing::StressSetting("SPILLWAY_STRESS_CASES", 100);
  const int64_t first = testing::StressSetting("SPILLWAY_STRESS_SEED", 1);
  int ran = 0;
  int refused = 0;
  for (int64_t i = 0; i < cases && !HasFailure(); ++i) {
    SCOPED_TRACE(::testing::Message() << "seed " << first + i);
    Case(static_cast<uint64_t>(first + i)).Check(ran, refused);
  }
  RecordProperty("ran", ran);
  RecordProperty("refused", refused);
  if (cases < 50) return;
  EXPECT_GT(ran, cases / 3);
  EXPECT_GT(refused, cases / 10);
}

}  // namespace
}  // namespace spillway
