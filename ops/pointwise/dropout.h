// Dropout: y[i] = kept(i) ? x[i] / (1 - rate) : 0. DropoutGrad: the same for
// dy. x, dy: any shape, floating; y, dx: as x, and may be written over it.
// Attributes: rate in [0, 1), seed (0). Layers of one network need different
// seeds, since a mask does not depend on the node's name.
//
// The mask is never stored: element i of a step is kept if and only if
// UniformFloat(word i) >= rate, where word i is Philox4x32(key, i / 4)[i % 4]
// and key = MixKeys(MixKeys(session seed, seed), step).
// Source: Srivastava et al., JMLR 15, 2014.
#ifndef SPILLWAY_OPS_POINTWISE_DROPOUT_H_
#define SPILLWAY_OPS_POINTWISE_DROPOUT_H_

#include <cstdint>

#include "graph/attributes.h"
#include "ops/op.h"

namespace spillway::ops {

Op Dropout();
Op DropoutGrad();

NewKernel DropoutCpu(const KernelRequest& node);

struct DropoutAttributes {
  double rate = 0;
  int64_t seed = 0;
};

absl::StatusOr<DropoutAttributes> ReadDropout(const Attributes& attributes);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_POINTWISE_DROPOUT_H_
