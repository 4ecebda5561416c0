#include "python/module/running/feeds.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "pybind11/stl.h"
#include "python/module/status.h"

namespace spillway::python {

namespace py = pybind11;

BorrowedFeeds FeedsFrom(const Step& step, const py::kwargs& values) {
  BorrowedFeeds borrowed;
  borrowed.tensors.reserve(values.size());
  for (const auto& [key, value] : values) {
    const auto name = py::cast<std::string>(key);
    const StepInput& input = step.input(name);
    borrowed.tensors.push_back(TensorOf(value, input.type, name));
    borrowed.feeds[input.id] = borrowed.tensors.back().view;
  }
  return borrowed;
}

BorrowedFields FieldsFrom(const Step& step, const py::kwargs& values) {
  for (const auto& [key, value] : values)
    step.input(py::cast<std::string>(key));
  BorrowedFields borrowed;
  for (const StepInput& input : step.inputs) {
    if (!values.contains(input.name)) {
      throw StatusError(
          InvalidArgument(fmt::format("{} is not fed", input.name)));
    }
    ArrayTensor tensor =
        TensorOf(values[py::str(input.name)], input.type, input.name);
    if (input.name == kLearningRate) {
      borrowed.rate = *static_cast<const float*>(tensor.view.data);
      continue;
    }
    borrowed.fields.push_back(tensor.view);
    borrowed.tensors.push_back(std::move(tensor));
  }
  return borrowed;
}

py::dict DictOf(TensorMap&& tensors) {
  py::dict arrays;
  for (auto& [name, tensor] : tensors) {
    arrays[py::str(name)] = ArrayOf(std::move(tensor));
  }
  return arrays;
}

py::dict DictOf(const MemoryUse& use) {
  py::dict memory;
  memory["predicted_device_bytes"] = use.predicted_device_bytes;
  memory["measured_device_bytes"] = use.measured_device_bytes;
  memory["predicted_host_bytes"] = use.predicted_host_bytes;
  memory["measured_host_bytes"] = use.measured_host_bytes;
  memory["allocations_in_steps"] = use.allocations_in_steps;
  return memory;
}

}  // namespace spillway::python
