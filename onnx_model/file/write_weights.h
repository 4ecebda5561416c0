// Values of variables as initializers of a model.
#ifndef SPILLWAY_ONNX_MODEL_FILE_WRITE_WEIGHTS_H_
#define SPILLWAY_ONNX_MODEL_FILE_WRITE_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/export.h"
#include "onnx_model/file/model_file.h"

namespace spillway::onnx_model {

// The variable's elements in the model's order. Errors: INVALID_ARGUMENT if the
// tensor is not the variable's.
absl::StatusOr<std::vector<float>> InModelOrder(const OnnxVariable& variable,
                                                const HostTensor& tensor);

// Elements of `type` from float32, each rounded once; integers never occur.
std::string ToBytes(ElementType type, const std::vector<float>& values);

// OnnxModel's file with the values, written to `path`.
absl::Status WriteModel(const ModelFile& file,
                        const std::vector<OnnxVariable>& variables,
                        const TensorMap& values, const std::string& path,
                        const OnnxExportOptions& options);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_FILE_WRITE_WEIGHTS_H_
