#include "python/module/running/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "pybind11/functional.h"
#include "pybind11/stl.h"
#include "python/module/options.h"
#include "python/module/running/datasets.h"
#include "python/module/running/session.h"
#include "training/checkpoint.h"
#include "training/trainer.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

constexpr const char* kImages = "images";
constexpr const char* kLabels = "labels";

// Which programs train, and the rows that each update reads of `data`.
TrainerSpec TrainerSpecOf(const Step& step, const Dataset& data) {
  if (!step.training) {
    throw StatusError(InvalidArgument("the session's step does not train"));
  }
  const StepTraining& training = *step.training;
  TrainerSpec spec = training.programs.SpecFor(
      training.PlanFor(data.size(), step.batch_size), data);
  spec.communicator = training.communicator();
  return spec;
}

EvaluationProgram EvaluationOf(const Step& step, int program) {
  const ValueId correct = step.output("correct");
  if (!correct.is_valid()) {
    throw StatusError(InvalidArgument(
        "test: the evaluation step has no output 'correct', bool [batch]"));
  }
  return {.program = program,
          .batch_size = step.batch_size,
          .images = step.input(kImages).id,
          .labels = step.input(kLabels).id,
          .correct = correct};
}

py::object OrNone(const std::optional<double>& value) {
  if (!value) return py::none();
  return py::float_(*value);
}

py::dict DictOf(const EpochResult& result) {
  py::dict epoch;
  epoch["epoch"] = result.epoch;
  epoch["steps"] = result.num_steps;
  epoch["complete"] = result.is_complete;
  epoch["loss"] = result.loss;
  epoch["accuracy"] = OrNone(result.accuracy);
  epoch["test_accuracy"] = OrNone(result.test_accuracy);
  epoch["seconds"] = result.seconds;
  epoch["data_wait_seconds"] = result.data_wait_seconds;
  return epoch;
}

py::dict DictOf(const StepProgress& progress) {
  py::dict step;
  step["step"] = progress.update;
  step["steps"] = progress.num_updates;
  step["epoch"] = progress.epoch;
  step["loss"] = progress.loss;
  step["accuracy"] = OrNone(progress.accuracy);
  return step;
}

// A call of `callback` with a dict; a result that is true stops the training.
template <typename Result>
std::function<void(Result&)> CallbackOf(const py::object& callback) {
  if (callback.is_none()) return nullptr;
  return [&callback](Result& result) {
    const py::gil_scoped_acquire gil;
    const py::object answer = callback(DictOf(result));
    if (py::bool_(answer)) result.stop = true;
  };
}

// A number, or a function of the number of updates done before.
LrSchedule RateFrom(const py::object& rate, const Step& step) {
  const bool is_fed = std::ranges::any_of(
      step.inputs,
      [](const StepInput& input) { return input.name == kLearningRate; });
  if (rate.is_none() && is_fed) {
    throw StatusError(InvalidArgument(
        "learning_rate: the step is fed one, so it must be given"));
  }
  if (rate.is_none()) return nullptr;
  if (!is_fed) {
    throw StatusError(
        InvalidArgument("learning_rate: the step has its own; make it with "
                        "training_step(feed_learning_rate=True)"));
  }
  if (PyCallable_Check(rate.ptr()) == 0) {
    const auto constant = py::cast<double>(rate);
    return [constant](int64_t /*update*/) { return constant; };
  }
  return [&rate](int64_t update) {
    const py::gil_scoped_acquire gil;
    return py::cast<double>(rate(update));
  };
}

// Goes on from the file `path` if there is one, and saves it later, on rank 0.
absl::Status UseCheckpoint(const std::string& path, Updates& updates,
                           Session& session, TrainerSpec& spec) {
  if (path.empty()) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<TrainingState> state,
                            updates.Load(session, path, /*must_exist=*/false));
  if (state) spec.start = *state;
  if (RankOf(spec.communicator) > 0) return absl::OkStatus();
  spec.on_checkpoint = [&path, &session](const TrainingState& done) {
    return SaveCheckpoint(session, path, done);
  };
  return absl::OkStatus();
}

py::list ListOf(const std::vector<EpochResult>& results) {
  py::list epochs;
  for (const EpochResult& result : results) epochs.append(DictOf(result));
  return epochs;
}

py::list TrainOn(SessionHandle& handle, const py::object& data, int64_t epochs,
                 const py::object& test, const py::object& learning_rate,
                 bool shuffle, uint64_t seed, const py::object& on_step,
                 const py::object& on_epoch, const py::object& checkpoint,
                 int64_t checkpoint_updates) {
  const Step& step = handle.step();
  const std::shared_ptr<const Dataset> rows =
      DatasetFrom(data, step.data_inputs(), step);
  TrainerSpec spec = TrainerSpecOf(step, *rows);
  std::shared_ptr<const Dataset> test_rows;
  if (!test.is_none()) {
    const Step& evaluation = handle.evaluation();
    spec.evaluation =
        EvaluationOf(evaluation, static_cast<int>(step.programs.size()));
    test_rows = DatasetFrom(test, {kImages, kLabels}, evaluation);
    spec.test_data = test_rows.get();
  }
  spec.length.epochs = epochs;
  spec.learning_rate = RateFrom(learning_rate, step);
  spec.shuffle = shuffle;
  spec.shuffle_seed = seed;
  spec.stop = SignalCame;
  spec.on_step = CallbackOf<StepProgress>(on_step);
  spec.checkpoint_updates = checkpoint_updates;
  spec.on_epoch = CallbackOf<EpochResult>(on_epoch);
  const std::string path = checkpoint.is_none() ? "" : PathFrom(checkpoint);
  const std::vector<EpochResult> results = handle.With(
      [&](Session& session) -> absl::StatusOr<std::vector<EpochResult>> {
        SPILLWAY_RETURN_IF_ERROR(
            UseCheckpoint(path, *handle.updates(), session, spec));
        return Train(session, spec);
      });
  ThrowIfInterrupted();
  return ListOf(results);
}

}  // namespace

void BindTrain(py::module_& module) {
  module.def("_train", TrainOn, py::arg("session"), py::arg("data"),
             py::kw_only(), py::arg("epochs"), py::arg("test"),
             py::arg("learning_rate"), py::arg("shuffle"), py::arg("seed"),
             py::arg("on_step"), py::arg("on_epoch"), py::arg("checkpoint"),
             py::arg("checkpoint_updates"));
}

}  // namespace spillway::python
