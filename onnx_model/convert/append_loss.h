// The loss of a training, behind an output of the model.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_APPEND_LOSS_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_APPEND_LOSS_H_

#include "absl/status/status.h"
#include "onnx_model/convert/import_state.h"

namespace spillway::onnx_model {

// Sets target, logits, loss and notes of `network`. A cross entropy behind a
// Softmax over the classes takes what that node reads. Errors: INVALID_ARGUMENT
// for an output that does not exist or whose shape has no such loss.
absl::Status AppendLoss(const OnnxTrainingOptions& options, ImportState& state,
                        OnnxNetwork& network);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_APPEND_LOSS_H_
