// Convolutions by the engines of cuDNN's graph API.
#ifndef SPILLWAY_OPS_GPU_CONV_CONV_ENGINE_WAYS_H_
#define SPILLWAY_OPS_GPU_CONV_CONV_ENGINE_WAYS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/gpu/conv/conv_engines.h"
#include "ops/gpu/conv/conv_graph.h"
#include "ops/gpu/conv/conv_kernel.h"
#include "ops/gpu/conv/conv_operands.h"
#include "ops/gpu/conv/conv_way.h"

namespace spillway {

// Finds at most 4 engines at once: later suggestions are only slower. Empty if
// the graph API fails, except for its only error, RESOURCE_EXHAUSTED.
class ConvEngineWays final : public ConvWays {
 public:
  // The graph's tensors have `dtypes`.
  ConvEngineWays(const GpuConvSpec& spec, ConvDirection direction,
                 const ConvDTypes& dtypes, const ConvEngineRule& rule);

  const ConvOperands& operands() const override { return operands_; }

  absl::StatusOr<std::vector<std::unique_ptr<ConvWay>>> Find(
      const LockedCudnn& cudnn, const ConvWanted& wanted) override;

 private:
  ConvOperands operands_;
  ConvProblem problem_;
  ConvEngineRule rule_;
};

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_ENGINE_WAYS_H_
