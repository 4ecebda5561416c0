// Convolutions by the algorithms of cuDNN's legacy API.
#ifndef SPILLWAY_OPS_GPU_CONV_CONV_ALGORITHM_WAYS_H_
#define SPILLWAY_OPS_GPU_CONV_CONV_ALGORITHM_WAYS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "ops/gpu/conv/conv_algorithms.h"
#include "ops/gpu/conv/conv_descriptors.h"
#include "ops/gpu/conv/conv_kernel.h"
#include "ops/gpu/conv/conv_operands.h"
#include "ops/gpu/conv/conv_way.h"

namespace spillway {

template <typename Direction>
class ConvAlgorithmWay final : public ConvWay {
 public:
  // `descriptors` is borrowed for the lifetime of the way; Run changes its
  // math.
  ConvAlgorithmWay(const ConvAlgorithm<Direction>& algorithm,
                   const ConvDescriptors& descriptors)
      : algorithm_(algorithm),
        name_(algorithm.name()),
        descriptors_(descriptors) {}

  const std::string& name() const override { return name_; }
  int64_t workspace_bytes() const override {
    return static_cast<int64_t>(algorithm_.workspace_bytes);
  }

  absl::Status Run(const LockedCudnn& cudnn,
                   const ConvData& data) const override {
    SPILLWAY_RETURN_IF_ERROR(SetMath(cudnn, descriptors_, algorithm_.math));
    return CudnnStatus(cudnn.api,
                       Direction::Run(cudnn, descriptors_, algorithm_.algorithm,
                                      data, algorithm_.workspace_bytes),
                       Direction::kRunName);
  }

 private:
  ConvAlgorithm<Direction> algorithm_;
  std::string name_;
  const ConvDescriptors& descriptors_;
};

// Errors: as MakeConvDescriptors, and INTERNAL.
template <typename Direction>
class ConvAlgorithmWays final : public ConvWays {
 public:
  // cuDNN computes in `dtype`.
  ConvAlgorithmWays(const GpuConvSpec& spec, DType dtype,
                    const ConvRule<Direction>& rule)
      : operands_(
            MakeConvOperands(spec, {.activations = dtype, .filter = dtype})),
        geometry_(PadIntoInput(spec.geometry)),
        dtype_(dtype),
        rule_(rule) {}

  const ConvOperands& operands() const override { return operands_; }

  absl::StatusOr<std::vector<std::unique_ptr<ConvWay>>> Find(
      const LockedCudnn& cudnn, const ConvWanted& wanted) override {
    if (!descriptors_) {
      SPILLWAY_ASSIGN_OR_RETURN(
          descriptors_,
          MakeConvDescriptors(cudnn.api, geometry_, dtype_, rule_.math));
    }
    SPILLWAY_ASSIGN_OR_RETURN(
        const std::vector<ConvAlgorithm<Direction>> found,
        FindConvAlgorithms(cudnn, *descriptors_, rule_, wanted));
    std::vector<std::unique_ptr<ConvWay>> ways;
    for (const ConvAlgorithm<Direction>& algorithm : found) {
      ways.push_back(std::make_unique<ConvAlgorithmWay<Direction>>(
          algorithm, *descriptors_));
    }
    return ways;
  }

 private:
  ConvOperands operands_;
  ConvGeometry geometry_;
  DType dtype_;
  ConvRule<Direction> rule_;
  std::optional<ConvDescriptors> descriptors_;  // none: not needed yet
};

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_ALGORITHM_WAYS_H_
