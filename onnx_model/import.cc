#include "onnx_model/import.h"

#include <set>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/convert/import_network.h"
#include "onnx_model/export.h"
#include "onnx_model/file/initial_values.h"
#include "onnx_model/file/inline_functions.h"
#include "onnx_model/file/model_file.h"
#include "onnx_model/file/node_order.h"
#include "onnx_model/file/write_weights.h"

namespace spillway {

bool HasOnnx() { return true; }

class OnnxModel::Content {
 public:
  onnx_model::ModelFile file;
  onnx_model::InlinedNodes inlined;
  std::vector<const onnx::NodeProto*> nodes;  // sorted

  absl::Status Prepare() {
    SPILLWAY_ASSIGN_OR_RETURN(inlined,
                              onnx_model::InlineFunctions(file.model()));
    std::set<std::string> given;
    for (const onnx::ValueInfoProto& input : file.graph().input()) {
      given.insert(input.name());
    }
    for (const onnx::TensorProto& tensor : file.graph().initializer()) {
      given.insert(tensor.name());
    }
    SPILLWAY_ASSIGN_OR_RETURN(nodes,
                              onnx_model::SortNodes(inlined.nodes, given));
    return absl::OkStatus();
  }
};

absl::StatusOr<OnnxModel> OnnxModel::Read(const std::string& path) {
  auto content = std::make_unique<Content>();
  SPILLWAY_ASSIGN_OR_RETURN(content->file, onnx_model::ModelFile::Read(path));
  SPILLWAY_RETURN_IF_ERROR(Annotate(content->Prepare(), path));
  return OnnxModel(std::move(content));
}

absl::StatusOr<OnnxModel> OnnxModel::Parse(std::string_view bytes,
                                           const std::string& path) {
  auto content = std::make_unique<Content>();
  SPILLWAY_ASSIGN_OR_RETURN(content->file,
                            onnx_model::ModelFile::Parse(bytes, path));
  SPILLWAY_RETURN_IF_ERROR(Annotate(content->Prepare(), path));
  return OnnxModel(std::move(content));
}

OnnxModel::OnnxModel(std::unique_ptr<Content> content)
    : content_(std::move(content)) {}
OnnxModel::OnnxModel(OnnxModel&&) noexcept = default;
OnnxModel& OnnxModel::operator=(OnnxModel&&) noexcept = default;
OnnxModel::~OnnxModel() = default;

std::vector<std::string> OnnxModel::input_names() const {
  const std::vector<std::string> initializers = initializer_names();
  const std::set<std::string> taken(initializers.begin(), initializers.end());
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : content_->file.graph().input()) {
    if (!taken.contains(input.name())) names.push_back(input.name());
  }
  return names;
}

std::vector<std::string> OnnxModel::initializer_names() const {
  std::vector<std::string> names;
  for (const onnx::TensorProto& tensor : content_->file.graph().initializer()) {
    names.push_back(tensor.name());
  }
  return names;
}

absl::Status OnnxModel::ReplaceInitializers(const TensorMap& tensors) {
  return onnx_model::ReplaceInitializers(tensors, content_->file);
}

absl::StatusOr<OnnxNetwork> OnnxModel::AddTo(
    GraphBuilder& g, const OnnxImportOptions& options) const {
  absl::StatusOr<OnnxNetwork> network =
      onnx_model::ImportNetwork(content_->file, content_->nodes, g, options);
  if (network.ok()) return network;
  return Annotate(network.status(), content_->file.path());
}

absl::StatusOr<TensorMap> OnnxModel::InitialValues(
    const std::vector<OnnxVariable>& variables) const {
  return onnx_model::ReadInitialValues(content_->file, variables);
}

absl::Status ExportOnnx(const OnnxModel& model,
                        const std::vector<OnnxVariable>& variables,
                        const TensorMap& values, const std::string& path,
                        const OnnxExportOptions& options) {
  return onnx_model::WriteModel(model.content().file, variables, values, path,
                                options);
}

}  // namespace spillway
