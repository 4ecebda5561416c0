// A reduction over several runs of dimensions, one pass after another.
#ifndef SPILLWAY_OPS_CPU_PASSES_KERNEL_H_
#define SPILLWAY_OPS_CPU_PASSES_KERNEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"
#include "ops/common/reduction.h"
#include "ops/op.h"

namespace spillway {

// For x and y stored as T. `run(pass, is_last, x, scratch, y)` reduces an x of
// T or float to a y of T or float; the results of all passes but the last are
// float32. Workspace: `scratch_bytes`, which every pass may use, then those
// results.
template <typename T, typename RunPass>
class PassesKernel final : public Kernel {
 public:
  // `elements`: of x, which is copied if there is no pass.
  PassesKernel(std::vector<Reduction> passes, int64_t elements,
               int64_t scratch_bytes, RunPass run)
      : passes_(std::move(passes)),
        elements_(elements),
        scratch_bytes_(AlignUp(scratch_bytes, 64)),
        run_(std::move(run)) {}

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
      run_(passes_[0], /*is_last=*/true, x, context.workspace, y);
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

  void RunPasses(const KernelContext& context, const T* x, T* y) const {
    auto* free = static_cast<std::byte*>(context.workspace) + scratch_bytes_;
    auto* left = reinterpret_cast<float*>(free);
    run_(passes_[0], /*is_last=*/false, x, context.workspace, left);
    for (size_t pass = 1; pass + 1 < passes_.size(); ++pass) {
      free += LeftBytes(pass - 1);
      auto* next = reinterpret_cast<float*>(free);
      run_(passes_[pass], /*is_last=*/false, left, context.workspace, next);
      left = next;
    }
    run_(passes_.back(), /*is_last=*/true, left, context.workspace, y);
  }

  std::vector<Reduction> passes_;
  int64_t elements_;
  int64_t scratch_bytes_;
  RunPass run_;
};

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_PASSES_KERNEL_H_
