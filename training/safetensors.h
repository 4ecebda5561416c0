// Safetensors files: named tensors.
//
//   u64 little-endian size of the header | JSON header, padded with spaces to a
//   multiple of 8 | the tensors' bytes, without gaps
//
// The header maps a name to {"dtype": "F32", "shape": [2, 3],
// "data_offsets": [begin, end]} and "__metadata__" to an object of texts.
// Source: the format description of github.com/huggingface/safetensors.
#ifndef SPILLWAY_TRAINING_SAFETENSORS_H_
#define SPILLWAY_TRAINING_SAFETENSORS_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/tensor.h"

namespace spillway {

using TensorMap = std::map<std::string, HostTensor>;

// Texts that a file carries in addition to its tensors.
using Metadata = std::map<std::string, std::string>;

struct SafetensorsFile {
  TensorMap tensors = {};
  Metadata metadata = {};
};

// Reads every tensor and the metadata. `source` names the bytes in errors.
// Errors: INVALID_ARGUMENT naming source and tensor for any deviation from the
// format: header size, JSON, dtype, shape, offsets that leave the file,
// overlap, leave a gap or do not fit dtype and shape.
absl::StatusOr<SafetensorsFile> ParseSafetensorsFile(std::string_view bytes,
                                                     std::string_view source);
absl::StatusOr<SafetensorsFile> ReadSafetensorsFile(const std::string& path);

// Only the tensors.
absl::StatusOr<TensorMap> ParseSafetensors(std::string_view bytes,
                                           std::string_view source);
absl::StatusOr<TensorMap> ReadSafetensors(const std::string& path);

// Writes the file atomically (base/file.h). Deterministic: equal tensors and
// metadata give identical bytes.
absl::Status WriteSafetensors(const std::string& path, const TensorMap& tensors,
                              const Metadata& metadata = {});

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_SAFETENSORS_H_
