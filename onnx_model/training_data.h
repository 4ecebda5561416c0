// The data that an ONNX model is trained on: a safetensors file with one tensor
// for each input, under its name, and the target. Their first dimension is the
// number of samples.
#ifndef SPILLWAY_ONNX_MODEL_TRAINING_DATA_H_
#define SPILLWAY_ONNX_MODEL_TRAINING_DATA_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/import.h"
#include "training/data/dataset.h"

namespace spillway {

// Fields: the first input, the target (if the network has one), the other
// inputs; each without the batch dimension, of the type of its feed. Held in
// memory.
class OnnxTrainingData : public Dataset {
 public:
  // `target`: the name of the target in the file; empty: "labels" or "targets",
  // as the loss needs them. Errors: those of ReadSafetensors; INVALID_ARGUMENT
  // naming file and tensor for one that is missing, of another type or shape,
  // or of another number of samples, and for a label that no int32 holds.
  static absl::StatusOr<std::unique_ptr<OnnxTrainingData>> Open(
      const std::string& path, const OnnxNetwork& network,
      const std::string& target = "");

  int64_t size() const override { return size_; }
  const std::vector<TensorType>& fields() const override { return fields_; }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override;

 private:
  OnnxTrainingData() = default;
  absl::Status Add(TensorMap& file, const OnnxValue& value, bool is_target);

  int64_t size_ = -1;  // -1: not known yet
  std::vector<HostTensor> tensors_;
  std::vector<TensorType> fields_;
};

}  // namespace spillway

#endif  // SPILLWAY_ONNX_MODEL_TRAINING_DATA_H_
