#include "onnx_model/training_data.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/tensors.h"

namespace spillway {
namespace {

// [S, a, b, 1, 1] as [S, a, b]: labels may have the dimensions of the output.
void DropTrailingOnes(int rank, HostTensor& tensor) {
  std::vector<int64_t> dims = tensor.type.shape.dims();
  while (static_cast<int>(dims.size()) > rank && dims.back() == 1) {
    dims.pop_back();
  }
  tensor.type.shape = Shape(dims);
}

absl::Status CheckLabels(const HostTensor& tensor) {
  if (tensor.type.dtype != DType::kInt64) return absl::OkStatus();
  const auto* labels = tensor.data<int64_t>();
  for (int64_t i = 0; i < tensor.type.num_elements(); ++i) {
    if (labels[i] >= std::numeric_limits<int32_t>::min() &&
        labels[i] <= std::numeric_limits<int32_t>::max()) {
      continue;
    }
    return InvalidArgument(fmt::format(
        "label {} of sample {} is no class", labels[i],
        i / (tensor.type.num_elements() / tensor.type.shape.dim(0))));
  }
  return absl::OkStatus();
}

// The type of all samples of `value`.
TensorType TypeOfSamples(const OnnxValue& value, int64_t samples) {
  std::vector<int64_t> dims = value.tensor.shape().dims();
  dims[0] = samples;
  return {.dtype = value.tensor.dtype(), .shape = Shape(dims)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<OnnxTrainingData>> OnnxTrainingData::Open(
    const std::string& path, const OnnxNetwork& network,
    const std::string& target) {
  SPILLWAY_ASSIGN_OR_RETURN(TensorMap file, ReadSafetensors(path));
  std::unique_ptr<OnnxTrainingData> data(new OnnxTrainingData());
  std::vector<std::pair<OnnxValue, bool>> wanted;
  for (const OnnxValue& input : network.inputs)
    wanted.emplace_back(input, false);
  if (network.target.is_valid()) {
    const bool is_labels = network.target.dtype() == DType::kInt32;
    const OnnxValue value = {.name = !target.empty() ? target
                                     : is_labels     ? "labels"
                                                     : "targets",
                             .tensor = network.target,
                             .element_type = is_labels ? "INT32" : "FLOAT"};
    wanted.insert(wanted.begin() + (wanted.empty() ? 0 : 1), {value, true});
  }
  if (wanted.empty()) {
    return InvalidArgument("the model has no inputs to be trained on");
  }
  for (const auto& [value, is_target] : wanted) {
    SPILLWAY_RETURN_IF_ERROR(Annotate(data->Add(file, value, is_target), path));
  }
  return data;
}

absl::Status OnnxTrainingData::Add(TensorMap& file, const OnnxValue& value,
                                   bool is_target) {
  const auto found = file.find(value.name);
  if (found == file.end()) {
    return InvalidArgument(fmt::format("has no tensor {}", value.name));
  }
  HostTensor tensor = std::move(found->second);
  if (tensor.type.shape.rank() == 0 || value.tensor.shape().rank() == 0) {
    return InvalidArgument(
        fmt::format("{} is one number, it needs samples", value.name));
  }
  OnnxValue samples = value;
  if (is_target) {
    DropTrailingOnes(value.tensor.shape().rank(), tensor);
    if (value.element_type == "INT32" && tensor.type.dtype == DType::kInt64) {
      SPILLWAY_RETURN_IF_ERROR(Annotate(CheckLabels(tensor), value.name));
      samples.element_type = "INT64";
    }
  }
  const int64_t count = tensor.type.shape.dim(0);
  if (size_ < 0) size_ = count;
  if (size_ != count) {
    return InvalidArgument(fmt::format("{} has {} samples, other tensors {}",
                                       value.name, count, size_));
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      tensor, ToFeed(tensor, samples, TypeOfSamples(value, count)));
  TensorType field = tensor.type;
  std::vector<int64_t> dims = field.shape.dims();
  dims.erase(dims.begin());
  field.shape = Shape(dims);
  fields_.push_back(field);
  tensors_.push_back(std::move(tensor));
  return absl::OkStatus();
}

absl::Status OnnxTrainingData::Read(int64_t index,
                                    std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  for (size_t i = 0; i < fields_.size(); ++i) {
    const auto bytes = static_cast<size_t>(fields_[i].num_bytes());
    std::memcpy(buffers[i],
                tensors_[i].bytes.data() + static_cast<size_t>(index) * bytes,
                bytes);
  }
  return absl::OkStatus();
}

}  // namespace spillway
