// Arguments that Train and Evaluate refuse, mostly before the first step.
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/training/lenet_run.h"
#include "training/trainer.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::kNumClasses;
using testing::LeNetRun;
using testing::MakeLeNetRun;
using testing::MakeLongRun;
using testing::NewSession;
using testing::Quarters;
using testing::StatusIs;

// Every label is one too high.
class WrongLabels : public Quarters {
 public:
  using Quarters::Quarters;
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override {
    constexpr int32_t kWrong = kNumClasses;
    const absl::Status status = Quarters::Read(index, buffers);
    std::memcpy(buffers[1], &kWrong, sizeof(kWrong));
    return status;
  }
};

TEST(TrainerErrorsTest, ALabelOutOfRangeIsTheErrorOfTheSessionWhichGoesOn) {
  ASSERT_OK_AND_ASSIGN(LeNetRun run, MakeLeNetRun(16, 10));
  const WrongLabels wrong(32, 1);
  run.spec.training_data = &wrong;
  EXPECT_THAT(
      Train(*run.session, run.spec),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "feed labels: element 0 is 4; "
               "loss/SparseSoftmaxCrossEntropyWithLogits needs a number in "
               "[0, 4)"));
  const Quarters data(32, 1);
  run.spec.training_data = &data;
  EXPECT_THAT(Train(*run.session, run.spec), IsOk());
}

TEST(TrainerErrorsTest, LessThanOneBatchIsRefused) {
  ASSERT_OK_AND_ASSIGN(LeNetRun run, MakeLeNetRun(16, 10));
  const Quarters data(15, 1);
  run.spec.training_data = &data;
  EXPECT_THAT(Train(*run.session, run.spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("15 samples, fewer than one batch of 16")));
}

TEST(TrainerErrorsTest, DataOfAnotherShapeIsRefused) {
  ASSERT_OK_AND_ASSIGN(LeNetRun run, MakeLeNetRun(16, 10));
  const Quarters data(40, 1);
  run.spec.training_data = &data;
  run.spec.training.batch_size = 8;  // the graph was built for another size
  EXPECT_THAT(
      Train(*run.session, run.spec),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("images")));
}

TEST(TrainerErrorsTest, AStartOutsideTheTrainingIsRefused) {
  const Quarters data(100, 1);
  LeNetRun run = MakeLongRun(data);
  for (const int64_t start : {-1, 19}) {
    run.spec.start.updates = start;
    EXPECT_THAT(Train(*run.session, run.spec),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("outside the training, which has 18 "
                                   "updates")));
  }
  run.spec.start.updates = 18;  // nothing is left to do
  ASSERT_OK_AND_ASSIGN(const auto epochs, Train(*run.session, run.spec));
  EXPECT_TRUE(epochs.empty());
  run.spec.max_steps = -1;
  EXPECT_THAT(Train(*run.session, run.spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must not be negative")));
}

TEST(TrainerErrorsTest, AFetchThatIsMissingIsNamed) {
  const Quarters data(100, 1);
  LeNetRun run = MakeLongRun(data);
  const ValueId loss = run.spec.training.loss;
  run.spec.training.loss = run.spec.training.images;
  EXPECT_THAT(Train(*run.session, run.spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not fetch the loss")));
  run.spec.training.loss = loss;
  run.spec.training.accuracy = run.spec.training.images;
  EXPECT_THAT(Train(*run.session, run.spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not fetch the accuracy")));
  run.spec.evaluation.correct = run.spec.evaluation.images;
  EXPECT_THAT(Evaluate(*run.session, run.spec.evaluation, data),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not fetch the correct answers")));
}

// The error of Train for this spec. No step runs.
absl::Status Refusal(LeNetRun& run) {
  run.spec.on_step = [](const StepProgress&) { ADD_FAILURE(); };
  return Train(*run.session, run.spec).status();
}

TEST(TrainerErrorsTest, FetchesAreCheckedBeforeTheFirstStep) {
  const Quarters data(100, 1);
  LeNetRun run = MakeLongRun(data);
  run.spec.training.accuracy = run.spec.training.images;
  EXPECT_THAT(Refusal(run), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("does not fetch the accuracy")));
  run = MakeLongRun(data);
  run.spec.training.loss = {};
  EXPECT_THAT(Refusal(run), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("does not fetch the loss")));
  run = MakeLongRun(data);
  run.spec.test_data = &data;
  run.spec.evaluation.correct = run.spec.evaluation.images;
  EXPECT_THAT(Refusal(run),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not fetch the correct answers")));
}

TEST(TrainerErrorsTest,
     AnEvaluationWithoutAProgramIsRefusedBeforeTheFirstStep) {
  const Quarters data(100, 1);
  GraphBuilder g;
  ASSERT_OK_AND_ASSIGN(const ModelGraph model,
                       testing::BuildLeNet(g, 16, true));
  Program program = {.fetches = {model.loss}};
  ASSERT_OK_AND_ASSIGN(program.graph, std::move(g).Build());
  LeNetRun run = MakeLongRun(data);
  run.spec.training.loss = model.loss;
  run.spec.training.accuracy = {};
  run.spec.test_data = &data;
  ASSERT_OK_AND_ASSIGN(run.session, NewSession(std::move(program)));
  EXPECT_THAT(Refusal(run), StatusIs(absl::StatusCode::kInvalidArgument,
                                     "the session has no program 1 to fetch "
                                     "the correct answers from"));
}

TEST(TrainerErrorsTest, AnEvaluationOfNothingIsRefusedBeforeTheFirstStep) {
  const Quarters data(100, 1);
  const Quarters none(0, 1);
  LeNetRun run = MakeLongRun(data);
  run.spec.test_data = &none;
  const auto kRefused =
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("evaluation needs data and a positive batch size"));
  EXPECT_THAT(Refusal(run), kRefused);
  run.spec.test_data = &data;
  run.spec.evaluation.batch_size = 0;
  EXPECT_THAT(Refusal(run), kRefused);
}

class OneField : public Quarters {
 public:
  using Quarters::Quarters;
  const std::vector<TensorType>& fields() const override { return fields_; }

 private:
  std::vector<TensorType> fields_ = {{DType::kFloat32, {4}}};
};

TEST(TrainerErrorsTest, TestDataWithoutLabelsIsRefusedBeforeTheFirstStep) {
  const Quarters data(100, 1);
  const OneField unlabelled(100, 1);
  LeNetRun run = MakeLongRun(data);
  run.spec.test_data = &unlabelled;
  EXPECT_THAT(Refusal(run), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("test data has 1 field;")));
}

class Throwing : public Quarters {
 public:
  using Quarters::Quarters;
  absl::Status Read(int64_t, std::span<std::byte* const>) const override {
    throw std::out_of_range("vector::at");
  }
};

TEST(TrainerErrorsTest, DataThatThrowsIsAnError) {
  const Throwing data(100, 1);
  LeNetRun run = MakeLongRun(data);
  EXPECT_THAT(Refusal(run), StatusIs(absl::StatusCode::kInternal,
                                     HasSubstr("threw: vector::at")));
}

}  // namespace
}  // namespace spillway
