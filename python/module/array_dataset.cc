#include "python/module/array_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "python/module/status.h"

namespace spillway::python {
namespace {

namespace py = pybind11;

int64_t RowsOf(py::handle array, const std::string& name) {
  try {
    return static_cast<int64_t>(py::len(array));
  } catch (const py::error_already_set&) {
    throw StatusError(
        InvalidArgument(fmt::format("{} is no array of samples", name)));
  }
}

// `type` with `rows` in place of the batch size.
TensorType WithRows(const TensorType& type, int64_t rows,
                    const std::string& name) {
  std::vector<int64_t> dims = type.shape.dims();
  if (dims.empty()) {
    throw StatusError(InvalidArgument(
        fmt::format("{} is one number a step, so it cannot be data", name)));
  }
  dims[0] = rows;
  return {.dtype = type.dtype, .shape = Shape(dims)};
}

}  // namespace

ArrayDataset::ArrayDataset(const py::dict& arrays,
                           const std::vector<std::string>& names,
                           const Step& step) {
  for (const auto& [key, value] : arrays) {
    const auto name = py::cast<std::string>(key);
    step.input(name);
    if (std::ranges::find(names, name) == names.end()) {
      throw StatusError(InvalidArgument(
          fmt::format("{} is fed by the training itself", name)));
    }
  }
  for (const std::string& name : names) {
    if (!arrays.contains(name)) {
      throw StatusError(InvalidArgument(fmt::format(
          "the data has no '{}': it needs {}", name, fmt::join(names, ", "))));
    }
    const py::object value = arrays[py::str(name)];
    const int64_t rows = RowsOf(value, name);
    if (tensors_.empty()) size_ = rows;
    if (rows != size_) {
      throw StatusError(InvalidArgument(fmt::format(
          "{} has {} samples, {} has {}", names[0], size_, name, rows)));
    }
    const TensorType& type = step.input(name).type;
    tensors_.push_back(TensorOf(value, WithRows(type, rows, name), name));
    const std::vector<int64_t> dims = type.shape.dims();
    fields_.push_back(
        {.dtype = type.dtype,
         .shape = Shape(std::vector<int64_t>(dims.begin() + 1, dims.end()))});
  }
}

absl::Status ArrayDataset::Read(int64_t index,
                                std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  for (size_t i = 0; i < fields_.size(); ++i) {
    const auto bytes = static_cast<size_t>(fields_[i].num_bytes());
    const auto* data = static_cast<const std::byte*>(tensors_[i].view.data);
    std::memcpy(buffers[i], data + static_cast<size_t>(index) * bytes, bytes);
  }
  return absl::OkStatus();
}

}  // namespace spillway::python
