// Updates from several micro-batches, on a network whose rows do not depend on
// each other.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "tests/training/lenet_run.h"
#include "tests/training/loop/perceptron.h"
#include "training/checkpoint.h"
#include "training/loop/training_programs.h"
#include "training/trainer.h"
#include "tuner/tuned_session.h"

namespace spillway {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::Quarters;
using testing::StatusIs;

absl::StatusOr<ForwardPhase> BuildPerceptron(GraphBuilder& g, int64_t rows) {
  return testing::AddPerceptron(g, rows, 24);
}

absl::StatusOr<ForwardPhase> BuildConvolutions(GraphBuilder& g, int64_t rows) {
  SPILLWAY_ASSIGN_OR_RETURN(const ModelGraph model,
                            testing::BuildLeNet(g, rows, true));
  return ForwardPhase{
      .images = model.images, .labels = model.labels, .loss = model.loss};
}

struct Case {
  MicroBatchSpec rows = {};
  decltype(TrainingProgramsSpec::forward) forward = BuildPerceptron;
  Optimizer optimizer = Sgd{.learning_rate = 0.05};
  MinimizeOptions minimize = {};
  std::optional<int64_t> device_memory = {};
  LmsMode lms = LmsMode::kOff;
};

using Variables = std::map<std::string, HostTensor>;

struct Trained {
  Variables variables = {};
  std::vector<double> losses = {};
  MemoryUse memory = {};
  std::string checksum = {};
};

struct GroupedRun {
  std::unique_ptr<Session> session = {};
  TrainerSpec spec = {};
};

absl::StatusOr<GroupedRun> MakeRun(const Case& test, const Dataset& data) {
  SPILLWAY_ASSIGN_OR_RETURN(const MicroBatchPlan plan,
                            MicroBatchPlan::Create(test.rows));
  SPILLWAY_ASSIGN_OR_RETURN(
      const TrainingPrograms programs,
      MakeTrainingPrograms(plan, {.forward = test.forward,
                                  .optimizer = test.optimizer,
                                  .minimize = test.minimize}));
  StepOptions options = {.device = "cpu",
                         .threads = 1,
                         .device_memory = test.device_memory,
                         .lms = {.mode = test.lms},
                         .own_variables = programs.own_variables};
  GroupedRun run;
  SPILLWAY_ASSIGN_OR_RETURN(run.session,
                            CreateTunedSession(programs.programs, options));
  run.spec = programs.SpecFor(plan, data);
  return run;
}

absl::StatusOr<Trained> TrainCase(const Case& test, int64_t updates) {
  const Quarters data(test.rows.rows, 1);
  SPILLWAY_ASSIGN_OR_RETURN(GroupedRun run, MakeRun(test, data));
  Trained trained;
  run.spec.length = {.updates = updates};
  run.spec.shuffle_seed = 3;
  run.spec.on_step = [&](const StepProgress& progress) {
    trained.losses.push_back(progress.loss);
  };
  SPILLWAY_RETURN_IF_ERROR(Train(*run.session, run.spec).status());
  SPILLWAY_ASSIGN_OR_RETURN(trained.variables, run.session->ReadVariables());
  trained.checksum = Checksum(trained.variables);
  trained.memory = run.session->memory();
  return trained;
}

// The largest difference, as a part of the largest magnitude.
double Difference(const Variables& a, const Variables& b) {
  double most = 0;
  double largest = 0;
  EXPECT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    const std::span<const float> x = tensor.span<float>().value();
    const std::span<const float> y = b.at(name).span<float>().value();
    for (size_t i = 0; i < x.size(); ++i) {
      most = std::max<double>(most, std::abs(x[i] - y[i]));
      largest = std::max<double>(largest, std::abs(x[i]));
    }
  }
  return most / largest;
}

const std::vector<std::pair<const char*, Optimizer>>& Optimizers() {
  static const auto& optimizers =
      *new std::vector<std::pair<const char*, Optimizer>>{
          {"sgd", Sgd{.learning_rate = 0.05}},
          {"momentum", Momentum{.learning_rate = 0.02}},
          {"nesterov", Velocity{.learning_rate = 0.02, .use_nesterov = true}},
          {"lars", Lars{.learning_rate = 1}},
          {"adagrad", AdaGrad{}},
          {"adam", Adam{}},
          {"adamw", AdamW{}},
          {"rmsprop", RmsProp{}}};
  return optimizers;
}

Case Looped(int64_t rows, int64_t batch, int64_t group) {
  return {.rows = {.algorithm = TrainAlgorithm::kLoopedMinibatch,
                   .rows = rows,
                   .batch_size = batch,
                   .parallel_batches = group}};
}

TEST(GroupedTrainingTest, AGroupIsOneLargeBatchToRounding) {
  for (const auto& [name, optimizer] : Optimizers()) {
    SCOPED_TRACE(name);
    Case looped = Looped(24, 2, 3);
    looped.optimizer = optimizer;
    looped.minimize.weight_decay = 1e-3;
    Case large = looped;
    large.rows = {.rows = 24, .batch_size = 6};
    ASSERT_OK_AND_ASSIGN(const Trained by_groups, TrainCase(looped, 4));
    ASSERT_OK_AND_ASSIGN(const Trained at_once, TrainCase(large, 4));
    // Adam and RMSProp divide by roots of sums of few tiny squares.
    EXPECT_LE(Difference(by_groups.variables, at_once.variables), 2e-6);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(by_groups.losses[i], at_once.losses[i], 1e-5);
    }
  }
}

TEST(GroupedTrainingTest, ParallelBatchesAreLoopedOnesBitForBit) {
  Case looped =
      Looped(30, 4, 3);  // with a shorter group, and batch, at the end
  Case parallel = looped;
  parallel.rows.algorithm = TrainAlgorithm::kAllreduceParallelBatches;
  ASSERT_OK_AND_ASSIGN(const Trained a, TrainCase(looped, 7));
  ASSERT_OK_AND_ASSIGN(const Trained b, TrainCase(parallel, 7));
  EXPECT_EQ(a.checksum, b.checksum);
  EXPECT_EQ(a.losses, b.losses);
}

TEST(GroupedTrainingTest, AGroupOfOneIsAMinibatchBitForBit) {
  for (const auto& [name, optimizer] : Optimizers()) {
    SCOPED_TRACE(name);
    Case looped = Looped(22, 4, 1);
    looped.optimizer = optimizer;
    Case plain = looped;
    plain.rows.algorithm = TrainAlgorithm::kMinibatch;
    ASSERT_OK_AND_ASSIGN(const Trained a, TrainCase(looped, 8));
    ASSERT_OK_AND_ASSIGN(const Trained b, TrainCase(plain, 8));
    EXPECT_EQ(a.checksum, b.checksum);
    EXPECT_EQ(a.losses, b.losses);
  }
}

TEST(GroupedTrainingTest, RowByRowIsTheBatchToRounding) {
  const Case by_row = {.rows = {.algorithm = TrainAlgorithm::kAllreduce,
                                .rows = 20,
                                .batch_size = 6}};
  const Case at_once = {.rows = {.rows = 20, .batch_size = 6}};
  ASSERT_OK_AND_ASSIGN(const Trained a, TrainCase(by_row, 6));
  ASSERT_OK_AND_ASSIGN(const Trained b, TrainCase(at_once, 6));
  EXPECT_LE(Difference(a.variables, b.variables), 2e-6);
}

// Plain SGD is linear in the gradient.
TEST(GroupedTrainingTest, WithoutWeightsTheRateIsTimesTheGroup) {
  Case sums = Looped(24, 2, 3);
  sums.rows.weighted = false;
  Case means = Looped(24, 2, 3);
  means.optimizer = Sgd{.learning_rate = 0.15};
  ASSERT_OK_AND_ASSIGN(const Trained a, TrainCase(sums, 4));
  ASSERT_OK_AND_ASSIGN(const Trained b, TrainCase(means, 4));
  EXPECT_LE(Difference(a.variables, b.variables), 1e-6);
}

// N = 10, B = 4, P = 3: one update of 4, 4 and 2 rows an epoch.
TEST(GroupedTrainingTest, AnUnevenGroupIsTheMeanOverItsRows) {
  const Case uneven = Looped(10, 4, 3);
  const Case all = {.rows = {.algorithm = TrainAlgorithm::kBatch,
                             .rows = 10,
                             .batch_size = 4}};
  ASSERT_OK_AND_ASSIGN(const Trained a, TrainCase(uneven, 5));
  ASSERT_OK_AND_ASSIGN(const Trained b, TrainCase(all, 5));
  EXPECT_LE(Difference(a.variables, b.variables), 1e-6);
}

TEST(GroupedTrainingTest, ABudgetChangesNoBit) {
  for (const auto& [name, optimizer] : Optimizers()) {
    SCOPED_TRACE(name);
    Case free = Looped(72, 16, 2);
    free.forward = BuildConvolutions;
    free.optimizer = optimizer;
    ASSERT_OK_AND_ASSIGN(const Trained whole, TrainCase(free, 3));
    EXPECT_EQ(whole.memory.measured_device_bytes,
              whole.memory.predicted_device_bytes);
    Case tight = free;
    tight.lms = LmsMode::kAuto;
    tight.device_memory = whole.memory.predicted_device_bytes - 20'000;
    const absl::StatusOr<Trained> swapped = TrainCase(tight, 3);
    ASSERT_THAT(swapped, IsOk());
    EXPECT_EQ(swapped->checksum, whole.checksum);
    EXPECT_EQ(swapped->losses, whole.losses);
    EXPECT_LE(swapped->memory.measured_device_bytes, *tight.device_memory);
    EXPECT_EQ(swapped->memory.measured_device_bytes,
              swapped->memory.predicted_device_bytes);
    EXPECT_EQ(swapped->memory.allocations_in_steps, 0);
  }
}

// A group needs the memory of one micro-batch, and the sums.
TEST(GroupedTrainingTest, AGroupNeedsNoMoreMemoryThanTwo) {
  ASSERT_OK_AND_ASSIGN(const Trained two, TrainCase(Looped(512, 32, 2), 2));
  ASSERT_OK_AND_ASSIGN(const Trained many, TrainCase(Looped(512, 32, 16), 2));
  EXPECT_EQ(two.memory.measured_device_bytes,
            many.memory.measured_device_bytes);
  const Case large = {.rows = {.rows = 512, .batch_size = 512}};
  ASSERT_OK_AND_ASSIGN(const Trained at_once, TrainCase(large, 1));
  EXPECT_LT(many.memory.measured_device_bytes,
            at_once.memory.measured_device_bytes / 2);
}

TEST(GroupedTrainingTest, SumsAreNoPartOfTheState) {
  const Quarters data(24, 1);
  Case test = Looped(24, 4, 2);
  test.optimizer = Momentum();
  ASSERT_OK_AND_ASSIGN(const GroupedRun run, MakeRun(test, data));
  std::vector<std::string> names;
  for (const auto& [name, type] : run.session->variable_types()) {
    names.push_back(name);
  }
  EXPECT_THAT(names, Contains("optimizer/slots/hidden/weights/momentum"));
  EXPECT_THAT(names, Not(Contains(HasSubstr("gradient_sums"))));
}

TEST(GroupedTrainingTest, GoesOnBitwiseAfterAnyUpdate) {
  Case test = Looped(30, 4, 3);
  test.optimizer = Momentum{.learning_rate = 0.02};
  ASSERT_OK_AND_ASSIGN(const Trained whole, TrainCase(test, 8));
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("checkpoint.safetensors");
  const Quarters data(30, 1);
  for (const int64_t updates : {1, 3, 5}) {
    SCOPED_TRACE(updates);
    ASSERT_OK_AND_ASSIGN(GroupedRun first, MakeRun(test, data));
    first.spec.length = {.updates = 8};
    first.spec.shuffle_seed = 3;
    first.spec.max_steps = updates;
    first.spec.on_checkpoint = [&](const TrainingState& state) {
      return SaveCheckpoint(*first.session, path, state);
    };
    ASSERT_THAT(Train(*first.session, first.spec), IsOk());
    ASSERT_OK_AND_ASSIGN(GroupedRun second, MakeRun(test, data));
    second.spec.length = {.updates = 8};
    second.spec.shuffle_seed = 3;
    ASSERT_OK_AND_ASSIGN(const auto state,
                         LoadCheckpoint(path, *second.session));
    ASSERT_TRUE(state.has_value());
    EXPECT_EQ(state->updates, updates);
    second.spec.start = *state;
    ASSERT_THAT(Train(*second.session, second.spec), IsOk());
    EXPECT_EQ(Checksum(second.session->ReadVariables().value()),
              whole.checksum);
  }
}

TEST(GroupedTrainingTest, ReportsEveryMicroBatch) {
  const Quarters data(10, 1);
  ASSERT_OK_AND_ASSIGN(GroupedRun run, MakeRun(Looped(10, 4, 2), data));
  run.spec.length = {.epochs = 2};
  std::vector<std::pair<int64_t, size_t>> seen;
  run.spec.on_step = [&](const StepProgress& progress) {
    EXPECT_EQ(progress.num_updates, 4);
    seen.emplace_back(progress.first_micro_batch, progress.micro_losses.size());
  };
  ASSERT_THAT(Train(*run.session, run.spec), IsOk());
  const std::vector<std::pair<int64_t, size_t>> expected = {
      {0, 2}, {2, 1}, {3, 2}, {5, 1}};
  EXPECT_EQ(seen, expected);
  // From the middle of an epoch.
  run.spec.start.updates = 3;
  seen.clear();
  ASSERT_THAT(Train(*run.session, run.spec), IsOk());
  EXPECT_EQ(seen.front(), expected[3]);
}

TEST(GroupedTrainingTest, MissingProgramsAreRefused) {
  const Quarters data(10, 1);
  const auto refusal = [&](auto change) {
    GroupedRun run = MakeRun(Looped(10, 4, 2), data).value();
    change(run.spec);
    return Train(*run.session, run.spec).status();
  };
  EXPECT_THAT(refusal([](TrainerSpec& spec) { spec.update.reset(); }),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "an update of 2 micro-batches needs an update program"));
  EXPECT_THAT(refusal([](TrainerSpec& spec) { spec.other_sizes.clear(); }),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "there is no training program for a micro-batch of 2 "
                       "rows"));
  EXPECT_THAT(refusal([](TrainerSpec& spec) { spec.training.weights = {}; }),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("are fed weights if, and only if")));
  const Quarters other(11, 1);
  EXPECT_THAT(
      refusal([&](TrainerSpec& spec) { spec.training_data = &other; }),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "the plan is for 10 rows, but the training data has 11"));
}

}  // namespace
}  // namespace spillway
