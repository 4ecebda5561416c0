#include "python/module/step.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status_macros.h"
#include "graph/format/json_format.h"
#include "graph/well_known_ops.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "python/module/arrays.h"
#include "python/module/options.h"
#include "python/module/status.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

py::tuple TypeTuple(const TensorType& type) {
  return py::make_tuple(DTypeNameOf(type.dtype), ShapeOf(type.shape));
}

py::dict InputsOf(const Step& step) {
  py::dict inputs;
  for (const auto& [name, input] : step.inputs) {
    inputs[py::str(name)] = TypeTuple(input.type);
  }
  return inputs;
}

py::dict OutputsOf(const Step& step) {
  py::dict outputs;
  for (const auto& [name, id] : step.outputs) {
    outputs[py::str(name)] = TypeTuple(step.graph.type(id));
  }
  return outputs;
}

std::string Describe(const Step& step) {
  return fmt::format("<spillway.Step {}: {} nodes, batch {}, {} parameters>",
                     step.name, step.graph.num_nodes(), step.batch_size,
                     CountParameters(step.graph));
}

}  // namespace

Program Step::program() const {
  Program program = {.graph = graph};
  for (const auto& [name, id] : outputs) program.fetches.push_back(id);
  return program;
}

const StepInput& Step::input(const std::string& name) const {
  const auto found = inputs.find(name);
  if (found != inputs.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [other, input] : inputs) known.push_back(other);
  throw StatusError(InvalidArgument(fmt::format(
      "the step has no input '{}': it has {}", name, fmt::join(known, ", "))));
}

Step StepOf(std::string name, Graph graph) {
  Step step = {.name = std::move(name), .graph = std::move(graph)};
  for (const Node& node : step.graph.nodes()) {
    if (node.op != kPlaceholder) continue;
    step.inputs[node.name] = {.id = node.outputs[0],
                              .type = step.graph.type(node.outputs[0])};
  }
  return step;
}

Step OptimizedStep(std::string name, GraphBuilder&& g, const Outputs& outputs,
                   const std::vector<Pass>& passes) {
  std::vector<ValueId> keep;
  for (const auto& [output, tensor] : outputs) {
    if (tensor.is_valid()) keep.push_back(tensor.id());
  }
  const Graph graph = ValueOrThrow(std::move(g).Build());
  OptimizedGraph optimized =
      ValueOrThrow(RunPasses(graph, StandardOps(), passes, keep));
  Step step = StepOf(std::move(name), std::move(optimized.graph));
  for (const auto& [output, tensor] : outputs) {
    if (!tensor.is_valid()) continue;
    step.outputs.emplace_back(output, optimized.at(tensor.id()));
  }
  return step;
}

void BindStep(py::module_& module) {
  py::class_<Step, std::shared_ptr<Step>>(
      module, "Step",
      "A static graph that can be planned, tuned and run: a training step, or "
      "the forward pass alone. Made by Model and GraphBuilder; never changes.")
      .def_readonly("name", &Step::name)
      .def_readonly("batch_size", &Step::batch_size)
      .def_property_readonly("inputs", InputsOf,
                             "What a run is fed: {name: (dtype, shape)}.")
      .def_property_readonly("outputs", OutputsOf,
                             "What a run returns: {name: (dtype, shape)}.")
      .def_property_readonly(
          "num_nodes", [](const Step& step) { return step.graph.num_nodes(); })
      .def_property_readonly(
          "num_parameters",
          [](const Step& step) { return CountParameters(step.graph); },
          "The number of elements of all trainable variables.")
      .def(
          "save_graph",
          [](const Step& step, const py::object& path) {
            ThrowIfError(
                WriteFileAtomically(PathFrom(path), FormatGraph(step.graph)));
          },
          py::arg("path"),
          "Writes the graph as JSON, for the program's --graph "
          "(docs/graph_file.md).")
      .def("__repr__", Describe);
}

}  // namespace spillway::python
