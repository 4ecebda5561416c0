// Tensors as an ONNX model has them, and as a graph has them.
#ifndef SPILLWAY_ONNX_MODEL_TENSORS_H_
#define SPILLWAY_ONNX_MODEL_TENSORS_H_

#include "absl/status/statusor.h"
#include "executor/tensor.h"
#include "onnx_model/import.h"

namespace spillway {

// `tensor`, of the model's type, for the feed of `input`: reals become float32,
// integers of less than 64 bits int32. Errors: INVALID_ARGUMENT naming the
// input for another type or shape.
absl::StatusOr<HostTensor> ToFeed(const HostTensor& tensor,
                                  const OnnxValue& input);

// The same for another shape of the feed, such as that of many samples.
absl::StatusOr<HostTensor> ToFeed(const HostTensor& tensor,
                                  const OnnxValue& input,
                                  const TensorType& feed);

// `tensor`, fetched from `output`, in the model's type: what an ArgMax counted
// is INT64 again. Types that a tensor cannot have (DOUBLE) stay as they are.
HostTensor FromFetch(HostTensor tensor, const OnnxValue& output);

}  // namespace spillway

#endif  // SPILLWAY_ONNX_MODEL_TENSORS_H_
