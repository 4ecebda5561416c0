#include "tests/onnx_model/make_model.h"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "graph/builder/builder.h"
#include "tests/support/host_tensor.h"
#include "tests/support/new_session.h"

namespace spillway::testing {

std::string MakeWholeModel(std::string_view text) {
  onnx::ModelProto model;
  SPILLWAY_CHECK(
      google::protobuf::TextFormat::ParseFromString(std::string(text), &model));
  return model.SerializeAsString();
}

std::string MakeModel(std::string_view graph, int64_t opset) {
  return MakeWholeModel(
      fmt::format("ir_version: 8 opset_import {{ version: {} }} graph {{ {} }}",
                  opset, graph));
}

std::string InputText(std::string_view name, std::string_view dims, int type) {
  std::string text = fmt::format(
      "input {{ name: \"{}\" type {{ tensor_type {{ elem_type: {} shape {{",
      name, type);
  const std::string inside(dims.substr(1, dims.size() - 2));
  if (!inside.empty()) {
    const std::vector<std::string> items = absl::StrSplit(inside, ", ");
    for (const std::string& item : items) {
      const bool is_number = item[0] >= '0' && item[0] <= '9';
      text += is_number ? fmt::format(" dim {{ dim_value: {} }}", item)
                        : fmt::format(" dim {{ dim_param: \"{}\" }}", item);
    }
  }
  return text + " } } } }\n";
}

std::string OutputText(std::string_view name) {
  return fmt::format("output {{ name: \"{}\" }}\n", name);
}

std::string WeightText(std::string_view name,
                       const std::vector<int64_t>& dims) {
  std::string text =
      fmt::format("initializer {{ name: \"{}\" data_type: 1", name);
  for (const int64_t dim : dims) text += fmt::format(" dims: {}", dim);
  for (int64_t i = 0; i < Shape(dims).num_elements(); ++i) {
    text += fmt::format(" float_data: {}", static_cast<double>(i) / 8);
  }
  return text + " }\n";
}

std::string IntegersText(std::string_view name,
                         const std::vector<int64_t>& values) {
  std::string text = fmt::format(
      "initializer {{ name: \"{}\" data_type: 7 dims: {}", name, values.size());
  for (const int64_t value : values)
    text += fmt::format(" int64_data: {}", value);
  return text + " }\n";
}

int64_t Imported::Count(std::string_view op) const {
  return std::ranges::count_if(graph.nodes(),
                               [&](const Node& node) { return node.op == op; });
}

absl::StatusOr<Imported> Import(std::string_view bytes,
                                const OnnxImportOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(const OnnxModel model,
                            OnnxModel::Parse(bytes, "model.onnx"));
  GraphBuilder g;
  Imported imported;
  SPILLWAY_ASSIGN_OR_RETURN(imported.network, model.AddTo(g, options));
  SPILLWAY_ASSIGN_OR_RETURN(imported.graph, std::move(g).Build());
  SPILLWAY_ASSIGN_OR_RETURN(imported.initial,
                            model.InitialValues(imported.network.variables));
  return imported;
}

absl::StatusOr<std::vector<float>> RunFirstOutput(const Imported& model) {
  const Tensor output = model.network.outputs.at(0).tensor;
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      NewSession(Program{.graph = model.graph, .fetches = {output}}));
  SPILLWAY_RETURN_IF_ERROR(session->WriteVariables(model.initial));
  std::map<ValueId, HostTensor> feeds;
  for (const OnnxValue& input : model.network.inputs) {
    const TensorType type = input.tensor.type();
    std::vector<float> data(static_cast<size_t>(type.num_elements()));
    for (size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<float>(i % 16) / 16;
    }
    feeds[input.tensor] = MakeHostTensor(type, data);
  }
  SPILLWAY_ASSIGN_OR_RETURN(StepResult result, session->Step(FeedsOf(feeds)));
  const HostTensor& tensor = result.fetched[output.id()];
  const float* data = tensor.data<float>();
  return std::vector<float>(data, data + tensor.type.num_elements());
}

}  // namespace spillway::testing
