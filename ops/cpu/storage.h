// The floats that CPU kernels read and write: float32, or bfloat16, which is
// widened on load and rounded once on store. All arithmetic is float32.
//
// A kernel is a template over how its tensors are stored,
//
//   y[i] = Store<T>(2 * Load(x[i]));
//
// and ForStorage makes the one that a dtype asks for:
//
//   return ForStorage(node.inputs[0],
//                     [&]<typename T>(T) { return Doubling<T>(node); });
#ifndef SPILLWAY_OPS_CPU_STORAGE_H_
#define SPILLWAY_OPS_CPU_STORAGE_H_

#include "absl/status/status.h"
#include "graph/tensor_type.h"
#include "ops/common/storage.h"
#include "ops/op.h"

namespace spillway {

// "the CPU has no kernel for this node with a tensor of float16[4]; it computes
// in float32 and bfloat16"
absl::Status NoSuchStorage(const TensorType& type);

// NoSuchStorage for the first input or output that is neither float32 nor
// bfloat16: for nodes that have no other tensors.
absl::Status CheckStorage(const KernelRequest& node);

// make(T()), where T is float or BFloat16, whichever holds `type`. Errors:
// UNIMPLEMENTED for another dtype.
template <typename Make>
NewKernel ForStorage(const TensorType& type, const Make& make) {
  if (type.dtype == DType::kFloat32) return make(float());
  if (type.dtype == DType::kBFloat16) return make(BFloat16());
  return NoSuchStorage(type);
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_STORAGE_H_
