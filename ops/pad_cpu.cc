#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ops/cpu/elementwise.h"
#include "ops/cpu/strided_copy.h"
#include "ops/pad.h"

namespace spillway::ops {
namespace {

void FillZero(int threads, int64_t num_bytes, std::byte* y) {
  ParallelFor(threads, num_bytes, 4 * kElementwiseGrain,
              [=](int64_t begin, int64_t end) {
                std::memset(y + begin, 0, static_cast<size_t>(end - begin));
              });
}

void FillValue(int threads, int64_t n, float value, float* y) {
  ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
    std::fill(y + begin, y + end, value);
  });
}

}  // namespace

NewKernel PadCpu(const KernelRequest& node) {
  ASSIGN_OR_RETURN(const double value, node.attributes.GetReal("value", 0));
  if (value != 0) RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> paddings,
                   node.attributes.GetIntLists("paddings"));
  const TensorType& x = node.inputs[0];
  const TensorType& y = node.outputs[0];
  const StridedCopy box = {.sizes = x.shape.dims(),
                           .from_strides = RowMajorStrides(x.shape),
                           .to_strides = RowMajorStrides(y.shape),
                           .element_bytes = SizeOf(x.dtype)};
  int64_t first_byte = 0;
  for (size_t axis = 0; axis < paddings.size(); ++axis) {
    first_byte += paddings[axis][0] * box.to_strides[axis] * box.element_bytes;
  }
  return MakeKernel([=, copy = Simplify(box), num_bytes = y.num_bytes(),
                     n = y.num_elements(),
                     threads = node.threads](const KernelContext& context) {
    if (value == 0) {
      FillZero(threads, num_bytes, context.output<std::byte>(0));
    } else {
      FillValue(threads, n, static_cast<float>(value),
                context.output<float>(0));
    }
    CopyStrided(threads, copy, context.input<std::byte>(0),
                context.output<std::byte>(0) + first_byte);
  });
}

}  // namespace spillway::ops
