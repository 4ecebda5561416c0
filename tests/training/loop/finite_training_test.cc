// Clipping, and gradients that are not finite.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/device/registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/training/lenet_run.h"
#include "tests/training/loop/perceptron.h"
#include "training/loop/training_programs.h"
#include "training/trainer.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;

using testing::Quarters;
using testing::StatusIs;

// Quarters; the images of one row are infinite.
class OneBadRow : public Quarters {
 public:
  OneBadRow(int64_t size, int64_t bad) : Quarters(size, 1), bad_(bad) {}
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override {
    const absl::Status status = Quarters::Read(index, buffers);
    if (index == bad_) {
      reinterpret_cast<float*>(buffers[0])[0] =
          std::numeric_limits<float>::infinity();
    }
    return status;
  }

 private:
  int64_t bad_;
};

absl::StatusOr<ForwardPhase> BuildNet(GraphBuilder& g, int64_t rows) {
  return testing::AddPerceptron(g, rows, 8);
}

struct FiniteRun {
  std::unique_ptr<Session> session = {};
  TrainerSpec spec = {};
};

FiniteRun MakeFiniteRun(const MicroBatchSpec& rows,
                        TrainingProgramsSpec programs, const Dataset& data) {
  programs.forward = BuildNet;
  const MicroBatchPlan plan = MicroBatchPlan::Create(rows).value();
  const TrainingPrograms made = MakeTrainingPrograms(plan, programs).value();
  FiniteRun run;
  run.session = Session::Create(
                    made.programs, NewDevice("inline", {.threads = 1}).value(),
                    {.threads = 1, .own_variables = made.own_variables})
                    .value();
  run.spec = made.SpecFor(plan, data);
  run.spec.shuffle = false;
  return run;
}

using NamedFloats = std::map<std::string, std::vector<float>>;

NamedFloats ValuesOf(Session& session) {
  NamedFloats values;
  const auto variables = session.ReadVariables().value();
  for (const auto& [name, tensor] : variables) {
    const auto span = tensor.span<float>().value();
    values[name].assign(span.begin(), span.end());
  }
  return values;
}

// What one update with the rate 1 subtracts from the variables.
NamedFloats StepOf(const MinimizeOptions& options) {
  const Quarters data(8, 1);
  FiniteRun run = MakeFiniteRun(
      {.rows = 8, .batch_size = 8},
      {.optimizer = Sgd{.learning_rate = 1}, .minimize = options}, data);
  NamedFloats step = ValuesOf(*run.session);
  run.spec.length = {.updates = 1};
  EXPECT_THAT(Train(*run.session, run.spec), IsOk());
  const NamedFloats after = ValuesOf(*run.session);
  for (auto& [name, values] : step) {
    for (size_t i = 0; i < values.size(); ++i) values[i] -= after.at(name)[i];
  }
  return step;
}

double NormOfAll(const NamedFloats& values) {
  double squares = 0;
  for (const auto& [name, items] : values) {
    for (const float x : items) squares += double{x} * x;
  }
  return std::sqrt(squares);
}

TEST(FiniteTrainingTest, GradientsAreScaledToTheNorm) {
  const NamedFloats free = StepOf({});
  const double norm = NormOfAll(free);
  for (const double scale : {1.0, 64.0}) {
    const NamedFloats clipped =
        StepOf({.clip_norm = norm / 3, .loss_scale = scale});
    for (const auto& [name, values] : free) {
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(clipped.at(name)[i], values[i] / 3, 1e-6) << name;
      }
    }
    EXPECT_EQ(StepOf({.clip_norm = norm * 1.01, .loss_scale = scale}), free);
  }
}

TEST(FiniteTrainingTest, ElementsAreClippedToTheValue) {
  const NamedFloats free = StepOf({});
  for (const double scale : {1.0, 64.0}) {
    const NamedFloats clipped =
        StepOf({.clip_value = 0.01, .loss_scale = scale});
    for (const auto& [name, values] : free) {
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(clipped.at(name)[i], std::clamp(values[i], -0.01F, 0.01F),
                    1e-7);
      }
    }
  }
}

TEST(FiniteTrainingTest, AnUpdateWithBadGradientsEndsTheTraining) {
  const OneBadRow data(16, 9);
  for (const int64_t group : {1, 2}) {
    SCOPED_TRACE(group);
    FiniteRun run =
        MakeFiniteRun({.algorithm = TrainAlgorithm::kLoopedMinibatch,
                       .rows = 16,
                       .batch_size = 4,
                       .parallel_batches = group},
                      {.checks_gradients = true}, data);
    run.spec.check_finite = true;
    EXPECT_THAT(Train(*run.session, run.spec),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr(group == 1 ? "update 2: " : "update 1: ")));
  }
}

// With a scale that follows the gradients, only the bad update is left out; and
// as all scales are powers of two, the others are those of a fixed scale.
TEST(FiniteTrainingTest, ABadUpdateIsLeftOut) {
  const OneBadRow data(16, 9);
  FiniteRun run =
      MakeFiniteRun({.rows = 16, .batch_size = 4},
                    {.optimizer = Momentum(), .feeds_loss_scale = true}, data);
  run.spec.follows_loss_scale = true;
  std::vector<double> scales;
  std::vector<bool> skipped;
  run.spec.on_step = [&](const StepProgress& progress) {
    scales.push_back(progress.loss_scale.value());
    skipped.push_back(progress.skipped);
  };
  TrainingState last;
  run.spec.on_checkpoint = [&](const TrainingState& state) {
    last = state;
    return absl::OkStatus();
  };
  ASSERT_THAT(Train(*run.session, run.spec), IsOk());
  EXPECT_EQ(scales, (std::vector<double>{32768, 32768, 32768, 16384}));
  EXPECT_EQ(skipped, (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(last.loss_scale, (LossScaleState{.scale = 16384, .good = 1}));
  for (const auto& [name, values] : ValuesOf(*run.session)) {
    for (const float x : values) ASSERT_TRUE(std::isfinite(x)) << name;
  }
}

TEST(FiniteTrainingTest, AScaleChangesNoBit) {
  const Quarters data(16, 1);
  const auto train = [&](bool follows) {
    FiniteRun run =
        MakeFiniteRun({.rows = 16, .batch_size = 4},
                      {.optimizer = Adam(), .feeds_loss_scale = follows}, data);
    run.spec.follows_loss_scale = follows;
    run.spec.length = {.epochs = 3};
    EXPECT_THAT(Train(*run.session, run.spec), IsOk());
    return ValuesOf(*run.session);
  };
  EXPECT_EQ(train(true), train(false));
}

TEST(FiniteTrainingTest, AScaleThatIsNotFedIsRefused) {
  const Quarters data(16, 1);
  FiniteRun run = MakeFiniteRun({.rows = 16, .batch_size = 4}, {}, data);
  run.spec.follows_loss_scale = true;
  EXPECT_THAT(Train(*run.session, run.spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a loss scale that changes needs")));
}

// All gradients are in memory at once.
TEST(FiniteTrainingTest, FusedUpdatesNeedLessMemoryAndAreTheSame) {
  const Quarters data(8, 1);
  const auto train = [&](bool fused, int64_t& bytes) {
    FiniteRun run = MakeFiniteRun({.rows = 8, .batch_size = 8},
                                  {.minimize = {.fused_update = fused}}, data);
    EXPECT_THAT(Train(*run.session, run.spec), IsOk());
    bytes = run.session->memory().measured_device_bytes;
    return ValuesOf(*run.session);
  };
  int64_t fused = 0;
  int64_t at_end = 0;
  EXPECT_EQ(train(true, fused), train(false, at_end));
  EXPECT_LE(fused, at_end);
}

}  // namespace
}  // namespace spillway
