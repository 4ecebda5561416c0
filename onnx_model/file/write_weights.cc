#include "onnx_model/file/write_weights.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/bfloat16.h"
#include "base/file.h"
#include "base/float16.h"
#include "base/status_macros.h"
#include "onnx_model/file/constant.h"
#include "onnx_model/file/initial_values.h"

namespace spillway::onnx_model {
namespace {

constexpr int64_t kMostInlineBytes = int64_t{3} << 29;  // 1.5 GiB
constexpr size_t kAlignment = 4096;                     // of external data

template <typename To, typename Convert>
std::string Pack(const std::vector<float>& values, Convert convert) {
  std::string bytes(values.size() * sizeof(To), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const To value = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof value);
  }
  return bytes;
}

// The permutation that undoes `perm`, and the dimensions that it is applied to.
std::vector<int> Inverse(const std::vector<int>& perm) {
  std::vector<int> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    inverse[static_cast<size_t>(perm[i])] = static_cast<int>(i);
  }
  return inverse;
}

bool IsExternal(const onnx::TensorProto& tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL;
}

// Sets the elements, wherever they were before.
void SetBytes(std::string bytes, onnx::TensorProto& tensor) {
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(bytes));
}

// Nodes of constants whose value has been trained: initializers instead.
void RemoveNodesOf(const std::set<std::string>& values,
                   onnx::GraphProto& graph) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    const bool goes =
        node.output_size() == 1 && values.contains(node.output(0));
    if (!goes) kept.Add(std::move(node));
  }
  graph.mutable_node()->Swap(&kept);
}

void SetInferenceMode(onnx::GraphProto& graph) {
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (node.op_type() != "BatchNormalization" ||
        !IsDefaultDomain(node.domain())) {
      continue;
    }
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.name() == "training_mode") attribute.set_i(0);
    }
    while (node.output_size() > 1) node.mutable_output()->RemoveLast();
  }
}

class ModelWriter {
 public:
  ModelWriter(const ModelFile& file, const std::string& path)
      : model_(file.model()), source_(file.path()), path_(path) {}

  absl::Status SetValues(const std::vector<OnnxVariable>& variables,
                         const TensorMap& values) {
    std::map<std::string, onnx::TensorProto*> initializers;
    for (onnx::TensorProto& tensor :
         *model_.mutable_graph()->mutable_initializer()) {
      initializers.emplace(tensor.name(), &tensor);
      is_external_ |= IsExternal(tensor);
    }
    std::set<std::string> made;
    for (const OnnxVariable& variable : variables) {
      const auto value = values.find(variable.name);
      if (value == values.end()) continue;
      absl::StatusOr<std::vector<float>> elements =
          InModelOrder(variable, value->second);
      if (!elements.ok()) return Annotate(elements.status(), variable.name);
      const auto found = initializers.find(variable.initializer);
      if (found != initializers.end()) {
        SetBytes(ToBytes(TypeOf(*found->second), *elements), *found->second);
        continue;
      }
      if (!variable.is_trainable && variable.is_statistic) continue;
      made.insert(variable.initializer);
      onnx::TensorProto& added = *model_.mutable_graph()->add_initializer();
      added.set_name(variable.initializer);
      added.set_data_type(onnx::TensorProto::FLOAT);
      for (const int64_t dim : variable.dims.dims()) added.add_dims(dim);
      SetBytes(ToBytes(ElementType::kFloat, *elements), added);
    }
    RemoveNodesOf(made, *model_.mutable_graph());
    return absl::OkStatus();
  }

  void ForInference() { SetInferenceMode(*model_.mutable_graph()); }

  // The data first: a model never names data that is not there.
  absl::Status Write() {
    SPILLWAY_RETURN_IF_ERROR(ReadExternal());
    if (is_external_ || BytesInside() > kMostInlineBytes) {
      SPILLWAY_RETURN_IF_ERROR(MoveOut());
    }
    std::string bytes;
    {
      google::protobuf::io::StringOutputStream stream(&bytes);
      google::protobuf::io::CodedOutputStream coded(&stream);
      coded.SetSerializationDeterministic(true);
      if (!model_.SerializePartialToCodedStream(&coded)) {
        return Internal("the model cannot be written as a protobuf");
      }
    }
    return WriteFileAtomically(path_, bytes);
  }

 private:
  // Bytes that stay, of files beside the old model.
  absl::Status ReadExternal() {
    for (onnx::TensorProto& tensor :
         *model_.mutable_graph()->mutable_initializer()) {
      if (!IsExternal(tensor)) continue;
      absl::StatusOr<std::string> bytes = BytesOf(tensor, source_);
      if (!bytes.ok()) return Annotate(bytes.status(), tensor.name());
      SetBytes(*std::move(bytes), tensor);
    }
    return absl::OkStatus();
  }

  int64_t BytesInside() const {
    int64_t bytes = 0;
    for (const onnx::TensorProto& tensor : model_.graph().initializer()) {
      bytes += static_cast<int64_t>(tensor.raw_data().size());
    }
    return bytes;
  }

  // Large tensors to `path_`.data.
  absl::Status MoveOut() {
    const std::string name =
        std::filesystem::path(path_).filename().string() + ".data";
    std::string data;
    for (onnx::TensorProto& tensor :
         *model_.mutable_graph()->mutable_initializer()) {
      const std::string& bytes = tensor.raw_data();
      if (bytes.size() < kAlignment) continue;
      data.resize((data.size() + kAlignment - 1) / kAlignment * kAlignment);
      const auto add = [&](const char* key, const std::string& value) {
        onnx::StringStringEntryProto& entry = *tensor.add_external_data();
        entry.set_key(key);
        entry.set_value(value);
      };
      add("location", name);
      add("offset", std::to_string(data.size()));
      add("length", std::to_string(bytes.size()));
      data += bytes;
      tensor.clear_raw_data();
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    }
    return WriteFileAtomically(path_ + ".data", data);
  }

  onnx::ModelProto model_;
  const std::string source_;
  const std::string path_;
  bool is_external_ = false;
};

}  // namespace

absl::StatusOr<std::vector<float>> InModelOrder(const OnnxVariable& variable,
                                                const HostTensor& tensor) {
  const TensorType expected = {.dtype = DType::kFloat32,
                               .shape = variable.shape};
  if (tensor.type != expected) {
    return InvalidArgument(fmt::format("is {}, not {}", tensor.type.ToString(),
                                       expected.ToString()));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::span<const float> values,
                            tensor.span<float>());
  return Permuted(values, variable.shape.dims(), Inverse(variable.perm));
}

std::string ToBytes(ElementType type, const std::vector<float>& values) {
  switch (type) {
    case ElementType::kFloat16:
      return Pack<Float16>(values, [](float x) { return ToFloat16(x); });
    case ElementType::kBFloat16:
      return Pack<BFloat16>(values, [](float x) { return ToBFloat16(x); });
    case ElementType::kDouble:
      return Pack<double>(values,
                          [](float x) { return static_cast<double>(x); });
    default:
      return Pack<float>(values, [](float x) { return x; });
  }
}

absl::Status WriteModel(const ModelFile& file,
                        const std::vector<OnnxVariable>& variables,
                        const TensorMap& values, const std::string& path,
                        const OnnxExportOptions& options) {
  ModelWriter writer(file, path);
  SPILLWAY_RETURN_IF_ERROR(writer.SetValues(variables, values));
  if (options.for_inference) writer.ForInference();
  return writer.Write();
}

}  // namespace spillway::onnx_model
