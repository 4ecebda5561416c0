// The first values of variables, from the model's initializers.
#ifndef SPILLWAY_ONNX_MODEL_FILE_INITIAL_VALUES_H_
#define SPILLWAY_ONNX_MODEL_FILE_INITIAL_VALUES_H_

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/file/model_file.h"
#include "onnx_model/import.h"

namespace spillway::onnx_model {

// The elements of a row-major tensor of `dims` in the order of one whose
// dimension i is dimension perm[i] of it.
std::vector<float> Permuted(std::span<const float> x,
                            const std::vector<int64_t>& dims,
                            const std::vector<int>& perm);

// Errors: INVALID_ARGUMENT naming the initializer.
absl::StatusOr<TensorMap> ReadInitialValues(
    const ModelFile& file, const std::vector<OnnxVariable>& variables);

// The other direction: OnnxModel::ReplaceInitializers.
absl::Status ReplaceInitializers(const TensorMap& tensors, ModelFile& file);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_FILE_INITIAL_VALUES_H_
