// A graph, its budget and its steps, as in a C++ program of a user.
#include "tuner/tuned_session.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "graph/builder/builder.h"
#include "models/layers/layers.h"
#include "simulator/shipped_profiles.h"
#include "tests/support/paths.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "training/optimizer.h"
#include "tuner/max_batch.h"
#include "tuner/simulate.h"
#include "tuner/tune.h"

namespace spillway {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

using testing::kExhausted;
using testing::kHasSanitizer;
using testing::kInvalid;
constexpr int64_t kBatch = 64;

struct Net {
  Graph graph;
  Tensor images;
  Tensor labels;
  Tensor loss;
};

absl::StatusOr<Net> BuildNet(bool is_training, int64_t batch = kBatch) {
  GraphBuilder g(is_training ? "training" : "evaluation");
  Net net;
  net.images = g.Placeholder("images", DType::kFloat32, {batch, 28, 28, 1});
  net.labels = g.Placeholder("labels", DType::kInt32, {batch});
  Tensor x = Conv2D(
      g.Scope("conv1"), net.images,
      {.filters = 32, .kernel = {5, 5}, .activation = Activation::kRelu});
  x = MaxPool(g.Scope("pool1"), x, {.window = {2, 2}, .strides = {2, 2}});
  const Tensor logits =
      Dense(g.Scope("fc"), Flatten(g.Scope("flat"), x), {.units = 10});
  net.loss = SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, net.labels);
  if (is_training) {
    Minimize(g.Scope("optimizer"), net.loss, Momentum{.learning_rate = 0.01});
  }
  SPILLWAY_ASSIGN_OR_RETURN(net.graph, std::move(g).Build());
  return net;
}

// Deterministic.
struct Data {
  std::vector<float> images = std::vector<float>(kBatch * 28 * 28);
  std::vector<int32_t> labels = std::vector<int32_t>(kBatch);

  Data() {
    for (size_t i = 0; i < images.size(); ++i) {
      images[i] = static_cast<float>(i * 7919 % 256) / 256;
    }
    for (size_t i = 0; i < labels.size(); ++i) {
      labels[i] = static_cast<int32_t>(i % 10);
    }
  }
};

StepOptions OnCpu(std::optional<int64_t> device_memory = {}) {
  return {.device = "cpu",
          .threads = 1,
          .device_memory = device_memory,
          .algorithms = AlgorithmChoice::kFirst,
          .profile = "p100_pcie"};
}

// Device memory of the training step without swaps.
int64_t UnswappedBytes(const Net& net) {
  StepOptions options = OnCpu();
  options.lms = {.mode = LmsMode::kOff};
  options.schedule = ScheduleKind::kMemory;
  const auto predicted =
      Simulate({.graph = net.graph, .fetches = {net.loss}}, options);
  EXPECT_THAT(predicted, IsOk());
  return predicted.ok() ? predicted->smallest_device_bytes : 0;
}

TEST(TunedSessionTest, TrainsWithinTheBudgetBitwiseAsWithoutOne) {
  ASSERT_OK_AND_ASSIGN(const Net net, BuildNet(true));
  const int64_t budget = UnswappedBytes(net) * 9 / 10;
  const Data data;
  std::vector<std::string> checksums;
  for (const StepOptions& options : {OnCpu(), OnCpu(budget)}) {
    ASSERT_OK_AND_ASSIGN(
        const std::unique_ptr<Session> session,
        CreateTunedSession({.graph = net.graph, .fetches = {net.loss}},
                           options));
    for (int step = 0; step < 3; ++step) {
      ASSERT_OK_AND_ASSIGN(const StepResult result,
                           session->Step({{net.images, data.images},
                                          {net.labels, data.labels}}));
      EXPECT_THAT(result.scalar(net.loss), IsOk());
    }
    if (options.device_memory) {
      const MemoryUse memory = session->memory();
      EXPECT_LE(memory.measured_device_bytes, budget);
      EXPECT_EQ(memory.measured_device_bytes, memory.predicted_device_bytes);
      EXPECT_GT(session->copies(0)->swap_outs, 0);
    }
    ASSERT_OK_AND_ASSIGN(const auto variables, session->ReadVariables());
    checksums.push_back(Checksum(variables));
  }
  EXPECT_EQ(checksums[0], checksums[1]);
}

TEST(TunedSessionTest, TheProgramThatNeedsTheMemoryIsTuned) {
  ASSERT_OK_AND_ASSIGN(const Net training, BuildNet(true));
  ASSERT_OK_AND_ASSIGN(const Net evaluation, BuildNet(false));
  const std::vector<Program> programs = {
      {.graph = evaluation.graph, .fetches = {evaluation.loss}},
      {.graph = training.graph, .fetches = {training.loss}}};
  StepOptions options = OnCpu(UnswappedBytes(training) * 95 / 100);
  options.own_variables = {"optimizer"};  // here the evaluation comes first
  std::vector<std::string> lines;
  options.log = [&](std::string_view line) { lines.emplace_back(line); };
  ASSERT_OK_AND_ASSIGN(TunedPrograms tuned, TunePrograms(programs, options));
  EXPECT_EQ(tuned.critical, 1u);
  EXPECT_LT(tuned.unswapped_bytes[0], tuned.unswapped_bytes[1]);
  EXPECT_EQ(tuned.steps[0].edit.swap_tensors, 0);
  EXPECT_GT(tuned.steps[1].edit.swap_tensors, 0);
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines[0], HasSubstr("program 1 (training) needs the most"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                       OpenSession(std::move(tuned)));
  EXPECT_LE(session->memory().predicted_device_bytes, *options.device_memory);
  const Data data;
  for (const int program : {0, 1, 0}) {
    const Net& net = program == 0 ? evaluation : training;
    ASSERT_OK_AND_ASSIGN(const StepResult step,
                         session->Step(program, {{net.images, data.images},
                                                 {net.labels, data.labels}}));
    EXPECT_THAT(step.scalar(net.loss), IsOk());
  }
}

TEST(TunedSessionTest, ASavedPlanMakesTheSameSession) {
  ASSERT_OK_AND_ASSIGN(const Net net, BuildNet(true));
  const Program program = {.graph = net.graph, .fetches = {net.loss}};
  const StepOptions options = OnCpu(UnswappedBytes(net) * 9 / 10);
  ASSERT_OK_AND_ASSIGN(const TuneResult tuned, Tune(program, options));
  const std::string path = ::testing::TempDir() + "/tuned_session_plan.json";
  ASSERT_THAT(SavePlan(tuned, net.graph, path), IsOk());
  ASSERT_OK_AND_ASSIGN(const SavedPlan plan, LoadPlan(path, net.graph));
  StepOptions as_planned = OnCpu();
  as_planned.plan = &plan;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                       CreateTunedSession(program, as_planned));
  EXPECT_EQ(session->memory().predicted_device_bytes,
            tuned.step.chosen.plan.device_bytes);
  EXPECT_EQ(session->plan(0)->steps.size(),
            tuned.step.chosen.plan.steps.size());
}

// Another library version may need more scratch than the version with which the
// plan was made: the whole budget applies, not the smaller budget of a
// candidate.
TEST(TunedSessionTest, APlanMadeOnARungMayTakeTheWholeBudget) {
  ASSERT_OK_AND_ASSIGN(const Net net, BuildNet(true));
  const Program program = {.graph = net.graph, .fetches = {net.loss}};
  const int64_t budget = UnswappedBytes(net) * 9 / 10;
  ASSERT_OK_AND_ASSIGN(const TuneResult tuned, Tune(program, OnCpu(budget)));
  SavedPlan plan = PlanOf(tuned);
  // As if the kernels had needed less when it was made.
  plan.workspaces = "other";
  plan.device_bytes -= 256;
  plan.recipe.placement.within_bytes = plan.device_bytes;
  StepOptions options = OnCpu();
  options.plan = &plan;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                       CreateTunedSession(program, options));
  EXPECT_LE(session->memory().predicted_device_bytes, budget);
  // If the budget does not suffice either, the error states it, not the rung.
  plan.device_memory = plan.device_bytes;
  options.device_memory = plan.device_bytes;
  const auto refused = CreateTunedSession(program, options);
  if (!refused.ok()) {
    EXPECT_THAT(refused, StatusIs(kExhausted,
                                  HasSubstr(FormatBytes(plan.device_bytes))));
  }
}

TEST(TunedSessionTest, APlanOfAnotherGraphIsRefused) {
  ASSERT_OK_AND_ASSIGN(const Net training, BuildNet(true));
  ASSERT_OK_AND_ASSIGN(const Net evaluation, BuildNet(false));
  const int64_t budget = UnswappedBytes(training) * 9 / 10;
  ASSERT_OK_AND_ASSIGN(
      const TuneResult tuned,
      Tune({.graph = training.graph, .fetches = {training.loss}},
           OnCpu(budget)));
  const SavedPlan plan = PlanOf(tuned);
  StepOptions options = OnCpu();
  options.plan = &plan;
  EXPECT_THAT(
      CreateTunedSession(
          {.graph = evaluation.graph, .fetches = {evaluation.loss}}, options),
      StatusIs(kInvalid, HasSubstr("plan: the plan is of another")));
  EXPECT_THAT(SavePlan(tuned, evaluation.graph, "never_written.json"),
              StatusIs(kInvalid, _));
}

// The plan is placed within its own budget again, but the caller's budget
// remains a limit.
TEST(TunedSessionTest, APlanDoesNotLiftTheDeviceMemoryThatIsGiven) {
  ASSERT_OK_AND_ASSIGN(const Net net, BuildNet(true));
  const Program program = {.graph = net.graph, .fetches = {net.loss}};
  ASSERT_OK_AND_ASSIGN(const TuneResult tuned,
                       Tune(program, OnCpu(UnswappedBytes(net) * 2)));
  SavedPlan plan = PlanOf(tuned);
  const int64_t needs = plan.device_bytes;
  StepOptions options = OnCpu(needs);
  options.plan = &plan;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                       CreateTunedSession(program, options));
  EXPECT_EQ(session->memory().predicted_device_bytes, needs);
  // As if the kernels had needed less when it was made.
  plan.workspaces = "other";
  plan.device_bytes -= 512;
  options.device_memory = plan.device_bytes;
  EXPECT_THAT(CreateTunedSession(program, options), StatusIs(kExhausted, _));
}

TEST(TunedSessionTest, ResidentsOfOtherProgramsAloneCanExceedTheBudget) {
  ASSERT_OK_AND_ASSIGN(const Net training, BuildNet(true));
  ASSERT_OK_AND_ASSIGN(const Net evaluation, BuildNet(false, 1));
  std::vector<Program> programs;
  programs.push_back({.graph = evaluation.graph, .fetches = {evaluation.loss}});
  programs.push_back({.graph = training.graph, .fetches = {training.loss}});
  EXPECT_THAT(TunePrograms(std::move(programs), OnCpu(100)),
              StatusIs(kExhausted, _));
}

TEST(TunedSessionTest, AProfileByValueIsCheckedAsAFileIs) {
  ASSERT_OK_AND_ASSIGN(const Net net, BuildNet(true));
  const Program program = {.graph = net.graph, .fetches = {net.loss}};
  StepOptions options = OnCpu();
  options.profile = DeviceProfile{.name = "mine", .memory_bytes = 1_GiB};
  EXPECT_THAT(Simulate(program, options),
              StatusIs(kInvalid, HasSubstr("profile")));
}

TEST(TunedSessionTest, TheLargestBatchIsNotThatOfAPlan) {
  const SavedPlan plan;
  StepOptions options = OnCpu(1_GiB);
  options.plan = &plan;
  const auto never = [](int64_t) -> absl::StatusOr<Program> {
    return absl::InternalError("asked for a program");
  };
  EXPECT_THAT(FindMaxBatch(never, options),
              StatusIs(kInvalid, HasSubstr("plan: is for one batch size")));
}

TEST(TunedSessionTest, ProgramsThatAreDecidedAreForSessionCreate) {
  ASSERT_OK_AND_ASSIGN(const Net net, BuildNet(true));
  Program program = {.graph = net.graph, .fetches = {net.loss}};
  program.order = TimedSchedule{};
  EXPECT_THAT(Simulate(program, OnCpu()),
              StatusIs(kInvalid, HasSubstr("Session::Create runs it")));
  EXPECT_THAT(Tune(program, OnCpu()), StatusIs(kInvalid, _));
}

TEST(TunedSessionTest, OptionsOfLmsAreCheckedWhateverIsTuned) {
  ASSERT_OK_AND_ASSIGN(const Net net, BuildNet(true));
  const Program program = {.graph = net.graph, .fetches = {net.loss}};
  StepOptions options = OnCpu();
  options.lms = LmsOptions::V2({.swapin_ahead = -7});
  EXPECT_THAT(Tune(program, options),
              StatusIs(kInvalid, HasSubstr("lms_swapin_ahead: -7 is neither")));
  options.lms = LmsOptions::V2({.sync_mode = 9});
  EXPECT_THAT(Tune(program, options),
              StatusIs(kInvalid, HasSubstr("lms_sync_mode: 9 is not")));
  options.lms = LmsOptions::Auto();
  options.lms.size_threshold_bytes = -1;
  EXPECT_THAT(Tune(program, options),
              StatusIs(kInvalid, HasSubstr("lms_size_threshold")));
  options.lms = LmsOptions::V1({.ub = std::numeric_limits<int64_t>::max()});
  EXPECT_THAT(Tune(program, options), StatusIs(kInvalid, HasSubstr("lms_ub")));
}

TEST(TunedSessionTest, HugeBudgetsAndTimesAreNoLimitsButNeverWrapRound) {
  ASSERT_OK_AND_ASSIGN(const Net net, BuildNet(true));
  const Program program = {.graph = net.graph, .fetches = {net.loss}};
  StepOptions options = OnCpu(int64_t{1} << 62);
  options.profile = {};  // not a machine with less memory
  options.time_limit = 1e300;
  ASSERT_OK_AND_ASSIGN(const TuneResult tuned, Tune(program, options));
  EXPECT_FALSE(tuned.step.is_necessary);
  options.device_memory = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(Tune(program, options),
              StatusIs(kInvalid, HasSubstr("device_memory")));
}

TEST(TunedSessionTest, ErrorsNameTheOption) {
  ASSERT_OK_AND_ASSIGN(const Net net, BuildNet(true));
  const Program program = {.graph = net.graph, .fetches = {net.loss}};
  StepOptions negative = OnCpu(-1);
  EXPECT_THAT(CreateTunedSession(program, negative),
              StatusIs(kInvalid, HasSubstr("device_memory: -1 bytes")));
  StepOptions no_ops = OnCpu();
  no_ops.ops = nullptr;
  EXPECT_THAT(CreateTunedSession(program, no_ops),
              StatusIs(kInvalid, HasSubstr("ops: no registry")));
  StepOptions profile = OnCpu();
  profile.profile = "p1000";
  EXPECT_THAT(Tune(program, profile),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("profile:"), HasSubstr("p100_pcie"))));
  StepOptions device = OnCpu();
  device.device = "abacus";
  EXPECT_THAT(CreateTunedSession(program, device),
              StatusIs(kInvalid, HasSubstr("device:")));
  EXPECT_THAT(
      Tune({.graph = net.graph, .fetches = {ValueId(1'000'000)}}, OnCpu()),
      StatusIs(kInvalid, HasSubstr("fetch of value 1000000")));
  EXPECT_THAT(CreateTunedSession(std::vector<Program>(), OnCpu()),
              StatusIs(kInvalid, HasSubstr("needs a program")));
}

TEST(TunedSessionTest, WhatDoesNotFitIsRefusedBeforeAnythingRuns) {
  ASSERT_OK_AND_ASSIGN(const Net net, BuildNet(true));
  const auto session = CreateTunedSession(
      {.graph = net.graph, .fetches = {net.loss}}, OnCpu(4096));
  EXPECT_THAT(session, StatusIs(kExhausted, HasSubstr("nothing")));
  // In the terms of the API, not of the program.
  EXPECT_THAT(std::string(session.status().message()),
              ::testing::Not(HasSubstr("--")));
}

// The gradient of max pooling overwrites the swapped-in copy of its input. It
// cannot overwrite the input itself, since ReLU's gradient reads that later.
TEST(TunedSessionTest, NothingThatIsTunedIsBelowTheFloor) {
  ASSERT_OK_AND_ASSIGN(const Net net, BuildNet(true));
  const Program program = {.graph = net.graph, .fetches = {net.loss}};
  const int64_t step = kHasSanitizer ? 1_MiB : 256_KiB;
  int64_t smallest = UnswappedBytes(net);
  for (int64_t budget = smallest; budget > 0; budget -= step) {
    const auto tuned = Tune(program, OnCpu(budget));
    if (!tuned.ok()) {
      EXPECT_THAT(tuned, StatusIs(kExhausted, _));
      continue;
    }
    smallest = std::min(smallest, tuned->step.chosen.plan.device_bytes);
    EXPECT_LE(tuned->floor.bytes, smallest);
  }
  // With both input and output of that gradient, the working set would be 14.3
  // MiB.
  EXPECT_LT(smallest, 13_MiB);
}

TEST(TunedSessionTest, FindsTheLargestBatch) {
  const int64_t budget = 12_MiB;
  const auto program_of = [](int64_t batch) -> absl::StatusOr<Program> {
    SPILLWAY_ASSIGN_OR_RETURN(Net net, BuildNet(true, batch));
    return Program{.graph = std::move(net.graph), .fetches = {net.loss}};
  };
  StepOptions options = OnCpu(budget);
  options.lms = {.mode = LmsMode::kOff};
  ASSERT_OK_AND_ASSIGN(const MaxBatch off, FindMaxBatch(program_of, options));
  options.lms = {.mode = LmsMode::kAuto};
  ASSERT_OK_AND_ASSIGN(const MaxBatch tuned, FindMaxBatch(program_of, options));
  EXPECT_GE(tuned.batch_size, off.batch_size);
  ASSERT_GT(off.batch_size, 0);
  // Exact: this batch fits, and one more image does not.
  options.lms = {.mode = LmsMode::kOff};
  for (const bool fits : {true, false}) {
    ASSERT_OK_AND_ASSIGN(const Program program,
                         program_of(off.batch_size + (fits ? 0 : 1)));
    ASSERT_OK_AND_ASSIGN(const StepPrediction predicted,
                         Simulate(program, options));
    EXPECT_EQ(predicted.fits.ok(), fits);
  }
  StepOptions no_budget = {.device = "cpu"};
  EXPECT_THAT(FindMaxBatch(program_of, no_budget),
              StatusIs(kInvalid, HasSubstr("device_memory")));
}

TEST(ShippedProfilesTest, AreFoundByNameAndReadAsTheirFiles) {
  const std::vector<std::string> names = ShippedProfileNames();
  EXPECT_THAT(names, ::testing::Contains("h200_pcie5"));
  for (const std::string& name : names) {
    ASSERT_OK_AND_ASSIGN(const DeviceProfile shipped, ShippedProfile(name));
    ASSERT_OK_AND_ASSIGN(const DeviceProfile file,
                         ReadDeviceProfile(testing::ProfilePath(name)));
    EXPECT_EQ(shipped, file);
  }
  EXPECT_THAT(ShippedProfile("abacus"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("p100_pcie")));
}

}  // namespace
}  // namespace spillway
