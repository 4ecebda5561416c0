// A Kernel from a function: most kernels are a loop over their context and a
// few numbers that are known when they are prepared.
#ifndef SPILLWAY_OPS_COMMON_FUNCTION_KERNEL_H_
#define SPILLWAY_OPS_COMMON_FUNCTION_KERNEL_H_

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/kernel.h"

namespace spillway {

template <typename Fn>
class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(Fn run, int64_t workspace_bytes)
      : run_(std::move(run)), workspace_bytes_(workspace_bytes) {}

  int64_t workspace_bytes() const override { return workspace_bytes_; }

  absl::Status Run(const KernelContext& context) override {
    if constexpr (std::is_void_v<decltype(run_(context))>) {
      run_(context);
      return absl::OkStatus();
    } else {
      return run_(context);
    }
  }

 private:
  Fn run_;
  int64_t workspace_bytes_;
};

// run(const KernelContext&) returns nothing or a Status.
template <typename Fn>
std::unique_ptr<Kernel> MakeKernel(Fn run, int64_t workspace_bytes = 0) {
  return std::make_unique<FunctionKernel<Fn>>(std::move(run), workspace_bytes);
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_FUNCTION_KERNEL_H_
