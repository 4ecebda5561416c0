// A loop of one's own over the updates of a training, beside Train.
#include "training/loop/update_runner.h"

#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/training/lenet_run.h"
#include "tests/training/loop/perceptron.h"
#include "training/loop/training_programs.h"
#include "training/safetensors.h"
#include "training/trainer.h"
#include "tuner/saved_plan.h"
#include "tuner/tuned_session.h"

namespace spillway {
namespace {

using testing::IsOk;
using testing::Quarters;
using testing::StatusIs;

constexpr int64_t kUpdateRows = 24;
constexpr int64_t kUpdateBatch = 4;
constexpr int64_t kUpdateGroup = 3;  // micro-batches of an update

absl::StatusOr<MicroBatchPlan> Plan() {
  return MicroBatchPlan::Create({.algorithm = TrainAlgorithm::kLoopedMinibatch,
                                 .rows = kUpdateRows,
                                 .batch_size = kUpdateBatch,
                                 .parallel_batches = kUpdateGroup});
}

TrainingProgramsSpec Spec() {
  return {.forward =
              [](GraphBuilder& g, int64_t rows) {
                return testing::AddPerceptron(g, rows, 8);
              },
          .optimizer = Adam{},
          .feeds_learning_rate = true};
}

struct OpenedRun {
  std::unique_ptr<Session> session = {};
  TrainerSpec spec = {};
};

absl::StatusOr<OpenedRun> Open(const MicroBatchPlan& plan,
                               const TrainingPrograms& programs,
                               const Dataset& data) {
  OpenedRun run = {.spec = programs.SpecFor(plan, data)};
  run.spec.shuffle = false;
  run.spec.learning_rate = [](int64_t update) {
    return 0.01 / static_cast<double>(1 + update);
  };
  SPILLWAY_ASSIGN_OR_RETURN(
      run.session,
      CreateTunedSession(programs.programs,
                         {.device = "cpu",
                          .threads = 1,
                          .own_variables = programs.own_variables}));
  return run;
}

absl::StatusOr<std::string> ChecksumOf(Session& session) {
  SPILLWAY_ASSIGN_OR_RETURN(const TensorMap variables, session.ReadVariables());
  return Checksum(variables);
}

// Rows [first, first + kUpdateBatch), as a program's fields.
class Rows {
 public:
  explicit Rows(const Dataset& data) : data_(data) {}

  absl::StatusOr<std::vector<TensorView>> Read(int64_t first) {
    std::vector<TensorView> views;
    fields_.clear();
    for (const TensorType& type : FieldsOfRows(data_, kUpdateBatch)) {
      fields_.push_back({.type = type,
                         .bytes = std::vector<std::byte>(
                             static_cast<size_t>(type.num_bytes()))});
    }
    for (int64_t row = 0; row < kUpdateBatch; ++row) {
      std::vector<std::byte*> places;
      for (HostTensor& field : fields_) {
        const auto bytes = field.bytes.size() / kUpdateBatch;
        places.push_back(field.bytes.data() + bytes * static_cast<size_t>(row));
      }
      SPILLWAY_RETURN_IF_ERROR(data_.Read(first + row, places));
    }
    for (const HostTensor& field : fields_) {
      views.push_back({.type = field.type, .data = field.bytes.data()});
    }
    return views;
  }

 private:
  const Dataset& data_;
  std::vector<HostTensor> fields_;
};

TEST(UpdateRunnerTest, IsTheTrainingLoopWithoutItsData) {
  const Quarters data(kUpdateRows, 1);
  ASSERT_OK_AND_ASSIGN(const MicroBatchPlan plan, Plan());
  ASSERT_OK_AND_ASSIGN(const TrainingPrograms programs,
                       MakeTrainingPrograms(plan, Spec()));
  ASSERT_OK_AND_ASSIGN(OpenedRun trained, Open(plan, programs, data));
  std::vector<double> losses;
  trained.spec.length = {.epochs = 2};
  trained.spec.on_step = [&](const StepProgress& progress) {
    losses.push_back(progress.loss);
  };
  ASSERT_THAT(Train(*trained.session, trained.spec), IsOk());

  ASSERT_OK_AND_ASSIGN(const OpenedRun own, Open(plan, programs, data));
  UpdateRunner updates(*own.session, own.spec, plan);
  Rows rows(data);
  std::vector<double> own_losses;
  int64_t next = 0;
  while (updates.next() < 4) {
    StepProgress progress;
    ASSERT_THAT(updates.Run({.next_batch =
                                 [&] {
                                   const int64_t first = next;
                                   next = (next + kUpdateBatch) % kUpdateRows;
                                   return rows.Read(first);
                                 }},
                            progress),
                IsOk());
    own_losses.push_back(progress.loss);
    EXPECT_EQ(progress.update + 1, updates.next());
    EXPECT_EQ(progress.micro_losses.size(), kUpdateGroup);
    EXPECT_EQ(updates.micro_batches(), kUpdateGroup * updates.next());
  }
  EXPECT_EQ(own_losses, losses);
  EXPECT_EQ(ChecksumOf(*own.session).value(),
            ChecksumOf(*trained.session).value());
}

TEST(UpdateRunnerTest, AnErrorOfTheDataLeavesTheUpdateUndone) {
  const Quarters data(kUpdateRows, 1);
  ASSERT_OK_AND_ASSIGN(const MicroBatchPlan plan, Plan());
  ASSERT_OK_AND_ASSIGN(const TrainingPrograms programs,
                       MakeTrainingPrograms(plan, Spec()));
  ASSERT_OK_AND_ASSIGN(const OpenedRun run, Open(plan, programs, data));
  ASSERT_OK_AND_ASSIGN(const std::string before, ChecksumOf(*run.session));
  UpdateRunner updates(*run.session, run.spec, plan);
  StepProgress progress;
  EXPECT_THAT(updates.Run({.next_batch =
                               []() -> absl::StatusOr<std::vector<TensorView>> {
                            return NotFound("no rows");
                          }},
                          progress),
              StatusIs(absl::StatusCode::kNotFound, "no rows"));
  EXPECT_EQ(updates.next(), 0);
  EXPECT_EQ(ChecksumOf(*run.session).value(), before);
}

TEST(TrainingProgramsTest, OfABuilderAreThoseOfItsFunction) {
  ASSERT_OK_AND_ASSIGN(const MicroBatchPlan plan, Plan());
  TrainingProgramsSpec spec = Spec();
  spec.name = "net";
  ASSERT_OK_AND_ASSIGN(const TrainingPrograms made,
                       MakeTrainingPrograms(plan, spec));
  GraphBuilder g("net");
  ForwardPhase phase = testing::AddPerceptron(g, kUpdateBatch, 8);
  spec.forward = nullptr;
  ASSERT_OK_AND_ASSIGN(const TrainingPrograms of_builder,
                       MakeTrainingPrograms(plan, spec, std::move(g), phase));
  ASSERT_EQ(of_builder.programs.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(GraphFingerprint(of_builder.programs[i].graph),
              GraphFingerprint(made.programs[i].graph));
  }
}

TEST(TrainingProgramsTest, StepsFetchWhatTheForwardPhaseAsksFor) {
  const Quarters data(kUpdateRows, 1);
  ASSERT_OK_AND_ASSIGN(const MicroBatchPlan plan,
                       MicroBatchPlan::Create(
                           {.rows = kUpdateRows, .batch_size = kUpdateBatch}));
  GraphBuilder g("net");
  ForwardPhase phase = testing::AddPerceptron(g, kUpdateBatch, 8);
  phase.fetches = {phase.loss * 2};
  TrainingProgramsSpec spec = Spec();
  ASSERT_OK_AND_ASSIGN(const TrainingPrograms programs,
                       MakeTrainingPrograms(plan, spec, std::move(g), phase));
  ASSERT_OK_AND_ASSIGN(const OpenedRun run, Open(plan, programs, data));
  UpdateRunner updates(*run.session, run.spec, plan);
  Rows rows(data);
  StepProgress progress;
  ASSERT_THAT(
      updates.Run({.next_batch = [&] { return rows.Read(0); }}, progress),
      IsOk());
  ASSERT_EQ(run.spec.training.fetches.size(), 1);
  EXPECT_EQ(updates.last_step().scalar(run.spec.training.fetches[0]).value(),
            2 * static_cast<float>(progress.loss));
}

}  // namespace
}  // namespace spillway
