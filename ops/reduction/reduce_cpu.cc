#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/cpu/elementwise.h"
#include "ops/cpu/passes_kernel.h"
#include "ops/cpu/reduce.h"
#include "ops/cpu/strided_copy.h"
#include "ops/reduction/reduce.h"

namespace spillway::ops {
namespace {

enum class Kind : uint8_t { kSum, kMean };

float ScaleOf(Kind kind, int64_t reduced_elements) {
  return kind == Kind::kMean ? 1 / static_cast<float>(reduced_elements) : 1;
}

NewKernel NewReduce(const KernelRequest& node, Kind kind) {
  const Shape& x = node.inputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced,
                            ReducedAxes(node.attributes, x));
  const float scale = ScaleOf(kind, ReducedElements(is_reduced, x));
  std::vector<Reduction> passes = PassesOver(is_reduced, x);
  int64_t scratch_bytes = 0;
  for (const Reduction& pass : passes) {
    scratch_bytes = std::max(scratch_bytes, WorkspaceBytes(pass));
  }
  const auto run = [scale, threads = node.threads]<typename X, typename Y>(
                       const Reduction& pass, bool is_last, const X* from,
                       void* scratch, Y* to) {
    Reduce<X, Y>(pass, {.threads = threads,
                        .x = from,
                        .scale = is_last ? scale : 1,
                        .workspace = static_cast<float*>(scratch),
                        .y = to});
  };
  return ForStorage(node.inputs[0], [&]<typename T>(T) -> NewKernel {
    return std::make_unique<PassesKernel<T, decltype(run)>>(
        std::move(passes), x.num_elements(), scratch_bytes, run);
  });
}

// Scales dy, the smaller side, into the workspace and repeats it from there.
NewKernel NewReduceGrad(const KernelRequest& node, Kind kind) {
  const Shape& x = node.outputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced,
                            ReducedAxes(node.attributes, x));
  const StridedCopy repeat =
      RepeatOver(x, is_reduced, SizeOf(node.inputs[0].dtype));
  const float scale = ScaleOf(kind, ReducedElements(is_reduced, x));
  const int64_t n = node.inputs[0].num_elements();
  return ForStorage(node.inputs[0], [&]<typename T>(T) -> NewKernel {
    return MakeKernel(
        [=, copy = Simplify(repeat),
         threads = node.threads](const KernelContext& context) {
          auto* scaled = static_cast<T*>(context.workspace);
          const T* dy = context.input<T>(0);
#pragma omp simd
          for (int64_t i = 0; i < n; ++i) {
            scaled[i] = Store<T>(scale * Load(dy[i]));
          }
          CopyStrided(threads, copy, scaled, context.outputs[0]);
        },
        node.inputs[0].num_bytes());
  });
}

}  // namespace

NewKernel MeanCpu(const KernelRequest& node) {
  return NewReduce(node, Kind::kMean);
}

NewKernel MeanGradCpu(const KernelRequest& node) {
  return NewReduceGrad(node, Kind::kMean);
}

NewKernel SumCpu(const KernelRequest& node) {
  return NewReduce(node, Kind::kSum);
}

NewKernel SumGradCpu(const KernelRequest& node) {
  return NewReduceGrad(node, Kind::kSum);
}

}  // namespace spillway::ops
