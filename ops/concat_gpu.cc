#include <cstddef>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/concat.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/strided_box.h"

namespace spillway::ops {

NewKernel ConcatGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<StridedCopy> copies,
                            ConcatCopies(node));
  std::vector<gpu::StridedBox> parts;
  for (const StridedCopy& copy : copies) parts.push_back(MakeStridedBox(copy));
  return MakeGpuKernel(
      [parts = std::move(parts)](const KernelContext& context) {
        for (size_t i = 0; i < parts.size(); ++i) {
          const gpu::LaunchError error = gpu::CopyBox(
              context.stream, parts[i], context.inputs[i], context.outputs[0]);
          if (error != 0) return error;
        }
        return gpu::LaunchError{0};
      });
}

}  // namespace spillway::ops
