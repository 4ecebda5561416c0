// In a build without ONNX: says what is missing.
#include "base/status_macros.h"
#include "onnx_model/export.h"
#include "onnx_model/import.h"

namespace spillway {
namespace {

absl::Status IsMissing() {
  return Unimplemented(
      "this build reads no ONNX models; install libonnx-dev and "
      "libprotobuf-dev, then configure again");
}

}  // namespace

bool HasOnnx() { return false; }

class OnnxModel::Content {};

absl::StatusOr<OnnxModel> OnnxModel::Read(const std::string& /*path*/) {
  return IsMissing();
}

absl::StatusOr<OnnxModel> OnnxModel::Parse(std::string_view /*bytes*/,
                                           const std::string& /*path*/) {
  return IsMissing();
}

OnnxModel::OnnxModel(OnnxModel&&) noexcept = default;
OnnxModel& OnnxModel::operator=(OnnxModel&&) noexcept = default;
OnnxModel::~OnnxModel() = default;

std::vector<std::string> OnnxModel::input_names() const { return {}; }

std::vector<std::string> OnnxModel::initializer_names() const { return {}; }

absl::Status OnnxModel::ReplaceInitializers(const TensorMap& /*tensors*/) {
  return IsMissing();
}

absl::StatusOr<OnnxNetwork> OnnxModel::AddTo(
    GraphBuilder& /*g*/, const OnnxImportOptions& /*options*/) const {
  return IsMissing();
}

absl::StatusOr<TensorMap> OnnxModel::InitialValues(
    const std::vector<OnnxVariable>& /*variables*/) const {
  return IsMissing();
}

absl::Status ExportOnnx(const OnnxModel& /*model*/,
                        const std::vector<OnnxVariable>& /*variables*/,
                        const TensorMap& /*values*/,
                        const std::string& /*path*/,
                        const OnnxExportOptions& /*options*/) {
  return IsMissing();
}

absl::StatusOr<TensorMap> OnnxWeights(
    const std::vector<OnnxVariable>& /*variables*/,
    const TensorMap& /*values*/) {
  return IsMissing();
}

absl::Status ExportOnnxWeights(const std::vector<OnnxVariable>& /*variables*/,
                               const TensorMap& /*values*/,
                               const std::string& /*path*/) {
  return IsMissing();
}

}  // namespace spillway
