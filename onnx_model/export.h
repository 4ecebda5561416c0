// Trained weights back into the model that they came from.
#ifndef SPILLWAY_ONNX_MODEL_EXPORT_H_
#define SPILLWAY_ONNX_MODEL_EXPORT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onnx_model/import.h"
#include "training/safetensors.h"

namespace spillway {

struct OnnxExportOptions {
  // BatchNormalization nodes compute with moving statistics, and have no other
  // outputs.
  bool for_inference = false;
};

// Writes `path`: the imported file with other bytes in its initializers, and
// all else as it was: nodes, names, order, metadata, unknown fields.
// Initializers keep their type. What a node of constants had made and was
// trained becomes an initializer. Weights lie in `path`.data if they did so in
// the imported file, or take more than 1.5 GiB. `values`: by node name, as the
// session has them; variables that it lacks keep the file's values. Both files
// are written beside and then renamed; `path` may be the imported file.
// Errors: INVALID_ARGUMENT naming a variable of another shape; those of
// WriteFileAtomically.
absl::Status ExportOnnx(const OnnxModel& model,
                        const std::vector<OnnxVariable>& variables,
                        const TensorMap& values, const std::string& path,
                        const OnnxExportOptions& options = {});

// The same weights under the initializers' names, in the model's order and type
// (float32 for types that a tensor cannot have). Errors: as ExportOnnx.
absl::StatusOr<TensorMap> OnnxWeights(
    const std::vector<OnnxVariable>& variables, const TensorMap& values);

// The same in a safetensors file. Errors: those of WriteSafetensors too.
absl::Status ExportOnnxWeights(const std::vector<OnnxVariable>& variables,
                               const TensorMap& values,
                               const std::string& path);

}  // namespace spillway

#endif  // SPILLWAY_ONNX_MODEL_EXPORT_H_
