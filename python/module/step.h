// Step: one static graph with its feeds and fetches by name, as Python sees it.
#ifndef SPILLWAY_PYTHON_MODULE_STEP_H_
#define SPILLWAY_PYTHON_MODULE_STEP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "graph/builder/builder.h"
#include "graph/graph.h"
#include "graph/passes/pass.h"
#include "onnx_model/import.h"
#include "pybind11/pybind11.h"

namespace spillway::python {

struct StepInput {
  ValueId id = {};
  TensorType type = {};
};

// Immutable once made; shared by plans and sessions.
struct Step {
  std::string name = {};
  Graph graph = {};
  std::map<std::string, StepInput> inputs = {};  // all Placeholders, by name
  std::vector<std::pair<std::string, ValueId>> outputs = {};  // fetched
  bool has_loss = false;  // the first output is the loss
  int64_t batch_size = 0;
  // Of an ONNX model: the file, and which variables it has.
  std::shared_ptr<const OnnxModel> onnx = {};
  std::vector<OnnxVariable> onnx_variables = {};

  Program program() const;
  // Throws InvalidArgument naming all inputs if there is none of this name.
  const StepInput& input(const std::string& name) const;
};
using StepPtr = std::shared_ptr<const Step>;

// `graph` with its Placeholders as inputs.
Step StepOf(std::string name, Graph graph);

using Outputs = std::vector<std::pair<std::string, Tensor>>;

// The finished graph of `g` after the passes, with those of `outputs` that are
// valid. Throws the builder's error.
Step OptimizedStep(std::string name, GraphBuilder&& g, const Outputs& outputs,
                   const std::vector<Pass>& passes);

// The classes Step, and Model with the functions that make models: zoo and
// import_onnx.
void BindStep(pybind11::module_& module);
void BindModels(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_STEP_H_
