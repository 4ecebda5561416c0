// TensorView: a type and a pointer; owns nothing.
#ifndef SPILLWAY_EXECUTOR_TENSOR_H_
#define SPILLWAY_EXECUTOR_TENSOR_H_

#include "graph/tensor_type.h"

namespace spillway {

struct TensorView {
  TensorType type = {};
  const void* data = nullptr;  // borrowed; contiguous, row-major
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_TENSOR_H_
