#include "python/module/running/session.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/trace/timeline.h"
#include "onnx_model/export.h"
#include "onnx_model/write_initial_values.h"
#include "pybind11/stl.h"
#include "python/module/arrays.h"
#include "python/module/options.h"
#include "python/module/planning/tuning.h"
#include "python/module/running/feeds.h"
#include "training/checkpoint.h"
#include "tuner/saved_plan.h"
#include "tuner/tuned_session.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

// A Plan of this graph, or the path of a saved one.
SavedPlan PlanFrom(const py::object& plan, const Graph& graph) {
  if (!py::isinstance<Plan>(plan)) {
    return ValueOrThrow(LoadPlan(PathFrom(plan), graph));
  }
  SavedPlan saved = PlanOf(plan.cast<const Plan&>().result);
  ThrowIfError(CheckIsPlanOf(saved, graph));
  return saved;
}

// The session of a step that trains, on this rank.
void UseTraining(const StepTraining& training, StepOptions& options) {
  options.own_variables = training.programs.own_variables;
  if (!training.has_ranks()) return;
  options.communicator = training.communicator();
  if (options.communicator == nullptr) {
    throw StatusError(InvalidArgument(fmt::format(
        "the step is of {} ranks that are only predicted; one that runs is "
        "made with workers=spillway.workers()",
        SizeOf(training.workers))));
  }
  if (options.threads == 0) {
    options.threads = ThreadsOfRank(*options.communicator);
  }
  if (options.device.empty()) options.device = training.workers->device;
}

std::vector<Program> PlacedPrograms(const Step& step, const Step* evaluation,
                                    const RunOptions& options) {
  std::vector<Program> programs = step.programs;
  if (evaluation != nullptr) programs.push_back(evaluation->program());
  ThrowIfError(PlacePrograms(options.place, options.step, programs).status());
  return programs;
}

std::unique_ptr<SessionHandle> MakeSession(const StepPtr& step,
                                           const StepPtr& evaluation,
                                           const py::object& plan,
                                           const py::kwargs& arguments) {
  RunOptions options = RunOptionsFrom(arguments);
  if (step->training) UseTraining(*step->training, options.step);
  std::vector<Program> programs = [&] {
    const py::gil_scoped_release released;
    return PlacedPrograms(*step, evaluation.get(), options);
  }();
  SavedPlan saved;
  if (!plan.is_none()) {
    saved = PlanFrom(plan, programs[0].graph);
    options.step.plan = &saved;
    if (!options.step.device_memory && saved.device_memory) {
      options.step.device_memory = *saved.device_memory + step->update_bytes;
    }
  }
  return std::make_unique<SessionHandle>(step, evaluation, std::move(programs),
                                         options.step);
}

// Runs program `program` of the session, which is `step`.
py::dict RunStep(SessionHandle& handle, int program, const Step& step,
                 const py::kwargs& values, Timeline* timeline = nullptr) {
  const BorrowedFeeds borrowed = FeedsFrom(step, values);
  StepResult result = handle.With([&](Session& session) {
    return session.Step(program, borrowed.feeds, timeline);
  });
  py::dict outputs;
  for (const auto& [name, id] : step.outputs) {
    outputs[py::str(name)] = ArrayOf(std::move(result.fetched.at(id)));
  }
  return outputs;
}

py::array ScalarArray(double value) {
  const auto element = static_cast<float>(value);
  HostTensor tensor = {.type = {.dtype = DType::kFloat32, .shape = {}},
                       .bytes = std::vector<std::byte>(sizeof(element))};
  std::memcpy(tensor.bytes.data(), &element, sizeof(element));
  return ArrayOf(std::move(tensor));
}

// An update of several micro-batches or ranks: loss and accuracy are those of
// all of them.
py::dict RunUpdate(SessionHandle& handle, const py::kwargs& values,
                   Timeline* timeline) {
  const Step& step = handle.step();
  const BorrowedFields borrowed = FieldsFrom(step, values);
  UpdateResult result = handle.With([&](Session& session) {
    return handle.updates()->Run(session, borrowed.fields, borrowed.rate,
                                 timeline);
  });
  const TrainingProgram& program = step.training->programs.training;
  py::dict outputs;
  for (const auto& [name, id] : step.outputs) {
    const py::str key(name);
    if (id == program.loss) {
      outputs[key] = ScalarArray(result.progress.loss);
    } else if (id == program.accuracy) {
      outputs[key] = ScalarArray(result.progress.accuracy.value_or(0));
    } else {
      outputs[key] = ArrayOf(std::move(result.last_step.fetched.at(id)));
    }
  }
  return outputs;
}

py::dict RunOnce(SessionHandle& handle, const py::kwargs& values,
                 Timeline* timeline = nullptr) {
  const Step& step = handle.step();
  if (step.training && step.training->is_composed()) {
    return RunUpdate(handle, values, timeline);
  }
  return RunStep(handle, 0, step, values, timeline);
}

py::dict Run(SessionHandle& handle, const py::kwargs& values) {
  return RunOnce(handle, values);
}

py::dict Evaluate(SessionHandle& handle, const py::kwargs& values) {
  const auto program = static_cast<int>(handle.step().programs.size());
  return RunStep(handle, program, handle.evaluation(), values);
}

py::object StepLoss(SessionHandle& handle, const py::kwargs& values) {
  py::dict outputs = Run(handle, values);
  if (!handle.step().training) return outputs;
  return outputs["loss"].attr("item")();
}

void Trace(SessionHandle& handle, const py::object& path,
           const py::kwargs& values) {
  Timeline timeline;
  RunOnce(handle, values, &timeline);
  ThrowIfError(WriteChromeTrace({{.name = "a step", .timeline = &timeline}},
                                PathFrom(path)));
}

TensorMap ReadVariables(SessionHandle& handle) {
  return handle.With([](Session& session) { return session.ReadVariables(); });
}

py::dict Variables(SessionHandle& handle) {
  return DictOf(ReadVariables(handle));
}

void SetVariables(SessionHandle& handle, const py::dict& values) {
  const std::map<std::string, TensorType> types =
      handle.With([](Session& session) { return session.variable_types(); });
  TensorMap tensors;
  for (const auto& [key, value] : values) {
    const auto name = py::cast<std::string>(key);
    const auto type = types.find(name);
    if (type == types.end()) {
      throw StatusError(
          NotFound(fmt::format("there is no variable '{}'", name)));
    }
    tensors[name] = CopyOf(value, type->second, name);
  }
  handle.With(
      [&](Session& session) { return session.WriteVariables(tensors); });
}

void Save(SessionHandle& handle, const py::object& path) {
  const std::string file = PathFrom(path);
  handle.With([&](Session& session) {
    return handle.updates() != nullptr ? handle.updates()->Save(session, file)
                                       : SaveCheckpoint(session, file);
  });
}

void Load(SessionHandle& handle, const py::object& path) {
  const std::string file = PathFrom(path);
  handle.With([&](Session& session) -> absl::Status {
    if (handle.updates() == nullptr) {
      return LoadCheckpoint(file, session).status();
    }
    return handle.updates()->Load(session, file, /*must_exist=*/true).status();
  });
}

void ExportModel(SessionHandle& handle, const py::object& path,
                 bool for_inference) {
  const Step& step = handle.step();
  if (step.onnx == nullptr) {
    throw StatusError(FailedPrecondition(
        "the step is not of an ONNX model, so it cannot be exported as one"));
  }
  const std::string file = PathFrom(path);
  handle.With([&](Session& session) -> absl::Status {
    SPILLWAY_ASSIGN_OR_RETURN(const TensorMap values, session.ReadVariables());
    return ExportOnnx(*step.onnx, step.onnx_variables, values, file,
                      {.for_inference = for_inference});
  });
}

py::dict WeightsOf(SessionHandle& handle) {
  return DictOf(ValueOrThrow(
      OnnxWeights(handle.step().onnx_variables, ReadVariables(handle))));
}

py::dict Memory(SessionHandle& handle) {
  return DictOf(handle.With([](Session& session) { return session.memory(); }));
}

using SessionClass = py::class_<SessionHandle>;

void BindRuns(SessionClass& type) {
  type.def(
          "step", StepLoss,
          R"(Runs one step and returns its loss, a float (or, of a step without a
loss, what run returns).

Keyword arguments: the step's inputs, by name: NumPy arrays, tensors with
__dlpack__ in the host's memory (PyTorch, JAX), or what numpy.asarray takes.
Contiguous arrays of the input's dtype are not copied.

With accumulate=N, the rows of all N batches; the loss is their mean. With
workers, this rank's rows, and all ranks call it; the loss is that of all of
them.)")
      .def("run", Run, "As step, but returns all outputs, {name: NumPy array}.")
      .def("evaluate", Evaluate,
           "Runs the evaluation step and returns its outputs, {name: NumPy "
           "array}.")
      .def("trace", Trace, py::arg("path"),
           "Runs one step and writes its timeline as a Chrome trace. Keyword "
           "arguments: as step.");
}

void BindState(SessionClass& type) {
  type.def("variables", Variables,
           "Copies of all variables, {name: NumPy array}; slots of the "
           "optimizer too.")
      .def("set_variables", SetVariables, py::arg("values"),
           "Overwrites the named variables.")
      .def("save", Save, py::arg("path"),
           "Writes a checkpoint: a safetensors file with all variables and "
           "step numbers. With workers, all ranks call it, and rank 0 writes.")
      .def("load", Load, py::arg("path"),
           "Continues from a checkpoint, bitwise as the saved session would.")
      .def("export_onnx", ExportModel, py::arg("path"),
           py::arg("for_inference") = false,
           "Writes the imported ONNX file with the trained weights; "
           "for_inference: batch norm uses moving averages.")
      .def("onnx_weights", WeightsOf,
           "The weights of an imported model, {initializer: NumPy array}, in "
           "the model's order of dimensions.")
      .def(
          "checksum",
          [](SessionHandle& handle) { return Checksum(ReadVariables(handle)); },
          "16 hex digits: equal for bitwise equal variables.");
}

}  // namespace

SessionHandle::SessionHandle(StepPtr step, StepPtr evaluation,
                             std::vector<Program> programs,
                             const StepOptions& options)
    : step_(std::move(step)), evaluation_(std::move(evaluation)) {
  if (step_->training) updates_.emplace(*step_);
  absl::Status status;
  {
    const py::gil_scoped_release released;
    status = Open(std::move(programs), options);
  }
  ThrowIfInterrupted();
  ThrowIfError(status);
}

void SessionHandle::Close() {
  const py::gil_scoped_release released;
  const std::scoped_lock lock(mutex_);
  session_.reset();
}

const Step& SessionHandle::evaluation() const {
  if (evaluation_ == nullptr) {
    throw StatusError(FailedPrecondition(
        "the session has no evaluation step: Session(step, evaluation=...)"));
  }
  return *evaluation_;
}

absl::Status SessionHandle::Closed() {
  return FailedPrecondition("the session is closed");
}

absl::Status SessionHandle::Open(std::vector<Program> programs,
                                 const StepOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(session_,
                            CreateTunedSession(std::move(programs), options));
  if (step_->onnx != nullptr) {
    SPILLWAY_RETURN_IF_ERROR(
        WriteInitialValues(*step_->onnx, step_->onnx_variables, *session_));
  }
  return updates_ ? updates_->Begin(*session_) : absl::OkStatus();
}

void BindSession(py::module_& module) {
  SessionClass type(
      module, "Session",
      R"(A step and its variables on a device, planned within its budget.

step: of Model.training_step or GraphBuilder.
evaluation: a step over the same variables, for evaluate(); None: none.
plan: a Plan of tune for this step, or the path of a saved one; None: as the
    keyword arguments say.
Keyword arguments: see spillway.options; with device_memory, the tuner chooses
what is swapped and recomputed, unless lms is "off".

Everything is planned and allocated here; a step allocates nothing. Errors:
OutOfBudget, before anything is allocated. Threads: calls of several threads
run one after the other. A context manager: `with` closes it.)");
  BindRuns(type);
  BindState(type);
  type.def(py::init(&MakeSession), py::arg("step"),
           py::arg("evaluation") = nullptr, py::arg("plan") = py::none())
      .def_property_readonly(
          "memory", Memory,
          "Predicted and measured bytes; they are equal. A dict.")
      .def_property_readonly(
          "step_number",
          [](SessionHandle& handle) {
            return handle.With([&](Session& session) {
              return handle.updates() != nullptr
                         ? handle.updates()->Done(session)
                         : session.step_numbers()[0];
            });
          },
          "Completed steps.")
      .def("close", &SessionHandle::Close,
           "Frees the memory; no call may follow.")
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](SessionHandle& handle,
                          const py::args& /*exception*/) { handle.Close(); });
}

}  // namespace spillway::python
