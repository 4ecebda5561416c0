#include <cstddef>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/function_kernel.h"
#include "ops/concat.h"
#include "ops/cpu/strided_copy.h"

namespace spillway::ops {

NewKernel ConcatCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<StridedCopy> copies,
                            ConcatCopies(node));
  for (StridedCopy& copy : copies) copy = Simplify(copy);
  return MakeKernel([copies = std::move(copies),
                     threads = node.threads](const KernelContext& context) {
    for (size_t i = 0; i < copies.size(); ++i) {
      CopyStrided(threads, copies[i], context.inputs[i], context.outputs[0]);
    }
  });
}

}  // namespace spillway::ops
