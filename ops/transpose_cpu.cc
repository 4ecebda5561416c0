#include <cstdint>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/strided_copy.h"
#include "ops/transpose.h"

namespace spillway::ops {

NewKernel TransposeCpu(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  const Shape& y = node.outputs[0].shape;
  ASSIGN_OR_RETURN(const std::vector<int64_t> perm,
                   node.attributes.GetInts("perm"));
  const std::vector<int64_t> x_strides = RowMajorStrides(x.shape);
  std::vector<int64_t> from_strides;
  for (const int64_t axis : perm) {
    from_strides.push_back(x_strides[static_cast<size_t>(axis)]);
  }
  return MakeKernel([copy = Simplify({.sizes = y.dims(),
                                      .from_strides = from_strides,
                                      .to_strides = RowMajorStrides(y),
                                      .element_bytes = SizeOf(x.dtype)}),
                     threads = node.threads](const KernelContext& context) {
    CopyStrided(threads, copy, context.inputs[0], context.outputs[0]);
  });
}

}  // namespace spillway::ops
