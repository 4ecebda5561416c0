// Step: what a session runs, with its feeds and fetches by name, as Python sees
// it.
#ifndef SPILLWAY_PYTHON_MODULE_GRAPH_STEP_H_
#define SPILLWAY_PYTHON_MODULE_GRAPH_STEP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "graph/builder/builder.h"
#include "graph/graph.h"
#include "graph/passes/pass.h"
#include "onnx_model/import.h"
#include "pybind11/pybind11.h"
#include "python/module/running/workers.h"
#include "training/loop/micro_batches.h"
#include "training/loop/training_programs.h"

namespace spillway::python {

struct StepInput {
  std::string name = {};
  ValueId id = {};  // in the first program; invalid: fed to the update alone
  TensorType type = {};  // of what a call is fed: of all its micro-batches
};

// How a step trains.
struct StepTraining {
  // The programs' values; the programs themselves are the step's. Its fields
  // are the step's data inputs, in order.
  TrainingPrograms programs = {};
  int64_t accumulate = 1;  // micro-batches of an update, of each rank
  WorkersPtr workers = {};

  bool has_ranks() const { return SizeOf(workers) > 1; }
  // Null: there are no ranks, or they are only predicted.
  Communicator* communicator() const { return CommunicatorOf(workers); }
  // An update is more than one run of one program.
  bool is_composed() const { return accumulate > 1 || has_ranks(); }
  // Those of all ranks in an update.
  int64_t micro_batches() const { return accumulate * SizeOf(workers); }
  // Which of `rows` rows each update reads, in batches of `batch_size`; what
  // does not fill an update is left out.
  MicroBatchPlan PlanFor(int64_t rows, int64_t batch_size) const;
};

// Immutable once made; shared by plans and sessions.
struct Step {
  std::string name = {};
  // The first is what plans are made of; of several micro-batches an update,
  // the update follows.
  std::vector<Program> programs = {};
  std::vector<StepInput> inputs = {};  // in the order of the graph
  std::vector<std::pair<std::string, ValueId>> outputs = {};  // fetched
  std::optional<StepTraining> training = {};  // the first output is the loss
  int64_t batch_size = 0;                     // of a micro-batch
  // Of the device, for what only the update has, an optimizer's slots: a
  // session needs them beside the plan of the first program.
  int64_t update_bytes = 0;
  // Of an ONNX model: the file, and which variables it has.
  std::shared_ptr<const OnnxModel> onnx = {};
  std::vector<OnnxVariable> onnx_variables = {};

  const Program& program() const { return programs.front(); }
  const Graph& graph() const { return program().graph; }
  // Throws InvalidArgument naming all inputs if there is none of this name.
  const StepInput& input(const std::string& name) const;
  // Those that are data: all but the learning rate.
  std::vector<std::string> data_inputs() const;
  // Invalid: there is none.
  ValueId output(const std::string& name) const;
};
using StepPtr = std::shared_ptr<const Step>;

inline constexpr const char* kLearningRate = "learning_rate";

using Outputs = std::vector<std::pair<std::string, Tensor>>;

// The finished graph of `g` after the passes, with those of `outputs` that are
// valid; it does not train. Throws the builder's error.
Step OptimizedStep(std::string name, GraphBuilder&& g, const Outputs& outputs,
                   const std::vector<Pass>& passes);

// The step of `programs`, whose fetches have the names `fetches`. Throws
// InvalidArgument for fetches of a step with several micro-batches.
Step TrainingStepOf(std::string name, TrainingPrograms programs,
                    const std::vector<std::string>& fetches, int64_t batch_size,
                    int64_t accumulate, WorkersPtr workers);

// The classes Step, and Model with the functions that make models: zoo and
// import_onnx.
void BindStep(pybind11::module_& module);
void BindModels(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_GRAPH_STEP_H_
