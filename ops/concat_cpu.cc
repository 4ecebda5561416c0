#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/expect.h"
#include "ops/common/function_kernel.h"
#include "ops/concat.h"
#include "ops/cpu/strided_copy.h"

namespace spillway::ops {
namespace {

struct Part {
  StridedCopy copy;
  int64_t first_byte = 0;  // of y
};

}  // namespace

NewKernel ConcatCpu(const KernelRequest& node) {
  const TensorType& y = node.outputs[0];
  ASSIGN_OR_RETURN(const int64_t axis, node.attributes.GetInt("axis"));
  ASSIGN_OR_RETURN(const int resolved, ResolveAxis(axis, y.shape.rank()));
  const std::vector<int64_t> strides = RowMajorStrides(y.shape);
  const int64_t bytes_along =
      strides[static_cast<size_t>(resolved)] * SizeOf(y.dtype);
  std::vector<Part> parts;
  int64_t first_byte = 0;
  for (const TensorType& x : node.inputs) {
    parts.push_back({.copy = Simplify({.sizes = x.shape.dims(),
                                       .from_strides = RowMajorStrides(x.shape),
                                       .to_strides = strides,
                                       .element_bytes = SizeOf(y.dtype)}),
                     .first_byte = first_byte});
    first_byte += x.shape.dim(resolved) * bytes_along;
  }
  return MakeKernel([parts = std::move(parts),
                     threads = node.threads](const KernelContext& context) {
    for (size_t i = 0; i < parts.size(); ++i) {
      CopyStrided(threads, parts[i].copy, context.inputs[i],
                  context.output<std::byte>(0) + parts[i].first_byte);
    }
  });
}

}  // namespace spillway::ops
