#include <utility>

#include "base/status_macros.h"
#include "ops/common/pool.h"
#include "ops/cpu/pool_kernel.h"
#include "ops/cpu/storage.h"
#include "ops/reduction/pool.h"

namespace spillway::ops {

NewKernel AvgPoolCpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckStorage(node));
  const Shape& x = node.inputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(
      const bool counts_padding,
      node.attributes.GetBool("count_include_pad", false));
  SPILLWAY_ASSIGN_OR_RETURN(Window window, ReadPoolWindow(node.attributes, x));
  return MakePoolKernel(
      {.algorithm = counts_padding
                        ? dnnl::algorithm::pooling_avg_include_padding
                        : dnnl::algorithm::pooling_avg_exclude_padding,
       .dtype = node.inputs[0].dtype,
       .batch = x.dim(0),
       .channels = x.dim(-1),
       .window = std::move(window),
       .threads = node.threads});
}

}  // namespace spillway::ops
