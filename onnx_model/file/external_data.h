// Bytes of a tensor that are in a file beside the model (onnx, docs/
// ExternalData.md). The model is untrusted: the name must be relative and
// clean, and the file it leads to, after all links, must lie in the model's
// folder, or in the folder of the file that the model's own path leads to
// (caches of model hubs link both into a folder of blobs).
#ifndef SPILLWAY_ONNX_MODEL_FILE_EXTERNAL_DATA_H_
#define SPILLWAY_ONNX_MODEL_FILE_EXTERNAL_DATA_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace spillway::onnx_model {

struct ExternalData {
  std::string location = {};  // relative to the model's folder
  int64_t offset = 0;
  std::optional<int64_t> length = {};  // nullopt: to the end of the file
};

// Reads `expected_bytes` from the place; nothing is reserved before the sizes
// agree. Errors: INVALID_ARGUMENT naming the file for a name or place that is
// refused, a file that is missing, is no regular file or is too short, and a
// length that is not `expected_bytes`.
absl::StatusOr<std::string> ReadExternalData(const ExternalData& data,
                                             const std::string& model_path,
                                             int64_t expected_bytes);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_FILE_EXTERNAL_DATA_H_
