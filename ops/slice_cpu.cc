#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/strided_copy.h"
#include "ops/slice.h"

namespace spillway::ops {

NewKernel SliceCpu(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  const Shape& y = node.outputs[0].shape;
  ASSIGN_OR_RETURN(const std::vector<int64_t> begin,
                   node.attributes.GetInts("begin"));
  const StridedCopy box = {.sizes = y.dims(),
                           .from_strides = RowMajorStrides(x.shape),
                           .to_strides = RowMajorStrides(y),
                           .element_bytes = SizeOf(x.dtype)};
  int64_t first_byte = 0;
  for (size_t axis = 0; axis < begin.size(); ++axis) {
    first_byte += begin[axis] * box.from_strides[axis] * box.element_bytes;
  }
  return MakeKernel([=, copy = Simplify(box),
                     threads = node.threads](const KernelContext& context) {
    CopyStrided(threads, copy, context.input<std::byte>(0) + first_byte,
                context.output<std::byte>(0));
  });
}

}  // namespace spillway::ops
