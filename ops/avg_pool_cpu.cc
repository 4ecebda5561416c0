#include "base/status_macros.h"
#include "ops/avg_pool.h"
#include "ops/common/pool.h"
#include "ops/cpu/expect_float32.h"
#include "ops/cpu/pool_kernel.h"

namespace spillway::ops {
namespace {

absl::StatusOr<PoolSpec> Spec(const KernelRequest& node, const Shape& x) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  ASSIGN_OR_RETURN(const bool counts_padding,
                   node.attributes.GetBool("count_include_pad", false));
  ASSIGN_OR_RETURN(Window window, ReadPoolWindow(node.attributes, x));
  return PoolSpec{
      .algorithm = counts_padding
                       ? dnnl::algorithm::pooling_avg_include_padding
                       : dnnl::algorithm::pooling_avg_exclude_padding,
      .batch = x.dim(0),
      .channels = x.dim(3),
      .window = std::move(window),
      .threads = node.threads};
}

}  // namespace

NewKernel AvgPoolCpu(const KernelRequest& node) {
  ASSIGN_OR_RETURN(const PoolSpec spec, Spec(node, node.inputs[0].shape));
  return MakePoolKernel(spec);
}

NewKernel AvgPoolGradCpu(const KernelRequest& node) {
  ASSIGN_OR_RETURN(const PoolSpec spec, Spec(node, node.outputs[0].shape));
  return MakePoolGradKernel(spec);
}

}  // namespace spillway::ops
