// An interface for the ways to compute a convolution with cuDNN, and for their
// sources: engines of its graph API (conv_engine_ways.h) and algorithms of its
// legacy API (conv_algorithm_ways.h).
#ifndef SPILLWAY_OPS_GPU_CONV_CONV_WAY_H_
#define SPILLWAY_OPS_GPU_CONV_CONV_WAY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/gpu/conv/conv_operands.h"
#include "ops/gpu/library/cudnn.h"

namespace spillway {

// The addresses of a convolution's three tensors and of cuDNN's workspace.
struct ConvData {
  void* x = nullptr;
  void* filter = nullptr;
  void* y = nullptr;
  void* workspace = nullptr;
};

class ConvWay {
 public:
  virtual ~ConvWay() = default;

  virtual const std::string& name() const = 0;
  virtual int64_t workspace_bytes() const = 0;  // of ConvData::workspace
  // Queues the convolution on the handle's stream.
  virtual absl::Status Run(const LockedCudnn& cudnn,
                           const ConvData& data) const = 0;
};

struct ConvWanted {
  size_t most = 1;
  std::string_view name = {};  // only the way of this name; empty: any
};

// The ways of one kind for one convolution.
class ConvWays {
 public:
  virtual ~ConvWays() = default;

  // The operands that the ways use.
  virtual const ConvOperands& operands() const = 0;

  // The wanted ways, the one that cuDNN considers the fastest first; without
  // duplicates. They borrow from this object.
  virtual absl::StatusOr<std::vector<std::unique_ptr<ConvWay>>> Find(
      const LockedCudnn& cudnn, const ConvWanted& wanted) = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_WAY_H_
