#include "onnx_model/file/initial_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "onnx_model/file/constant.h"

namespace spillway::onnx_model {
namespace {

using Initializers = std::map<std::string, const onnx::TensorProto*>;

// In the model's order.
absl::StatusOr<std::vector<float>> ValuesOf(const OnnxVariable& variable,
                                            const Initializers& initializers,
                                            const std::string& path) {
  if (!variable.values.empty()) {
    return std::vector<float>(variable.values.begin(), variable.values.end());
  }
  const auto found = initializers.find(variable.initializer);
  if (found == initializers.end()) {
    return InvalidArgument("is not in the file");
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::string bytes,
                            BytesOf(*found->second, path));
  return ToFloats(TypeOf(*found->second), bytes);
}

HostTensor ToTensor(const Shape& shape, const std::vector<float>& values) {
  HostTensor tensor = {.type = {.dtype = DType::kFloat32, .shape = shape}};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

}  // namespace

std::vector<float> Permuted(std::span<const float> x,
                            const std::vector<int64_t>& dims,
                            const std::vector<int>& perm) {
  if (std::ranges::is_sorted(perm)) return {x.begin(), x.end()};
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  const auto last = static_cast<size_t>(perm.back());
  const int64_t inner = dims[last];
  const int64_t step = strides[last];
  std::vector<float> y;
  y.reserve(x.size());
  std::vector<int64_t> place(perm.size(), 0);
  int64_t from = 0;
  while (y.size() < x.size()) {
    for (int64_t i = 0; i < inner; ++i) {
      y.push_back(x[static_cast<size_t>(from + i * step)]);
    }
    // The next row.
    for (size_t i = perm.size() - 1; i-- > 0;) {
      const auto dim = static_cast<size_t>(perm[i]);
      from += strides[dim];
      if (++place[i] < dims[dim]) break;
      from -= strides[dim] * dims[dim];
      place[i] = 0;
    }
  }
  return y;
}

absl::StatusOr<TensorMap> ReadInitialValues(
    const ModelFile& file, const std::vector<OnnxVariable>& variables) {
  Initializers initializers;
  for (const onnx::TensorProto& tensor : file.graph().initializer()) {
    initializers.emplace(tensor.name(), &tensor);
  }
  TensorMap values;
  for (const OnnxVariable& variable : variables) {
    if (variable.fill.has_value()) continue;
    absl::StatusOr<std::vector<float>> read =
        ValuesOf(variable, initializers, file.path());
    if (!read.ok()) {
      return Annotate(
          read.status(),
          fmt::format("{}: initializer {}", file.path(), variable.initializer));
    }
    SPILLWAY_CHECK(read->size() ==
                   static_cast<size_t>(variable.dims.num_elements()));
    values.emplace(
        variable.name,
        ToTensor(variable.shape,
                 Permuted(*read, variable.parts.dims(), variable.perm)));
  }
  return values;
}

absl::Status ReplaceInitializers(const TensorMap& tensors, ModelFile& file) {
  std::map<std::string, onnx::TensorProto*> initializers;
  for (onnx::TensorProto& tensor :
       *file.mutable_model().mutable_graph()->mutable_initializer()) {
    initializers.emplace(tensor.name(), &tensor);
  }
  for (const auto& [name, tensor] : tensors) {
    const auto found = initializers.find(name);
    if (found == initializers.end()) {
      return InvalidArgument(fmt::format("there is no initializer {}", name));
    }
    const onnx::TensorProto& old = *found->second;
    if (HostDTypeOf(TypeOf(old)) != tensor.type.dtype ||
        Shape(DimsOf(old)) != tensor.type.shape) {
      return InvalidArgument(fmt::format(
          "initializer {} is {} {}, not {}", name, ElementTypeName(TypeOf(old)),
          Shape(DimsOf(old)).ToString(), tensor.type.ToString()));
    }
  }
  for (const auto& [name, tensor] : tensors) {
    onnx::TensorProto replaced;
    const onnx::TensorProto& old = *initializers.at(name);
    replaced.set_name(name);
    replaced.set_data_type(old.data_type());
    *replaced.mutable_dims() = old.dims();
    replaced.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
    *initializers.at(name) = std::move(replaced);
  }
  return absl::OkStatus();
}

}  // namespace spillway::onnx_model
