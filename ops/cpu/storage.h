// The floats that CPU kernels read and write: float32, or bfloat16, which is
// widened on load and rounded once on store. All arithmetic is float32.
//
// A kernel is a template over the storage type of its tensors,
//
//   y[i] = Store<T>(2 * Load(x[i]));
//
// and ForStorage instantiates it for a dtype:
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
// bfloat16: for nodes without other tensors.
absl::Status CheckStorage(const KernelRequest& node);

// Calls make(T()), where T is float or BFloat16, depending on `type`. Errors:
// UNIMPLEMENTED for another dtype.
template <typename Make>
NewKernel ForStorage(const TensorType& type, const Make& make) {
  if (type.dtype == DType::kFloat32) return make(float());
  if (type.dtype == DType::kBFloat16) return make(BFloat16());
  return NoSuchStorage(type);
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_STORAGE_H_
