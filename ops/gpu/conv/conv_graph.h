// A convolution as an operation graph of cuDNN's graph API.
#ifndef SPILLWAY_OPS_GPU_CONV_CONV_GRAPH_H_
#define SPILLWAY_OPS_GPU_CONV_CONV_GRAPH_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/dtype.h"
#include "ops/common/conv.h"
#include "ops/gpu/library/cudnn.h"
#include "ops/gpu/library/cudnn_graph.h"

namespace spillway {

// Which of y, x and the filter is computed.
enum class ConvDirection : uint8_t {
  kForward,
  kInputGradient,
  kFilterGradient
};

// Each dimension must come from PadIntoInput (conv_descriptors.h). Dtypes are
// float32, bfloat16 or float16; products are added in float32.
struct ConvProblem {
  ConvGeometry geometry = {};
  ConvDirection direction = ConvDirection::kForward;
  DType dtype = DType::kFloat32;  // of x and y
  DType filter_dtype = DType::kFloat32;
};

// Ids of a graph's tensors, for the variant pack of a run.
inline constexpr int64_t kConvX = 1;
inline constexpr int64_t kConvFilter = 2;
inline constexpr int64_t kConvY = 3;

struct ConvTensors {
  GraphDescriptor x;
  GraphDescriptor filter;
  GraphDescriptor y;
};

struct ConvGraph {
  ConvTensors tensors;
  GraphDescriptor convolution;  // the window: no tensor has it
  GraphDescriptor operation;
  GraphDescriptor graph;
};

// A graph for the handle's device.
absl::StatusOr<ConvGraph> MakeConvGraph(const LockedCudnn& cudnn,
                                        const ConvProblem& problem);

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_GRAPH_H_
