#include "python/module/graph/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status_macros.h"
#include "graph/format/json_format.h"
#include "graph/well_known_ops.h"
#include "models/zoo.h"
#include "python/module/arrays.h"
#include "python/module/graph/numpy_op.h"
#include "python/module/options.h"
#include "python/module/status.h"
#include "tuner/prepare_step.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

py::tuple TypeTuple(const TensorType& type) {
  return py::make_tuple(DTypeNameOf(type.dtype), ShapeOf(type.shape));
}

py::dict InputTypes(const Step& step) {
  py::dict inputs;
  for (const StepInput& input : step.inputs) {
    inputs[py::str(input.name)] = TypeTuple(input.type);
  }
  return inputs;
}

py::dict OutputTypes(const Step& step) {
  py::dict outputs;
  for (const auto& [name, id] : step.outputs) {
    outputs[py::str(name)] = TypeTuple(step.graph().type(id));
  }
  return outputs;
}

std::string Describe(const Step& step) {
  std::string batch = fmt::format("batch {}", step.batch_size);
  if (step.training && step.training->micro_batches() > 1) {
    batch += fmt::format(" x {}", step.training->micro_batches());
  }
  return fmt::format("<spillway.Step {}: {} nodes, {}, {} parameters>",
                     step.name, step.graph().num_nodes(), batch,
                     CountParameters(step.graph()));
}

// All Placeholders but those of `own`.
std::vector<StepInput> FedOf(const Graph& graph,
                             const std::vector<ValueId>& own) {
  std::vector<StepInput> inputs;
  for (const Node& node : graph.nodes()) {
    if (node.op != kPlaceholder) continue;
    const ValueId id = node.outputs[0];
    if (std::ranges::find(own, id) != own.end()) continue;
    inputs.push_back({.name = node.name, .id = id, .type = graph.type(id)});
  }
  return inputs;
}

// The inputs of `step` have the rows of all micro-batches of an update.
void Accumulate(Step& step, int64_t micro_batches) {
  for (StepInput& input : step.inputs) {
    if (input.name == kLearningRate) continue;
    std::vector<int64_t> dims = input.type.shape.dims();
    if (dims.empty()) {
      throw StatusError(InvalidArgument(fmt::format(
          "{} is one number a step, so it has no rows to divide", input.name)));
    }
    dims[0] *= micro_batches;
    input.type.shape = ShapeFrom(dims);
  }
}

// Of a step with an update of its own.
int64_t UpdateBytes(const Step& step) {
  if (step.programs.size() == 1) return 0;
  std::vector<const Program*> all;
  for (const Program& program : step.programs) all.push_back(&program);
  return ValueOrThrow(BytesOfOtherResidents(all, Ops())).front();
}

void SetFields(const Step& step, TrainingProgram& program) {
  program.images = {};
  program.labels = {};
  program.more_fields.clear();
  for (const std::string& name : step.data_inputs()) {
    const ValueId id = step.input(name).id;
    if (!program.images.is_valid()) {
      program.images = id;
    } else if (!program.labels.is_valid()) {
      program.labels = id;
    } else {
      program.more_fields.push_back(id);
    }
  }
}

}  // namespace

MicroBatchPlan StepTraining::PlanFor(int64_t rows, int64_t batch_size) const {
  return ValueOrThrow(MicroBatchPlan::Create(
      {.algorithm = accumulate > 1 ? TrainAlgorithm::kLoopedMinibatch
                                   : TrainAlgorithm::kMinibatch,
       .rows = rows,
       .batch_size = batch_size,
       .parallel_batches = accumulate,
       .tail = Tail::kDrop,
       .world_size = SizeOf(workers)}));
}

const StepInput& Step::input(const std::string& wanted) const {
  std::vector<std::string> known;
  for (const StepInput& input : inputs) {
    if (input.name == wanted) return input;
    known.push_back(input.name);
  }
  throw StatusError(
      InvalidArgument(fmt::format("the step has no input '{}': it has {}",
                                  wanted, fmt::join(known, ", "))));
}

std::vector<std::string> Step::data_inputs() const {
  std::vector<std::string> names;
  for (const StepInput& input : inputs) {
    if (input.name != kLearningRate) names.push_back(input.name);
  }
  return names;
}

ValueId Step::output(const std::string& wanted) const {
  for (const auto& [name, id] : outputs) {
    if (name == wanted) return id;
  }
  return {};
}

Step OptimizedStep(std::string name, GraphBuilder&& g, const Outputs& outputs,
                   const std::vector<Pass>& passes) {
  std::vector<ValueId> keep;
  for (const auto& [output, tensor] : outputs) {
    if (tensor.is_valid()) keep.push_back(tensor.id());
  }
  const Graph graph = ValueOrThrow(std::move(g).Build());
  OptimizedGraph optimized =
      ValueOrThrow(RunPasses(graph, Ops(), passes, keep));
  Step step = {.name = std::move(name),
               .inputs = FedOf(optimized.graph, /*own=*/{})};
  Program program;
  for (const auto& [output, tensor] : outputs) {
    if (!tensor.is_valid()) continue;
    const ValueId id = optimized.at(tensor.id());
    step.outputs.emplace_back(output, id);
    program.fetches.push_back(id);
  }
  program.graph = std::move(optimized.graph);
  step.programs.push_back(std::move(program));
  return step;
}

Step TrainingStepOf(std::string name, TrainingPrograms programs,
                    const std::vector<std::string>& fetches, int64_t batch_size,
                    int64_t accumulate, WorkersPtr workers) {
  if (accumulate > 1 && !fetches.empty()) {
    throw StatusError(InvalidArgument(fmt::format(
        "fetches: an update of {} micro-batches returns loss and accuracy, not "
        "{}",
        accumulate, fmt::join(fetches, ", "))));
  }
  Step step = {.name = std::move(name),
               .programs = std::move(programs.programs),
               .batch_size = batch_size};
  step.update_bytes = UpdateBytes(step);
  TrainingProgram& program = programs.training;
  step.inputs = FedOf(step.graph(), {program.rank_weight, program.turn,
                                     program.weights, program.loss_scale});
  if (programs.update && programs.update->learning_rate.is_valid()) {
    step.inputs.push_back({.name = kLearningRate,
                           .type = {.dtype = DType::kFloat32, .shape = {}}});
  }
  program.batch_size = batch_size;
  SetFields(step, program);
  if (accumulate > 1) Accumulate(step, accumulate);
  step.outputs = {{"loss", program.loss}};
  if (program.accuracy.is_valid()) {
    step.outputs.emplace_back("accuracy", program.accuracy);
  }
  for (size_t i = 0; i < fetches.size(); ++i) {
    step.outputs.emplace_back(fetches[i], program.fetches[i]);
  }
  step.training = {.programs = std::move(programs),
                   .accumulate = accumulate,
                   .workers = std::move(workers)};
  return step;
}

void BindStep(py::module_& module) {
  py::class_<Step, std::shared_ptr<Step>>(
      module, "Step",
      "A static graph that can be planned, tuned and run: a training step, or "
      "the forward pass alone. Made by Model and GraphBuilder; never changes.")
      .def_readonly("name", &Step::name)
      .def_readonly("batch_size", &Step::batch_size,
                    "Of one run of the graph: of a micro-batch.")
      .def_property_readonly(
          "accumulate",
          [](const Step& step) {
            return step.training ? step.training->accumulate : 1;
          },
          "The number of micro-batches, of this rank, of which an update is "
          "made.")
      .def_property_readonly("inputs", InputTypes,
                             "What a run is fed: {name: (dtype, shape)}.")
      .def_property_readonly("outputs", OutputTypes,
                             "What a run returns: {name: (dtype, shape)}.")
      .def_property_readonly(
          "num_nodes",
          [](const Step& step) { return step.graph().num_nodes(); })
      .def_property_readonly(
          "num_parameters",
          [](const Step& step) { return CountParameters(step.graph()); },
          "The number of elements of all trainable variables.")
      .def(
          "save_graph",
          [](const Step& step, const py::object& path) {
            ThrowIfError(
                WriteFileAtomically(PathFrom(path), FormatGraph(step.graph())));
          },
          py::arg("path"),
          "Writes the graph as JSON, for the program's --graph "
          "(docs/graph_file.md).")
      .def("__repr__", Describe);
}

}  // namespace spillway::python
