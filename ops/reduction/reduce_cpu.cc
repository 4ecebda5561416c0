#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "ops/cpu/elementwise.h"
#include "ops/cpu/reduce.h"
#include "ops/cpu/strided_copy.h"
#include "ops/reduction/reduce.h"

namespace spillway::ops {
namespace {

// Workspace: scratch of the largest pass, then the results of all passes but
// the last, in float32.
template <typename T>
class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(std::vector<Reduction> passes, float scale, int64_t elements,
               int threads)
      : passes_(std::move(passes)),
        scale_(scale),
        elements_(elements),
        threads_(threads) {
    for (const Reduction& pass : passes_) {
      scratch_bytes_ = std::max(scratch_bytes_, WorkspaceBytes(pass));
    }
    scratch_bytes_ = AlignUp(scratch_bytes_, 64);
  }

  int64_t workspace_bytes() const override {
    int64_t bytes = scratch_bytes_;
    for (size_t i = 0; i + 1 < passes_.size(); ++i) bytes += LeftBytes(i);
    return bytes;
  }

  absl::Status Run(const KernelContext& context) override {
    const T* x = context.input<T>(0);
    T* y = context.output<T>(0);
    if (passes_.empty()) {
      std::copy_n(x, elements_, y);
    } else if (passes_.size() == 1) {
      RunPass(context, 0, x, y);
    } else {
      RunPasses(context, x, y);
    }
    return absl::OkStatus();
  }

 private:
  int64_t LeftBytes(size_t pass) const {
    const auto bytes = static_cast<int64_t>(sizeof(float));
    return AlignUp(passes_[pass].outer * passes_[pass].inner * bytes, 64);
  }

  template <typename X, typename Y>
  void RunPass(const KernelContext& context, size_t pass, const X* x,
               Y* y) const {
    Reduce<X, Y>(passes_[pass],
                 {.threads = threads_,
                  .x = x,
                  .scale = pass + 1 == passes_.size() ? scale_ : 1,
                  .workspace = static_cast<float*>(context.workspace),
                  .y = y});
  }

  void RunPasses(const KernelContext& context, const T* x, T* y) const {
    auto* free = static_cast<std::byte*>(context.workspace) + scratch_bytes_;
    auto* left = reinterpret_cast<float*>(free);
    RunPass(context, 0, x, left);
    for (size_t pass = 1; pass + 1 < passes_.size(); ++pass) {
      free += LeftBytes(pass - 1);
      auto* next = reinterpret_cast<float*>(free);
      RunPass(context, pass, left, next);
      left = next;
    }
    RunPass(context, passes_.size() - 1, left, y);
  }

  std::vector<Reduction> passes_;
  float scale_;
  int64_t elements_;
  int threads_;
  int64_t scratch_bytes_ = 0;
};

enum class Kind : uint8_t { kSum, kMean };

float ScaleOf(Kind kind, int64_t reduced_elements) {
  return kind == Kind::kMean ? 1 / static_cast<float>(reduced_elements) : 1;
}

NewKernel NewReduce(const KernelRequest& node, Kind kind) {
  const Shape& x = node.inputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced,
                            ReducedAxes(node.attributes, x));
  const float scale = ScaleOf(kind, ReducedElements(is_reduced, x));
  return ForStorage(node.inputs[0], [&]<typename T>(T) -> NewKernel {
    return std::make_unique<ReduceKernel<T>>(PassesOver(is_reduced, x), scale,
                                             x.num_elements(), node.threads);
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
