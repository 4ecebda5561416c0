// Classes along the last axis of a tensor, of ops that we have.
#ifndef SPILLWAY_ONNX_MODEL_OP_FAMILY_CLASSES_H_
#define SPILLWAY_ONNX_MODEL_OP_FAMILY_CLASSES_H_

#include <cstdint>

#include "onnx_model/convert/node_conversion.h"

namespace spillway::onnx_model {

// x - log(sum of exp(x)) over the last axis of a valid tensor; the largest x is
// subtracted first.
Tensor LogSoftmax(NodeConversion& node, Tensor x);

// For labels [d...]: bool [d..., classes], whether the label is `first`,
// `first` + 1 and so on.
Tensor IsClass(NodeConversion& node, Tensor labels, int64_t classes,
               int64_t first = 0);

// The same of indices into n places; one below 0 counts from the end.
Tensor IsPlace(NodeConversion& node, Tensor indices, int64_t n);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_OP_FAMILY_CLASSES_H_
