#include <fmt/format.h>

#include "base/status_macros.h"
#include "ops/gpu/cast.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"

namespace spillway::ops {
namespace {

absl::Status CheckCastType(const TensorType& type) {
  if (type.dtype != DType::kFloat16) return absl::OkStatus();
  return Unimplemented(fmt::format(
      "the GPU has no kernel that casts from or to {}", type.ToString()));
}

}  // namespace

NewKernel CastGpu(const KernelRequest& node) {
  RETURN_IF_ERROR(CheckCastType(node.inputs[0]));
  RETURN_IF_ERROR(CheckCastType(node.outputs[0]));
  const gpu::Cast cast = {.from = node.inputs[0].dtype,
                          .to = node.outputs[0].dtype,
                          .n = node.outputs[0].num_elements()};
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::RunCast(context.stream, cast, context.inputs[0],
                        context.outputs[0]);
  });
}

}  // namespace spillway::ops
