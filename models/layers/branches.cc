#include "models/layers/branches.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "models/layers/blocks.h"

namespace spillway {
namespace {

using Kind = BranchLayer::Kind;
using Norm = std::optional<BatchNormOptions>;

const char* Padding(const BranchLayer& layer) {
  return layer.is_padded ? "SAME" : "VALID";
}

Tensor AddConv(const NameScope& scope, Tensor x, const Norm& norm,
               const BranchLayer& layer) {
  const Conv2DOptions conv = {.filters = layer.filters,
                              .kernel = layer.window,
                              .strides = {layer.stride, layer.stride},
                              .padding = Padding(layer),
                              .activation = Activation::kRelu};
  return norm.has_value() ? ConvNorm(scope, x, conv, *norm)
                          : Conv2D(scope, x, conv);
}

Tensor AddPool(const NameScope& scope, Tensor x, const BranchLayer& layer) {
  const PoolOptions pool = {.window = layer.window,
                            .strides = {layer.stride, layer.stride},
                            .padding = Padding(layer)};
  return layer.kind == Kind::kMaxPool ? MaxPool(scope, x, pool)
                                      : AvgPool(scope, x, pool);
}

// The inputs of a branch.
struct Inputs {
  Tensor x = {};
  std::vector<Tensor> before = {};  // the layers of the previous branch

  Tensor Shared(size_t place) const {
    SPILLWAY_CHECK(place < before.size());
    return before[place];
  }
};

Tensor AddLayer(const NameScope& scope, Tensor x, const Norm& norm,
                const BranchLayer& layer) {
  return layer.kind == Kind::kConv ? AddConv(scope, x, norm, layer)
                                   : AddPool(scope, x, layer);
}

// The outputs of the layers of one branch.
std::vector<Tensor> AddBranch(const NameScope& scope, const Inputs& inputs,
                              const Norm& norm, const Branch& branch) {
  std::vector<Tensor> outputs;
  Tensor x = inputs.x;
  for (const BranchLayer& layer : branch) {
    const size_t place = outputs.size();
    if (layer.kind == Kind::kShared) {
      x = inputs.Shared(place);
    } else {
      const char* kind = layer.kind == Kind::kConv ? "conv" : "pool";
      const auto name = fmt::format("{}{}", kind, place + 1);
      x = AddLayer(scope.Scope(name), x, norm, layer);
    }
    outputs.push_back(x);
  }
  return outputs;
}

}  // namespace

namespace branch {

BranchLayer Conv(int64_t filters, int64_t height, int64_t width) {
  return {.filters = filters, .window = {height, width}};
}

BranchLayer ValidConv(int64_t filters, int64_t height, int64_t width,
                      int64_t stride) {
  return {.filters = filters,
          .window = {height, width},
          .stride = stride,
          .is_padded = false};
}

BranchLayer MaxPool() { return {.kind = Kind::kMaxPool, .window = {3, 3}}; }

BranchLayer AvgPool() { return {.kind = Kind::kAvgPool, .window = {3, 3}}; }

BranchLayer HalvingMaxPool() {
  return {.kind = Kind::kMaxPool,
          .window = {3, 3},
          .stride = 2,
          .is_padded = false};
}

BranchLayer Shared() { return {.kind = Kind::kShared}; }

}  // namespace branch

Tensor AddBranches(const NameScope& scope, Tensor x,
                   const std::optional<BatchNormOptions>& norm,
                   const std::vector<Branch>& branches) {
  Inputs inputs = {.x = x};
  std::vector<Tensor> ends;
  for (const Branch& branch : branches) {
    const auto name = fmt::format("branch{}", ends.size() + 1);
    inputs.before = AddBranch(scope.Scope(name), inputs, norm, branch);
    ends.push_back(inputs.before.back());
  }
  return ConcatChannels(scope, std::move(ends));
}

BatchNormOptions InceptionNorm(bool is_training) {
  return {.epsilon = 1e-3,
          .momentum = 0.999,
          .is_training = is_training,
          .scale = false,
          .activation = Activation::kRelu};
}

}  // namespace spillway
