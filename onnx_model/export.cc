#include "onnx_model/export.h"

#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "onnx_model/file/element_type.h"
#include "onnx_model/file/write_weights.h"

namespace spillway {
namespace {

onnx_model::ElementType TypeNamed(std::string_view name) {
  using onnx_model::ElementType;
  for (const ElementType type :
       {ElementType::kFloat16, ElementType::kBFloat16}) {
    if (ElementTypeName(type) == name) return type;
  }
  return ElementType::kFloat;  // of DOUBLE too: safetensors of ours lack it
}

}  // namespace

absl::StatusOr<TensorMap> OnnxWeights(
    const std::vector<OnnxVariable>& variables, const TensorMap& values) {
  TensorMap weights;
  for (const OnnxVariable& variable : variables) {
    const auto value = values.find(variable.name);
    if (value == values.end()) continue;
    absl::StatusOr<std::vector<float>> elements =
        onnx_model::InModelOrder(variable, value->second);
    if (!elements.ok()) return Annotate(elements.status(), variable.name);
    const onnx_model::ElementType type = TypeNamed(variable.element_type);
    const std::string bytes = onnx_model::ToBytes(type, *elements);
    HostTensor& weight = weights[variable.initializer];
    weight.type = {.dtype = *HostDTypeOf(type), .shape = variable.dims};
    weight.bytes.resize(bytes.size());
    std::memcpy(weight.bytes.data(), bytes.data(), bytes.size());
  }
  return weights;
}

absl::Status ExportOnnxWeights(const std::vector<OnnxVariable>& variables,
                               const TensorMap& values,
                               const std::string& path) {
  SPILLWAY_ASSIGN_OR_RETURN(const TensorMap weights,
                            OnnxWeights(variables, values));
  return WriteSafetensors(path, weights);
}

}  // namespace spillway
