// AllReduce(x..., weight) -> y...: for each group, the sum over all ranks of a
// run of weight * x, with each rank's own weight and x:
//
//   rank 0   weight 0.75   x1 [4 8]   x2 [1]          y1 [4 7]
//   rank 1   weight 0.25   x1 [4 4]   x2 [5]    ->    y2 [2]    on both
//
// One call of the communicator reduces all tensors of the node (a bucket). All
// float32; weight: a scalar that all groups share. Each y may be written over
// its x. Several tensors are packed into scratch of their size, which the plan
// counts. On a GPU, it needs a communicator with streams()
// (comm/communicator.h); with another one, the node must be on the host
// (PlacePrograms).
//
// Attributes: wire, the type that is sent, float32 (default), float16 or
// bfloat16; then also a single tensor is packed, and each sum is rounded to the
// type. wire_scale, a power of two: sums are of wire_scale * weight * x, and y
// has the inverse. clip: each element of x is limited to [-clip, clip] first.
//
// AllReduceInTurn(variable..., weight, turn) -> updated...: the same for
// variables, in place, in the steps whose turn is the attribute own_turn or
// less than 0; in others, they stay as they are. turn: int32, a scalar, the
// same on all ranks. So nodes with different turns reduce a part of the
// variables in each step. As AllReduce, all float32, and without its
// attributes; only on the CPU.
#ifndef SPILLWAY_OPS_COLLECTIVE_ALL_REDUCE_H_
#define SPILLWAY_OPS_COLLECTIVE_ALL_REDUCE_H_

#include "absl/status/statusor.h"
#include "graph/attributes.h"
#include "graph/dtype.h"
#include "ops/op.h"

namespace spillway::ops {

Op AllReduce();
Op AllReduceInTurn();

struct WireAttributes {
  DType dtype = DType::kFloat32;
  float scale = 1;
  float clip = 0;  // 0: not
};
// INVALID_ARGUMENT naming the attribute.
absl::StatusOr<WireAttributes> ReadWireAttributes(const Attributes& attributes);

NewKernel AllReduceCpu(const KernelRequest& node);
NewKernel AllReduceInTurnCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_COLLECTIVE_ALL_REDUCE_H_
