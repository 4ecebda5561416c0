// Element type and dimensions: all that is known about a value before it runs.
#ifndef SPILLWAY_GRAPH_TENSOR_TYPE_H_
#define SPILLWAY_GRAPH_TENSOR_TYPE_H_

#include <cstdint>
#include <string>

#include "graph/dtype.h"
#include "graph/shape.h"

namespace spillway {

struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;

  int64_t num_elements() const { return shape.num_elements(); }
  int64_t num_bytes() const { return num_elements() * SizeOf(dtype); }

  // "float32[64, 28, 28, 1]"
  std::string ToString() const;

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_TENSOR_TYPE_H_
