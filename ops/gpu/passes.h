// A reduction over several runs of dimensions on the GPU, pass after pass, for
// host code. The twin for the CPU is ops/cpu/passes_kernel.h.
#ifndef SPILLWAY_OPS_GPU_PASSES_H_
#define SPILLWAY_OPS_GPU_PASSES_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"
#include "ops/common/reduction.h"
#include "ops/gpu/gpu_kernel.h"

namespace spillway {

// For an x and a y of `dtype`: the passes, at least one, which only copies if
// nothing is reduced. Pass has outer, reduced, inner, x_dtype and y_dtype;
// intermediate results are float32.
template <typename Pass>
std::vector<Pass> MakePasses(const std::vector<bool>& is_reduced,
                             const Shape& x, DType dtype) {
  std::vector<Pass> passes;
  for (const Reduction& reduction : PassesOver(is_reduced, x)) {
    Pass& pass = passes.emplace_back();
    pass.outer = reduction.outer;
    pass.reduced = reduction.reduced;
    pass.inner = reduction.inner;
  }
  if (passes.empty()) passes.emplace_back().inner = x.num_elements();
  passes.front().x_dtype = dtype;
  passes.back().y_dtype = dtype;
  return passes;
}

// Runs them: run(context, pass, x, y). The workspace has `scratch_bytes`, which
// every pass may use, then the results of all passes but the last.
template <typename Pass, typename RunPass>
NewKernel GpuPassesKernel(std::vector<Pass> passes, int64_t scratch_bytes,
                          RunPass run) {
  std::vector<int64_t> places;  // of those results, in bytes
  int64_t workspace_bytes = scratch_bytes;
  for (size_t i = 0; i + 1 < passes.size(); ++i) {
    const auto bytes = static_cast<int64_t>(sizeof(float));
    places.push_back(AlignUp(workspace_bytes, 256));
    workspace_bytes = places.back() + passes[i].outer * passes[i].inner * bytes;
  }
  return MakeGpuKernel(
      [passes = std::move(passes), places = std::move(places),
       run](const KernelContext& context) -> gpu::LaunchError {
        const void* x = context.inputs[0];
        for (size_t i = 0; i < passes.size(); ++i) {
          auto* workspace = static_cast<std::byte*>(context.workspace);
          void* y =
              i < places.size() ? workspace + places[i] : context.outputs[0];
          const gpu::LaunchError error = run(context, passes[i], x, y);
          if (error != 0) return error;
          x = y;
        }
        return 0;
      },
      workspace_bytes);
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_PASSES_H_
