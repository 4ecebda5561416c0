// Branches: the modules of inception networks, written as in the tables of
// their papers. Every branch is a column of layers over the same input. The
// outputs of all branches, concatenated, are the channels of the result.
//
//   x = AddBranches(g.Scope("mixed_1"), x, norm,
//                   {{Conv(64, 1, 1)},
//                    {Conv(48, 1, 1), Conv(64, 5, 5)},
//                    {AvgPool(), Conv(32, 1, 1)}});
//
// Names: the second layer of the first branch is branch1/conv2 or branch1/pool2
// in the module's scope; the result is Concat.
#ifndef SPILLWAY_MODELS_LAYERS_BRANCHES_H_
#define SPILLWAY_MODELS_LAYERS_BRANCHES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/builder/builder.h"
#include "models/layers/layers.h"

namespace spillway {

struct BranchLayer {
  enum class Kind : uint8_t { kConv, kMaxPool, kAvgPool, kShared };

  Kind kind = Kind::kConv;
  int64_t filters = 0;  // of a convolution
  std::array<int64_t, 2> window = {1, 1};
  int64_t stride = 1;
  bool is_padded = true;  // "SAME", otherwise "VALID"
};

using Branch = std::vector<BranchLayer>;

// The layers of branches, by short names for the tables.
namespace branch {

BranchLayer Conv(int64_t filters, int64_t height, int64_t width);
BranchLayer ValidConv(int64_t filters, int64_t height, int64_t width,
                      int64_t stride);

// Windows of 3 x 3. The halving one has stride 2 and no padding.
BranchLayer MaxPool();
BranchLayer AvgPool();
BranchLayer HalvingMaxPool();

// Shares the output of the layer at the same position of the previous branch;
// it is computed once.
BranchLayer Shared();

}  // namespace branch

// A convolution ends with batch norm as in `norm`; without `norm`, with bias
// and ReLU.
Tensor AddBranches(const NameScope& scope, Tensor x,
                   const std::optional<BatchNormOptions>& norm,
                   const std::vector<Branch>& branches);

// The end of every convolution of inception networks 3 and 4: batch norm
// without scale, and ReLU.
BatchNormOptions InceptionNorm(bool is_training);

}  // namespace spillway

#endif  // SPILLWAY_MODELS_LAYERS_BRANCHES_H_
