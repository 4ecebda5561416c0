#include "base/status_macros.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/strided_copy.h"
#include "ops/transpose.h"

namespace spillway::ops {

NewKernel TransposeCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const StridedCopy whole, TransposeCopy(node));
  return MakeKernel([copy = Simplify(whole),
                     threads = node.threads](const KernelContext& context) {
    CopyStrided(threads, copy, context.inputs[0], context.outputs[0]);
  });
}

}  // namespace spillway::ops
